//! aider, which sends no tools at all.

use super::{captured, measured};
use crate::types::Profile;

pub(crate) const AIDER: Profile = Profile {
    id: "aider",
    name: "aider",
    naming: None,
    name_limit: None,
    description_cut: None,
    instructions_cut: None,
    builtin_tools: Some(measured(&[])),
    system_hints: &[captured("Act as an expert software developer.")],
    headers: &[],
    standing: &[],
    sections: &[],
    defers: None,
    paging: None,
    list_changed: None,
    client_names: &[],
    placeholder: None,
    leave_out: None,
    configs: &[],
    memory_files: &["CONVENTIONS.md"],
};
