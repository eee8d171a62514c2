//! The words that the ledger has for what went wrong. A provider, or a proxy before it, may put any text where its error's
//! type belongs, the prompt among it: a word that is not known is `other`. Sources: the providers' API references, read on
//! 2026-11-28; the status names of Google's APIs are those of `google.rpc.Code`.

/// Types and codes of errors that are written down as they came.
const KNOWN: [&str; 51] = [
    // Anthropic, and those of OpenAI that are called the same.
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "timeout_error",
    "api_error",
    "overloaded_error",
    // OpenAI: types, then codes.
    "insufficient_quota",
    "server_error",
    "requests",
    "tokens",
    "image_generation_user_error",
    "bio_policy",
    "cancelled",
    "content_filter",
    "content_policy_violation",
    "context_length_exceeded",
    "internal_error",
    "invalid_api_key",
    "invalid_image",
    "invalid_prompt",
    "model_not_found",
    "previous_response_not_found",
    "rate_limit_exceeded",
    "service_unavailable",
    "service_unavailable_error",
    "string_above_max_length",
    "unsupported_parameter",
    "unsupported_value",
    "vector_store_timeout",
    "websocket_connection_limit_reached",
    "websocket_request_timeout",
    // Gemini and Vertex.
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "UNAUTHENTICATED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
];

/// What a provider called its error, as far as it is a word of the list.
pub(super) fn of_provider(kind: &str) -> &'static str {
    KNOWN.into_iter().find(|known| *known == kind).unwrap_or("other")
}

/// What happened to a connection, in a word.
pub(super) fn of_connection(detail: &str) -> &'static str {
    let detail = detail.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| detail.contains(word));
    match () {
        () if has(&["proxy"]) => "proxy",
        () if has(&["tls", "certificate"]) => "tls",
        () if has(&["dns", "lookup", "resolve"]) => "name",
        () if has(&["refused"]) => "connection_refused",
        () if has(&["timed out", "no connection within"]) => "timeout",
        () if has(&["reset", "broken pipe", "aborted"]) => "connection_reset",
        () if has(&["closed", "eof", "incomplete", "end of file"]) => "connection_closed",
        () if has(&["invalid", "parse", "header"]) => "not_http",
        () => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_words_are_written_down() {
        for known in ["overloaded_error", "context_length_exceeded", "RESOURCE_EXHAUSTED"] {
            assert_eq!(of_provider(known), known);
        }
        for text in ["", "my prompt was: hello", "overloaded_error ", "<script>", "Overloaded_Error", "429"] {
            assert_eq!(of_provider(text), "other");
        }
    }

    #[test]
    fn our_own_reasons_are_words() {
        for (detail, word) in [
            (
                "error trying to connect: tcp connect error: Connection refused (os error 111)",
                "connection_refused",
            ),
            ("no connection within 10 s", "timeout"),
            ("TLS failed: invalid peer certificate", "tls"),
            ("connection closed before message completed", "connection_closed"),
            ("through the proxy http://127.0.0.1:9: Connection refused", "proxy"),
            ("something that nobody foresaw", "other"),
        ] {
            assert_eq!(of_connection(detail), word);
        }
    }
}
