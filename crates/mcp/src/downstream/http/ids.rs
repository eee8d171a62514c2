//! Clients that share a session use the same ids for different requests: here each gets one that is unique, and its own
//! back. By splices, so that everything else stays byte for byte.

use crate::relay::frame::Key;
use bytes::Bytes;
use deadweight_wire::json::{Parser, Value};
use deadweight_wire::splice::Edits;

/// Where a notification and the result of `subscriptions/listen` name the request that they belong to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// One request's ids: those of the client, and the one that stands for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ids {
    /// The unique one, as JSON.
    pub(super) ours: Bytes,
    /// The client's id, as JSON.
    pub(super) id: Bytes,
    /// The client's progress token, as JSON.
    pub(super) token: Option<Bytes>,
}

impl Ids {
    /// The request as it goes on: under the unique id, which is its progress token too.
    pub(super) fn outward(&self, request: &Bytes) -> Bytes {
        edited(request, |root| {
            let token = root.get("params").and_then(|params| params.get("_meta"));
            let token = token.and_then(|meta| meta.get("progressToken"));
            [root.get("id"), token].into_iter().flatten().map(|place| (place, self.ours.clone())).collect()
        })
    }

    /// What comes for the request as the client knows it.
    pub(super) fn homeward(&self, message: &Bytes) -> Bytes {
        let ours = Key::of(&self.ours);
        let is_ours = |value: &Value<'_, '_>| Key::of(value.raw().as_bytes()) == ours;
        edited(message, |root| {
            let params = root.get("params");
            let id = root.get("id").filter(|_| root.get("method").is_none()).filter(is_ours);
            let token = params.and_then(|params| params.get("progressToken")).filter(is_ours);
            let cancelled = params.and_then(|params| params.get("requestId")).filter(is_ours);
            let subscription = [params, root.get("result")].into_iter().flatten().filter_map(|place| {
                place.get("_meta").and_then(|meta| meta.get(SUBSCRIPTION)).filter(is_ours)
            });
            let ids = [id, cancelled].into_iter().flatten().chain(subscription);
            let mut places: Vec<_> = ids.map(|place| (place, self.id.clone())).collect();
            if let (Some(place), Some(token)) = (token, &self.token) {
                places.push((place, token.clone()));
            }
            places
        })
    }
}

/// The text with other values at some places; the same text where that cannot be done.
fn edited(
    text: &Bytes,
    places: impl for<'id, 'd> FnOnce(Value<'id, 'd>) -> Vec<(Value<'id, 'd>, Bytes)>,
) -> Bytes {
    let spliced = Parser::new().scope(text, |document| {
        let document = document.ok()?;
        let mut edits = Edits::new(document);
        for (place, value) in places(document.root()) {
            edits.replace(place, value.to_vec());
        }
        if edits.is_empty() {
            return None;
        }
        Some(edits.apply(&mut Parser::new()).ok()?.into_bytes())
    });
    spliced.map_or_else(|| text.clone(), Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(ours: u64, id: &str, token: Option<&str>) -> Ids {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        Ids { ours: ours.to_string().into(), id: bytes(id), token: token.map(bytes) }
    }

    fn home(ids: &Ids, text: &str) -> String {
        String::from_utf8(ids.homeward(&Bytes::copy_from_slice(text.as_bytes())).to_vec()).unwrap()
    }

    #[test]
    fn every_place_that_names_the_request_is_mapped() {
        let ids = ids(70, r#""a""#, Some("5"));
        let request =
            r#"{"method":"tools/call", "id" : "a","params":{"_meta":{"progressToken":5,"k":1.0},"id":5}}"#;
        assert_eq!(
            ids.outward(&Bytes::from_static(request.as_bytes())),
            r#"{"method":"tools/call", "id" : 70,"params":{"_meta":{"progressToken":70,"k":1.0},"id":5}}"#
        );
        assert_eq!(home(&ids, r#"{"id":70,"result":{"n":70}}"#), r#"{"id":"a","result":{"n":70}}"#);
        assert_eq!(
            home(&ids, r#"{"method":"notifications/progress","params":{"progressToken":70,"progress":70}}"#),
            r#"{"method":"notifications/progress","params":{"progressToken":5,"progress":70}}"#
        );
        let listened = |id: &str| {
            format!(
                r#"{{"method":"n","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
            )
        };
        assert_eq!(home(&ids, &listened("70")), listened(r#""a""#));
        assert_eq!(home(&ids, &listened("71")), listened("71"));
        let ended = |id: &str, subscription: &str| {
            format!(
                r#"{{"id":{id},"result":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{subscription}}}}}}}"#
            )
        };
        assert_eq!(home(&ids, &ended("70", "70")), ended(r#""a""#, r#""a""#));
        // A request of the server has an id of its own.
        assert_eq!(home(&ids, r#"{"id":70,"method":"ping"}"#), r#"{"id":70,"method":"ping"}"#);
        assert_eq!(home(&ids, "no json"), "no json");
    }

    proptest! {
        /// Out and home again changes nothing, whatever the ids look like and whatever else is in the message.
        #[test]
        fn a_request_comes_home_as_it_left(
            ours in 0u64..1_000_000_000,
            id in "-?[1-9][0-9]{0,6}|\"[a-z0-9 é]{0,8}\"",
            token in proptest::option::of("[1-9][0-9]{0,6}|\"[a-z]{0,8}\""),
            extra in "[ ]{0,2}|\"[a-z]{0,9}\"|[0-9]\\.[0-9]{1,9}",
        ) {
            let ids = ids(ours, &id, token.as_deref());
            let extra = if extra.trim().is_empty() { format!("{extra}null") } else { extra };
            let meta = token.map_or_else(String::new, |token| format!(r#""progressToken":{token},"#));
            let request = format!(r#"{{"x":{extra},"id":{id},"method":"m","params":{{"_meta":{{{meta}"y":{extra}}}}}}}"#);
            let out = ids.outward(&Bytes::from(request.clone()));
            let expected = request
                .replacen(&format!(r#""id":{id}"#), &format!(r#""id":{ours}"#), 1);
            let expected = match &ids.token {
                Some(token) => expected.replacen(
                    &format!(r#""progressToken":{}"#, String::from_utf8_lossy(token)),
                    &format!(r#""progressToken":{ours}"#), 1),
                None => expected,
            };
            prop_assert_eq!(&out, expected.as_bytes());
            let answer = format!(r#"{{"id":{ours},"result":{{"x":{extra},"id":{ours}}}}}"#);
            let back = format!(r#"{{"id":{id},"result":{{"x":{extra},"id":{ours}}}}}"#);
            prop_assert_eq!(home(&ids, &answer), back);
        }

        #[test]
        fn nothing_breaks_it(text in "[\\[\\]{}\":,a-z0-9 ]{0,60}") {
            let ids = ids(7, "1", None);
            let bytes = Bytes::from(text);
            ids.homeward(&bytes);
            ids.outward(&bytes);
        }
    }
}
