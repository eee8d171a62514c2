//! A request that an editor has looked at: what is sent in its place, and what becomes of the answer.

use super::editor::{self, Answered, Asked, Editor, Next, Trail, is_refusal};
use super::gather::{self, Read, Source};
use super::headers;
use super::passage::Passage;
use super::tee::RequestBody;
use super::upstream::Lease;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HeaderMap};
use http::response::Parts;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use std::sync::Arc;

/// Where Anthropic's betas are named.
const BETA: &str = "anthropic-beta";

/// What becomes of an answer.
pub(super) enum After {
    /// It passes.
    Pass(Parts, Source, Option<Lease>),
    /// The provider did not take what was edited, and the request as it came is to be sent in its place.
    Again(Request<RequestBody>),
}

/// What there is to be done when the answer comes.
#[derive(Default)]
pub(super) struct Edited {
    trail: Option<Box<dyn Trail>>,
    /// The request as it came, where another one is sent.
    original: Option<(HeaderMap, Read)>,
}

/// Reads a request to its end and lets the editor make of it what it will. The headers become those of what is sent.
///
/// # Errors
///
/// The client broke off.
pub(super) async fn edited(
    editor: &dyn Editor,
    asked: Asked,
    body: Incoming,
    headers: &mut HeaderMap,
    passage: &Passage,
    bound: u64,
) -> Result<(Source, Edited), hyper::Error> {
    let read = gather::request(body, passage, bound).await?;
    let Some(whole) = read.whole() else { return Ok((Source::Read(read), Edited::default())) };
    let edit = editor::ask(editor, asked, whole).await;
    passage.edits(edit.body.as_ref(), edit.edited, edit.body.is_some());
    let Some(body) = edit.body else {
        return Ok((Source::Read(read), Edited { trail: edit.trail, original: None }));
    };
    let other = read.with_body(body.clone());
    let before = headers.clone();
    if headers.contains_key(CONTENT_LENGTH) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    add_betas(headers, &edit.betas);
    // What is sent is not compressed, whatever came was.
    headers::without(headers, &[CONTENT_ENCODING]);
    Ok((Source::Read(other), Edited { trail: edit.trail, original: Some((before, read)) }))
}

/// Names what the body needs and the header does not name yet, behind what it names.
fn add_betas(headers: &mut HeaderMap, betas: &[&'static str]) {
    let named = |beta: &str| {
        let all = headers.get_all(BETA).into_iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|value| value.split(',')).any(|own| own.trim() == beta)
    };
    let new: Vec<&str> = betas.iter().copied().filter(|beta| !named(beta)).collect();
    if new.is_empty() {
        return;
    }
    let mut values = headers.get_all(BETA).into_iter();
    let only = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
    let joined = match only.filter(|value| !value.trim().is_empty()) {
        Some(value) => format!("{value},{}", new.join(",")),
        None => new.join(","),
    };
    let Ok(value) = HeaderValue::from_str(&joined) else { return };
    if only.is_some() {
        // In its place.
        headers.insert(BETA, value);
    } else {
        headers.append(BETA, value);
    }
}

impl Edited {
    /// The provider has begun to answer.
    pub(super) async fn answered(
        &mut self,
        response: Response<Incoming>,
        lease: Option<Lease>,
        passage: &Arc<Passage>,
    ) -> After {
        let (parts, body) = response.into_parts();
        let Some(trail) = &mut self.trail else { return After::Pass(parts, Source::Passing(body), lease) };
        let status = parts.status.as_u16();
        if !is_refusal(status) || (self.original.is_none() && !trail.listens()) {
            editor::tell(&mut **trail, Answered { status, refusal: None, encoding: None }).await;
            return After::Pass(parts, Source::Passing(body), lease);
        }
        let read = gather::refusal(body).await;
        let text = read.whole();
        let encoding = parts.headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
        let answer = Answered { status, refusal: text.as_deref(), encoding };
        let next = editor::tell(&mut **trail, answer).await;
        let (Next::SendOriginal(edited), Some((headers, original))) = (next, self.original.take()) else {
            return After::Pass(parts, Source::Read(read), lease);
        };
        if let (Some(_), Some(lease)) = (text, lease) {
            lease.give_back();
        }
        passage.edits(None, Some(edited), false);
        let body = RequestBody::new(Source::Read(original), Arc::clone(passage), None);
        let mut request = Request::new(body);
        *request.method_mut() = http::Method::POST;
        *request.headers_mut() = headers;
        // The client has sent its body long ago.
        headers::without(request.headers_mut(), &[EXPECT]);
        After::Again(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn betas_are_named_behind_those_that_are() {
        let of = |values: &[&'static str], betas: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(BETA, HeaderValue::from_static(value));
            }
            add_betas(&mut headers, betas);
            let all = headers.get_all(BETA).into_iter().map(|value| value.to_str().unwrap().to_owned());
            all.collect::<Vec<_>>()
        };
        assert_eq!(of(&[], &["x"]), ["x"]);
        assert_eq!(of(&["a, b"], &["b", "x", "y"]), ["a, b,x,y"]);
        assert_eq!(of(&["a", "x"], &["x"]), ["a", "x"]);
        assert_eq!(of(&["a", "b"], &["x"]), ["a", "b", "x"]);
        assert_eq!(of(&["a"], &[]), ["a"]);
    }
}
