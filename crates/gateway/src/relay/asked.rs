//! What an editor is told of a request before its body is read. Facts about keys, paths and headers: seen in
//! November 2026.

use super::editor::Asked;
use crate::exchange::Noted;
use crate::provider::Provider;
use deadweight_wire::Dialect;
use http::HeaderMap;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Headers that hold a key, in the order in which they are asked.
const KEYS: [&str; 4] = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// Headers that are a signature or a checksum over the body: another body would be refused.
const SIGNATURES: [&str; 8] = [
    "signature",
    "content-md5",
    "digest",
    "content-digest",
    "repr-digest",
    "x-amz-content-sha256",
    "signature-input",
    "x-goog-content-sha256",
];

/// How further ones begin.
const CHECKSUMS: [&str; 2] = ["x-amz-checksum-", "x-goog-hash"];

/// Names in a query by which an address was signed beforehand.
const SIGNED_QUERY: [&str; 3] = ["x-amz-signature=", "x-goog-signature=", "x-ms-signature="];

/// What is known of a request that is a model's to answer. `held`: the gateway puts its own key in the place of the
/// client's.
pub(super) fn asked(
    provider: Provider,
    dialect: Dialect,
    (path, query): (&str, Option<&str>),
    headers: &HeaderMap,
    noted: Noted,
    held: bool,
) -> Asked {
    let text = |name: &str| headers.get(name).map(http::HeaderValue::as_bytes).unwrap_or_default();
    let key = KEYS.iter().map(|name| text(name)).find(|value| !value.is_empty());
    let signed = SIGNATURES.iter().any(|name| headers.contains_key(*name))
        || headers.keys().any(|name| CHECKSUMS.iter().any(|start| name.as_str().starts_with(start)))
        || query.is_some_and(is_signed)
        || text("authorization").starts_with(b"AWS4-");
    let subscription = !held && is_subscription(path, headers);
    Asked {
        provider,
        dialect,
        path: path.to_owned(),
        headers: noted,
        agent: None::<Arc<str>>,
        account: match (held, key) {
            (true, _) => Some([0; 32]),
            (false, key) => key.map(|key| Sha256::digest(key).into()),
        },
        holder: holder(held, key.unwrap_or_default(), subscription),
        subscription,
        signed,
        at_ms: 0,
    }
}

/// Whether the query of an address says that it was signed.
fn is_signed(query: &str) -> bool {
    query.split('&').any(|pair| {
        let pair = pair.to_ascii_lowercase();
        SIGNED_QUERY.iter().any(|start| pair.starts_with(start))
    })
}

/// Whose conversations a request may belong to: the key's, if it is one that stays. Tokens of a login are renewed within an
/// hour or a day, and their conversations go on: they are one holder's, and subscriptions are another's.
fn holder(held: bool, key: &[u8], subscription: bool) -> [u8; 32] {
    let key = without_scheme(key);
    let stays =
        !key.starts_with(OAUTH) && (["sk-", "AIza"].iter().any(|start| key.starts_with(start.as_bytes())));
    let mut hasher = Sha256::new();
    hasher.update([u8::from(held), u8::from(subscription), u8::from(stays)]);
    if stays && !held {
        hasher.update(key);
    }
    hasher.finalize().into()
}

/// How the token of a subscription of Claude begins.
const OAUTH: &[u8] = b"sk-ant-oat";

/// A key without the word before it.
fn without_scheme(value: &[u8]) -> &[u8] {
    let value = value.trim_ascii();
    match value.split_at_checked(7) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token.trim_ascii_start(),
        _ => value,
    }
}

