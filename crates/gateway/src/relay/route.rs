//! Whose a request is. A key must never reach a provider that it was not meant for, so what is not certain goes nowhere.
//!
//! In this order: a first segment of the path that names a provider; a path that only one provider has; a header that
//! only one provider asks for; the port, where it is one agent's own. Signs that contradict each other are as good as
//! none. Facts about paths and headers: the providers' API references, read on 2026-11-28.

use super::credentials::keys;
use crate::provider::Provider;
use crate::provider::Provider::{Anthropic, Bedrock, Gemini, OpenAi, Vertex};
use http::{HeaderMap, Uri};

/// What is to be done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// It is one of our own.
    Own,
    /// It goes to this provider; so many bytes of the path are taken off.
    To { provider: Provider, taken: usize },
    /// It goes nowhere.
    Refuse(Unclear),
}

/// Why it is not clear whose a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unclear {
    /// Nothing says whose it is.
    NoSign,
    /// Two signs say different things: the one, and the provider that it contradicts.
    Contradiction { sign: &'static str, of: Provider, path: Provider },
}

/// Paths that only one provider has: each stands for itself and for what lies below it.
const PATHS: &[(&str, Provider)] = &[
    ("/v1/messages", Anthropic),
    ("/v1/complete", Anthropic),
    ("/v1/organizations", Anthropic),
    ("/api/claude_cli", Anthropic),
    ("/api/claude_code", Anthropic),
    ("/api/event_logging", Anthropic),
    ("/v1/chat/completions", OpenAi),
    ("/v1/completions", OpenAi),
    ("/v1/responses", OpenAi),
    ("/v1/conversations", OpenAi),
    ("/v1/embeddings", OpenAi),
    ("/v1/images", OpenAi),
    ("/v1/audio", OpenAi),
    ("/v1/videos", OpenAi),
    ("/v1/moderations", OpenAi),
    ("/v1/assistants", OpenAi),
    ("/v1/threads", OpenAi),
    ("/v1/vector_stores", OpenAi),
    ("/v1/fine_tuning", OpenAi),
    ("/v1/realtime", OpenAi),
    ("/v1/uploads", OpenAi),
    ("/v1/batches", OpenAi),
    ("/v1/evals", OpenAi),
    ("/v1/containers", OpenAi),
    ("/v1/organization", OpenAi),
    ("/chat/completions", OpenAi),
    ("/responses", OpenAi),
    ("/v1beta", Gemini),
    ("/v1alpha", Gemini),
    ("/upload/v1beta", Gemini),
    ("/download/v1beta", Gemini),
    ("/v1/projects", Vertex),
    ("/v1beta1/projects", Vertex),
    ("/model", Bedrock),
];

/// Headers that tell whose a request is, and who else takes them.
const SIGNS: &[(&str, Provider, &[Provider])] =
    &[("anthropic-version", Anthropic, &[Bedrock, Vertex]), ("x-goog-api-key", Gemini, &[Vertex])];

/// How keys begin whose provider can be told from that. Other keys of OpenAI's form (`sk-…`) are many providers' own, and
/// tell nothing.
const KEYS: &[(&str, Provider)] =
    &[("sk-ant-", Anthropic), ("AIza", Gemini), ("sk-proj-", OpenAi), ("sk-svcacct-", OpenAi)];

/// Whose a request is. `port` is whose the port is.
pub(crate) fn route(uri: &Uri, headers: &HeaderMap, port: Option<Provider>) -> Route {
    let path = uri.path();
    if is_own(path) {
        return Route::Own;
    }
    if let Some(provider) = prefixed(path) {
        return Route::To { provider, taken: provider.name().len() + 1 };
    }
    let of_path = only_one_has(path);
    let mut found = of_path;
    for (name, provider, also) in SIGNS {
        if !headers.contains_key(*name) {
            continue;
        }
        match found {
            None => found = Some(*provider),
            Some(own) if own == *provider || also.contains(&own) => {}
            Some(own) => {
                return Route::Refuse(Unclear::Contradiction { sign: name, of: *provider, path: own });
            }
        }
    }
    if let Some(own) = found.or(port)
        && let Some(of) = key_of_another(own, uri, headers)
    {
        return Route::Refuse(Unclear::Contradiction { sign: "a key", of, path: own });
    }
    match (found, port) {
        (Some(own), Some(port)) if own != port => {
            Route::Refuse(Unclear::Contradiction { sign: "this port", of: port, path: own })
        }
        (Some(provider), _) | (None, Some(provider)) => Route::To { provider, taken: 0 },
        // A look whether somebody is there: it carries nothing for anybody.
        (None, None) if path == "/" => Route::Own,
        (None, None) => Route::Refuse(Unclear::NoSign),
    }
}

