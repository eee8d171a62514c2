//! Stands in for the folder `catalogue` until it is here: whoever lands that deletes this file.
use crate::listing::Era;
use crate::spec::ServerSpec;
pub(crate) use crate::surface::Kept;
use crate::surface::*;
use bytes::Bytes;
use deadweight_lock::Lock;
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub era: Era,
    pub version: String,
    pub opening: Bytes,
    pub frame: Bytes,
    pub tools: Vec<Bytes>,
}
#[allow(dead_code, reason = "stands in")]
pub(crate) struct Circumstances<'a> {
    pub spec: &'a ServerSpec,
    pub era: Era,
    pub version: &'a str,
    pub client: &'a Client,
    pub capabilities: &'a [u8],
}
pub(crate) fn manifest_key(c: &Circumstances<'_>) -> String {
    format!("{:?}", c.era)
}
pub(crate) fn decision_key(
    _: &Settings,
    _: Option<&Lock>,
    _: &Client,
    _: &[String],
    manifests: &[Option<&Manifest>],
    _: bool,
) -> String {
    format!("{manifests:?}")
}
pub(crate) fn frame(first: &Bytes) -> Bytes {
    deadweight_wire::json::Parser::new().scope(first, |document| {
        let Ok(document) = document else { return first.clone() };
        let mut edits = deadweight_wire::splice::Edits::new(document);
        for entry in document.root().entries().filter(|entry| entry.key.is_str("nextCursor")) {
            edits.remove(entry);
        }
        edits
            .apply(&mut deadweight_wire::json::Parser::new())
            .map_or_else(|_| first.clone(), |s| s.bytes().to_vec().into())
    })
}
pub(crate) fn list_result(frame: &Bytes, tools: &Bytes) -> Bytes {
    crate::relay::frame::replaced(frame, &["tools"], tools).unwrap_or_default()
}
