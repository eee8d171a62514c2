//! Which session a request belongs to, and which agent sent it, by its headers.

use crate::exchange::Noted;
use deadweight_footprint::origin::Origins;
use deadweight_profiles::{ALL, Profile, SESSION_HEADERS, by_id};
use deadweight_wire::anatomy::Anatomy;

/// The longest session id that is taken over, in bytes.
const LONGEST: usize = 128;

/// What the client calls its session: the first known header that holds a plausible id.
pub(crate) fn named(headers: &Noted) -> Option<String> {
    let value = SESSION_HEADERS.iter().find_map(|fact| {
        let value = headers.get(fact.value)?.trim();
        (!value.is_empty() && value.len() <= LONGEST && value.bytes().all(|byte| byte.is_ascii_graphic()))
            .then_some(value)
    })?;
    Some(value.to_owned())
}

/// Who sent a request: the port's label, or a header, gives it away, or the words that it begins with.
pub(crate) fn whose(label: Option<&str>, headers: &Noted, anatomy: &Anatomy<'_, '_>) -> Option<String> {
    let named = label.and_then(by_id).or_else(|| agent(headers));
    let profile = named.or_else(|| Origins::new().profile_of(anatomy));
    profile.map(|profile| profile.id).or(label).map(str::to_owned)
}

/// The agent whose header this is.
pub(super) fn agent(headers: &Noted) -> Option<&'static Profile> {
    ALL.iter().copied().find(|profile| {
        profile.headers.iter().any(|fact| {
            let header = fact.value;
            headers.get(header.name).is_some_and(|value| value.starts_with(header.starts_with))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_own_word_for_its_session_is_taken() {
        let of = |pairs: &[(&'static str, &str)]| {
            named(&Noted(pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()))
        };
        assert_eq!(of(&[("x-claude-code-session-id", "3f2a")]).as_deref(), Some("3f2a"));
        assert_eq!(of(&[("thread-id", "t"), ("session-id", "s")]).as_deref(), Some("s"));
        assert_eq!(of(&[("x-session-id", " ")]), None);
        assert_eq!(of(&[("x-session-id", "a\u{7f}b")]), None);
        assert_eq!(of(&[("x-session-id", &"a".repeat(200))]), None);
        assert_eq!(of(&[("user-agent", "curl")]), None);
    }

    #[test]
    fn agents_are_known_by_their_headers() {
        let of = |name, value: &str| agent(&Noted(vec![(name, value.to_owned())])).map(|profile| profile.id);
        assert_eq!(of("x-claude-code-session-id", "3f2a"), Some("claude-code"));
        assert_eq!(of("accept", "*/*"), None);
    }
}