/// Whether `path` is `place` or lies below it.
fn below(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_own(path: &str) -> bool {
    below(path, "/deadweight") || matches!(path, "/metrics" | "/healthz" | "/readyz")
}

fn prefixed(path: &str) -> Option<Provider> {
    let first = path.strip_prefix('/')?.split('/').next()?;
    Provider::of_name(first)
}

fn only_one_has(path: &str) -> Option<Provider> {
    // The model's name stands between, and what is done with it behind a colon.
    if let Some(model) = path.strip_prefix("/v1/models/")
        && ["generateContent", "streamGenerateContent", "countTokens", "embedContent", "batchEmbedContents"]
            .iter()
            .any(|action| model.strip_suffix(action).is_some_and(|model| model.ends_with([':', 'A', 'a'])))
    {
        return Some(Gemini);
    }
    PATHS.iter().find(|(place, _)| below(path, place)).map(|(_, provider)| *provider)
}

/// Another provider than `own` whose key is anywhere among those that are sent.
fn key_of_another(own: Provider, uri: &Uri, headers: &HeaderMap) -> Option<Provider> {
    keys(uri, headers).find_map(|key| {
        let (_, of) = KEYS.iter().find(|(start, _)| key.starts_with(start.as_bytes()))?;
        let takes = *of == own || (own == Vertex && *of == Gemini);
        (!takes).then_some(*of)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn routed(path: &str, headers: &[(&str, &str)], port: Option<Provider>) -> Route {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        // As hyper reads it: a path that is none is asked as it came.
        let uri = if path.is_empty() { Uri::default() } else { path.parse().unwrap() };
        route(&uri, &map, port)
    }

    fn to(provider: Provider) -> Route {
        Route::To { provider, taken: 0 }
    }

    #[test]
    fn a_prefix_says_whose_it_is_whatever_else_does() {
        for provider in Provider::ALL {
            let taken = provider.name().len() + 1;
            for rest in ["", "/", "/v1/models", "/v1/messages", "/v1/chat/completions"] {
                let path = format!("/{provider}{rest}");
                assert_eq!(routed(&path, &[("anthropic-version", "x")], None), Route::To { provider, taken });
            }
        }
        assert_eq!(routed("/anthropics/v1/models", &[], None), Route::Refuse(Unclear::NoSign));
        assert_eq!(routed("/Anthropic/v1/models", &[], None), Route::Refuse(Unclear::NoSign));
    }

    #[test]
    fn a_path_that_only_one_has_says_whose_it_is() {
        for (path, provider) in [
            ("/v1/messages", Anthropic),
            ("/v1/messages/count_tokens", Anthropic),
            ("/v1/messages/batches/1/results", Anthropic),
            ("/v1/chat/completions", OpenAi),
            ("/v1/responses", OpenAi),
            ("/v1/responses/resp_1/cancel", OpenAi),
            ("/v1beta/models/gemini-2.5-pro:generateContent", Gemini),
            ("/v1beta/models", Gemini),
            ("/v1beta/openai/chat/completions", Gemini),
            ("/v1/models/gemini-2.5-pro:streamGenerateContent", Gemini),
            ("/v1/models/gemini-2.5-pro%3AgenerateContent", Gemini),
            ("/v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict", Vertex),
            ("/model/us.anthropic.claude-x/invoke", Bedrock),
        ] {
            assert_eq!(routed(path, &[], None), to(provider), "{path}");
        }
    }

    #[test]
    fn what_is_not_certain_goes_nowhere() {
        for path in [
            "/v1/models",
            "/v1/files",
            "/v1/models/gpt",
            "/v1/messagesx",
            "/v1",
            "/x",
            "*",
            "/v1/models/x:go",
        ] {
            assert_eq!(
                routed(path, &[("authorization", "Bearer k")], None),
                Route::Refuse(Unclear::NoSign),
                "{path}"
            );
        }
        for (path, header, value) in [
            ("/v1/messages", "x-goog-api-key", "k"),
            ("/v1/chat/completions", "anthropic-version", "2023-06-01"),
            ("/v1/chat/completions", "authorization", "Bearer sk-ant-api03-x"),
            ("/v1/chat/completions", "authorization", "bearer sk-ant-api03-x"),
            ("/v1beta/models/x:generateContent", "x-api-key", "sk-ant-api03-x"),
            ("/v1/responses", "authorization", "Bearer AIzaSy"),
            ("/v1/messages", "x-api-key", "AIzaSy"),
            ("/v1/messages", "authorization", "Bearer sk-proj-1"),
        ] {
            let route = routed(path, &[(header, value)], None);
            assert!(
                matches!(route, Route::Refuse(Unclear::Contradiction { .. })),
                "{path} {header}: {route:?}"
            );
        }
        for (path, headers) in [
            (
                "/v1/chat/completions",
                &[("authorization", "Bearer x"), ("authorization", "Bearer sk-ant-secret")][..],
            ),
            ("/v1/responses", &[("x-api-key", "a"), ("x-api-key", "sk-ant-secret")]),
            ("/v1/messages", &[("authorization", "Bearer sk-ant-1"), ("x-api-key", "AIzaGOOGLE")]),
            ("/v1/messages", &[("x-api-key", "sk-ant-1"), ("api-key", "AIzaGOOGLE")]),
            ("/v1/chat/completions", &[("authorization", "Bearer  sk-ant-secret")]),
            ("/v1/chat/completions?key=AIzaGOOGLE", &[]),
            ("/v1/messages?key=AIzaGOOGLE", &[]),
            ("/v1beta/models/x:generateContent?key=sk-ant-secret", &[]),
            ("/v1/responses", &[("authorization", "bearer\tsk-ant-secret")]),
            ("/v1/responses", &[("authorization", "sk-ant-secret")]),
            ("/v1/responses", &[("x-api-key", "Bearer sk-ant-secret")]),
            ("/v1/responses", &[("authorization", "Basic x, Bearer sk-ant-secret")]),
            ("/v1/messages?beta=true&api_key=AIzaGOOGLE", &[]),
            ("/v1/messages?access_token=sk-proj-1", &[]),
            ("/v1/messages?KEY=%41IzaGOOGLE", &[]),
            ("/v1/messages?%6bey=AIzaGOOGLE", &[]),
        ] {
            let route = routed(path, headers, None);
            let nowhere = matches!(route, Route::Refuse(Unclear::Contradiction { .. }));
            assert!(nowhere, "{path} {headers:?}: {route:?}");
        }
        for (path, headers, own) in [
            (
                "/v1/messages?beta=true",
                &[("authorization", "Bearer sk-ant-1"), ("x-api-key", "sk-ant-2")][..],
                Anthropic,
            ),
            ("/v1/chat/completions", &[("authorization", "Bearer sk-proj-1")], OpenAi),
            ("/v1/chat/completions?x=AIza", &[("authorization", "Bearer sk-1")], OpenAi),
            ("/v1/projects/p?key=AIza", &[], Vertex),
        ] {
            assert_eq!(routed(path, headers, None), to(own), "{path}");
        }
        let both = [("anthropic-version", "x"), ("x-goog-api-key", "k")];
        assert!(matches!(routed("/v1/models", &both, None), Route::Refuse(Unclear::Contradiction { .. })));
    }

    #[test]
    fn headers_and_the_port_tell_where_the_path_does_not() {
        assert_eq!(routed("/v1/models", &[("anthropic-version", "x")], None), to(Anthropic));
        assert_eq!(routed("/v1/models", &[("x-goog-api-key", "k")], None), to(Gemini));
        assert_eq!(routed("/v1/models", &[], Some(OpenAi)), to(OpenAi));
        assert_eq!(routed("/v1/messages", &[], Some(Anthropic)), to(Anthropic));
        assert_eq!(routed("/", &[], Some(Anthropic)), to(Anthropic));
        assert_eq!(routed("/", &[("anthropic-version", "x")], None), to(Anthropic));
        for (path, headers) in [
            ("/v1/messages", &[][..]),
            ("/x", &[("authorization", "Bearer sk-ant-1")]),
            ("/v1beta/models", &[]),
        ] {
            let route = routed(path, headers, Some(OpenAi));
            assert!(matches!(route, Route::Refuse(Unclear::Contradiction { .. })), "{path}: {route:?}");
        }
        let goog = [("x-goog-api-key", "AIza")];
        assert_eq!(routed("/v1/projects/p", &goog, None), to(Vertex));
        assert_eq!(routed("/model/x/invoke", &[("anthropic-version", "x")], None), to(Bedrock));
    }

    #[test]
    fn our_own_paths_are_ours() {
        for path in
            ["/deadweight", "/deadweight/", "/deadweight/v1/context", "/metrics", "/healthz", "/readyz", "/"]
        {
            assert_eq!(routed(path, &[], None), Route::Own, "{path}");
        }
        assert_eq!(routed("/deadweights", &[], None), Route::Refuse(Unclear::NoSign));
        assert_eq!(routed("/metrics/x", &[], None), Route::Refuse(Unclear::NoSign));
    }
}