/// Whether a subscription pays: an OAuth token of Claude Code, Codex signed in with ChatGPT, Gemini Code Assist.
fn is_subscription(path: &str, headers: &HeaderMap) -> bool {
    // Wherever it stands; and the beta that such a token needs says so too.
    let keys = KEYS.iter().flat_map(|name| headers.get_all(*name));
    let mut betas = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    let oauth = keys.map(|value| without_scheme(value.as_bytes())).any(|key| key.starts_with(OAUTH))
        || betas.any(|value| value.split(',').any(|beta| beta.trim().starts_with("oauth-")));
    oauth
        || headers.contains_key("chatgpt-account-id")
        || path.contains("/backend-api/")
        || path.contains("/v1internal:")
        || path.contains("/v1internal%3A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn of(path: &str, headers: &[(&str, &str)], held: bool) -> Asked {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let place = (path, query);
        asked(Provider::Anthropic, Dialect::AnthropicMessages, place, &map, Noted::default(), held)
    }

    #[test]
    fn a_subscription_is_seen() {
        for (path, headers, is) in [
            ("/v1/messages", &[("authorization", "Bearer sk-ant-oat01-x")][..], true),
            ("/v1/messages", &[("authorization", "bearer  sk-ant-oat01-x")], true),
            ("/v1/messages", &[("authorization", "Bearer sk-ant-api03-x")], false),
            ("/v1/messages", &[("x-api-key", "sk-ant-api03-x")], false),
            ("/backend-api/codex/responses", &[("authorization", "Bearer eyJ")], true),
            ("/v1/responses", &[("authorization", "Bearer eyJ"), ("chatgpt-account-id", "a")], true),
            ("/v1internal:streamGenerateContent", &[("authorization", "Bearer ya29.x")], true),
            ("/v1/messages", &[("x-api-key", "sk-ant-oat01-x")], true),
            (
                "/v1/messages",
                &[("authorization", "Bearer x"), ("anthropic-beta", "a, oauth-2025-04-20")],
                true,
            ),
            ("/v1/messages", &[("authorization", "Bearer x"), ("anthropic-beta", "a,b")], false),
            ("/v1/messages", &[], false),
        ] {
            assert_eq!(of(path, headers, false).subscription, is, "{path} {headers:?}");
        }
        assert!(!of("/v1/messages", &[("authorization", "Bearer sk-ant-oat01-x")], true).subscription);
    }

    #[test]
    fn tokens_that_are_renewed_are_one_holders() {
        let holder = |headers: &[(&str, &str)]| of("/v1/messages", headers, false).holder;
        let bearer = |token: &str| holder(&[("authorization", &format!("Bearer {token}"))]);
        assert_eq!(bearer("ya29.one"), bearer("ya29.two"));
        assert_eq!(bearer("sk-ant-oat01-one"), bearer("sk-ant-oat01-two"));
        assert_ne!(bearer("sk-ant-oat01-one"), bearer("ya29.one"));
        let (one, two) =
            (holder(&[("x-api-key", "sk-ant-api03-1")]), holder(&[("x-api-key", "sk-ant-api03-2")]));
        assert_ne!(one, two);
        assert_eq!(one, bearer("sk-ant-api03-1"));
        assert_ne!(one, bearer("sk-ant-oat01-one"));
    }

    #[test]
    fn a_signature_and_an_account_are_seen_and_no_key_is_kept() {
        assert!(of("/", &[("authorization", "AWS4-HMAC-SHA256 Credential=x")], false).signed);
        assert!(of("/", &[("content-digest", "sha-256=:x:")], false).signed);
        assert!(of("/", &[("x-amz-checksum-crc32", "x")], false).signed);
        assert!(of("/", &[("authorization", "Signature x"), ("signature", "x")], false).signed);
        assert!(of("/a?X-Amz-Algorithm=x&X-Amz-Signature=y", &[], false).signed);
        assert!(!of("/a?beta=true", &[], false).signed);
        let one = of("/", &[("x-api-key", "sk-ant-api03-secret")], false);
        assert!(!one.signed && one.account.is_some());
        assert_ne!(one.account, of("/", &[("x-api-key", "sk-ant-api03-other")], false).account);
        assert!(!format!("{one:?}").contains("secret"));
        assert_eq!(of("/", &[], false).account, None);
    }
}
