//! Reports as text, Markdown, JSON and HTML.

pub(crate) use deadweight_present::{harmless, html, number, treemap};

pub(crate) mod gate;
pub(crate) mod html_catalogue;
pub(crate) mod html_compare;
pub(crate) mod html_memory;
pub(crate) mod html_request;
pub(crate) mod json;
pub(crate) mod ledger;
pub(crate) mod markdown;
pub(crate) mod markdown_memory;
pub(crate) mod mcp;
pub(crate) mod run;
pub(crate) mod scorecard;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod text_compare;
pub(crate) mod text_memory;
pub(crate) mod text_request;
pub(crate) mod words;
pub(crate) mod words_memory;
