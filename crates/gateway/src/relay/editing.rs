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
    // What is sent is not compressed, whatever came was.
    headers::without(headers, &[CONTENT_ENCODING]);
    Ok((Source::Read(other), Edited { trail: edit.trail, original: Some((before, read)) }))
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
        if !is_refusal(status) || self.original.is_none() {
            editor::tell(&mut **trail, Answered { status, refusal: None }).await;
            return After::Pass(parts, Source::Passing(body), lease);
        }
        let read = gather::refusal(body).await;
        let text = read.whole();
        let next = editor::tell(&mut **trail, Answered { status, refusal: text.as_deref() }).await;
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
