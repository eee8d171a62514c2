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
const SIGNATURES: [&str; 7] = [
    "content-md5",
    "digest",
    "content-digest",
    "repr-digest",
    "x-amz-content-sha256",
    "signature-input",
    "x-goog-content-sha256",
];

/// What is known of a request that is a model's to answer. `held`: the gateway puts its own key in the place of the
/// client's.
pub(super) fn asked(
    provider: Provider,
    dialect: Dialect,
    path: &str,
    headers: &HeaderMap,
    noted: Noted,
    held: bool,
) -> Asked {
    let text = |name: &str| headers.get(name).map(http::HeaderValue::as_bytes).unwrap_or_default();
    let key = KEYS.iter().map(|name| text(name)).find(|value| !value.is_empty());
    let signed = SIGNATURES.iter().any(|name| headers.contains_key(*name))
        || text("authorization").starts_with(b"AWS4-");
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
        subscription: !held && is_subscription(path, headers),
        signed,
        at_ms: 0,
    }
}

/// Whether a subscription pays: an OAuth token of Claude Code, Codex signed in with ChatGPT, Gemini Code Assist.
fn is_subscription(path: &str, headers: &HeaderMap) -> bool {
    let oauth = headers.get_all("authorization").iter().any(|value| {
        let value = value.as_bytes();
        let token = match value.split_at_checked(7) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token,
            _ => value,
        };
        token.trim_ascii_start().starts_with(b"sk-ant-oat")
    });
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
        asked(Provider::Anthropic, Dialect::AnthropicMessages, path, &map, Noted::default(), held)
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
            ("/v1/messages", &[], false),
        ] {
            assert_eq!(of(path, headers, false).subscription, is, "{path} {headers:?}");
        }
        assert!(!of("/v1/messages", &[("authorization", "Bearer sk-ant-oat01-x")], true).subscription);
    }

    #[test]
    fn a_signature_and_an_account_are_seen_and_no_key_is_kept() {
        assert!(of("/", &[("authorization", "AWS4-HMAC-SHA256 Credential=x")], false).signed);
        assert!(of("/", &[("content-digest", "sha-256=:x:")], false).signed);
        let one = of("/", &[("x-api-key", "sk-ant-api03-secret")], false);
        assert!(!one.signed && one.account.is_some());
        assert_ne!(one.account, of("/", &[("x-api-key", "sk-ant-api03-other")], false).account);
        assert!(!format!("{one:?}").contains("secret"));
        assert_eq!(of("/", &[], false).account, None);
    }
}
