//! shim
use crate::listing::Era; use crate::spec::ServerSpec; use crate::surface::*; use bytes::Bytes; use deadweight_lock::Lock;
pub use crate::surface::Kept;
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest { pub era: Era, pub version: String, pub opening: Bytes, pub frame: Bytes, pub tools: Vec<Bytes> }
pub(crate) struct Circumstances<'a> { pub spec: &'a ServerSpec, pub era: Era, pub version: &'a str, pub client: &'a Client, pub capabilities: &'a [u8] }
pub(crate) fn manifest_key(c: &Circumstances<'_>) -> String { format!("{:?}", c.era) }
pub(crate) fn decision_key(_: &Settings, _: Option<&Lock>, _: &Client, _: &[String], _: &[Option<&Manifest>], _: bool) -> String { String::new() }
pub(crate) fn frame(first: &Bytes) -> Bytes { first.clone() }
pub(crate) fn list_result(frame: &Bytes, tools: &Bytes) -> Bytes { crate::relay::frame::replaced(frame, &["tools"], tools).unwrap_or_default() }
