//! What decisions about a conversation are kept under.
//!
//! The chain hash of the client's messages says which words a decision is about. To whom they were sent belongs to it: what
//! one account's provider has cached is nothing to another's, and a subscription is left alone whatever was decided where
//! an account pays.
//!
//! What stands before the model's first words says nothing yet: any number of conversations begin with the same ones. So
//! until the model has spoken its key is the session's, and from then on the model's first words are a part of it. A
//! conversation that is forked into another session still has the keys that it had.

use deadweight_cache::Digest;
use deadweight_cache::prefix::Prefix;
use deadweight_levers::record::{Record, Sent};
use deadweight_wire::anatomy::Role;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;

/// The keys of one request.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    /// The request, with these keys in the place of the chain hashes of its messages.
    pub(super) prefix: Prefix,
    /// Where the model has spoken: the keys that the messages before its first words had until then, and have now.
    renamed: HashMap<Digest, Digest>,
}

impl Keys {
    /// The keys of a request whose messages are said by `roles`, sent by `holder` in `session`.
    pub(super) fn of(prefix: &Prefix, roles: &[Role], holder: &[u8; 32], session: &str) -> Self {
        let first = roles.iter().position(|role| *role == Role::Assistant);
        let answer = first.and_then(|first| prefix.messages.get(first)).map(|link| link.own);
        let mut keyed = prefix.clone();
        let mut renamed = HashMap::new();
        for (at, link) in keyed.messages.iter_mut().enumerate() {
            let chain = link.chain;
            let opens = first.is_none_or(|first| at < first);
            let in_session = || key(&[b"session", holder, session.as_bytes(), chain.as_bytes()]);
            link.chain = match answer {
                _ if !opens => key(&[b"said", holder, chain.as_bytes()]),
                Some(answer) => {
                    let own = key(&[b"answered", holder, answer.as_bytes(), chain.as_bytes()]);
                    renamed.insert(in_session(), own);
                    own
                }
                None => in_session(),
            };
        }
        Self { prefix: keyed, renamed }
    }

    /// All keys under which there may be something about the request.
    pub(super) fn all(&self) -> impl Iterator<Item = Digest> {
        self.prefix.messages.iter().map(|link| link.chain).chain(self.renamed.keys().copied())
    }

    /// The keys that messages had before the model spoke, and have now.
    pub(super) fn renamed(&self) -> impl Iterator<Item = (&Digest, &Digest)> {
        self.renamed.iter()
    }

    /// A record under the key that its message has now.
    pub(super) fn rename(&self, record: Record) -> Record {
        let now = |own: Digest| self.renamed.get(&own).copied().unwrap_or(own);
        let put = |mut put: deadweight_levers::record::Put| {
            if let Some(place) = &mut put.refers {
                place.message = now(place.message);
            }
            put
        };
        match record {
            Record::Sent(own) => Record::Sent(Sent {
                chain: now(own.chain),
                puts: own.puts.into_iter().map(put).collect(),
                ..own
            }),
            Record::Turned(mut own) => {
                own.chain = now(own.chain);
                own.puts = own.puts.into_iter().map(|(at, own)| (now(at), put(own))).collect();
                own.gone = own.gone.map(|gone| gone.into_iter().map(now).collect());
                Record::Turned(own)
            }
            Record::Bound(own) => Record::Bound(now(own)),
            Record::Unbound(own) => Record::Unbound(now(own)),
            Record::Head(own) => Record::Head(own),
        }
    }
}

/// Parts as one key, each told from the next by its length.
fn key(parts: &[&[u8]]) -> Digest {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Digest::from_bytes(hasher.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_wire::Dialect;
    use deadweight_wire::anatomy::Anatomy;
    use deadweight_wire::json::Parser;

    fn keys(messages: &str, holder: u8, session: &str) -> Keys {
        let body = format!(r#"{{"model":"m","messages":[{messages}]}}"#);
        Parser::new().scope(body.as_bytes(), |document| {
            let anatomy = Anatomy::read(document.unwrap(), Dialect::AnthropicMessages);
            let roles: Vec<_> = anatomy.messages.iter().map(|message| message.role).collect();
            Keys::of(&Prefix::read(&anatomy), &roles, &[holder; 32], session)
        })
    }

    fn chains(keys: &Keys) -> Vec<Digest> {
        keys.prefix.messages.iter().map(|link| link.chain).collect()
    }

    const GO: &str = r#"{"role":"user","content":"go"}"#;
    const DONE: &str = r#"{"role":"assistant","content":"done"}"#;

    #[test]
    fn a_beginning_is_its_sessions_own() {
        let one = keys(GO, 1, "a");
        assert_eq!(chains(&one), chains(&keys(GO, 1, "a")));
        assert_ne!(chains(&one), chains(&keys(GO, 1, "b")));
        assert_ne!(chains(&one), chains(&keys(GO, 2, "a")));
    }

    #[test]
    fn a_conversation_keeps_its_keys_in_another_session_and_not_in_another_account() {
        let said = format!("{GO},{DONE},{GO}");
        let one = keys(&said, 1, "a");
        assert_eq!(chains(&one), chains(&keys(&said, 1, "b")));
        assert_ne!(chains(&one), chains(&keys(&said, 2, "a")));
        let longer = keys(&format!("{said},{DONE},{GO}"), 1, "c");
        assert_eq!(chains(&one), chains(&longer)[..3]);
        let other = keys(&said.replace("done", "not done"), 1, "a");
        assert_ne!(chains(&one)[0], chains(&other)[0]);
    }

    #[test]
    fn what_was_kept_before_the_model_spoke_is_found_when_it_has() {
        let (before, after) = (keys(GO, 1, "a"), keys(&format!("{GO},{DONE},{GO}"), 1, "a"));
        let key = chains(&before)[0];
        assert!(after.all().any(|own| own == key));
        let record = Record::Bound(key);
        assert_eq!(after.rename(record), Record::Bound(chains(&after)[0]));
        assert!(keys(&format!("{GO},{DONE},{GO}"), 1, "b").all().all(|own| own != key));
    }
}
