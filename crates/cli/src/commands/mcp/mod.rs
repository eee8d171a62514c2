//! `deadweight mcp`: MCP servers behind lists without their schemas.

pub(crate) mod explain;
mod login;
mod meaning;
mod own;
mod record;
pub(crate) mod search;
mod serve;
mod servers;
pub(crate) mod status;

use crate::args::{Mcp, McpCommand};
use crate::exit::{Exit, Trouble};
use crate::settings;
use crate::target::gather;

/// Runs the command.
pub(crate) fn run(args: &Mcp) -> Result<Exit, Trouble> {
    let global = match &args.command {
        Some(McpCommand::Search(search)) => &search.global,
        Some(McpCommand::Status(status)) => &status.global,
        Some(McpCommand::Login(login)) => &login.global,
        None => &args.global,
    };
    settings::set_colors(global.color);
    gather::enter(global.directory.as_deref())?;
    match &args.command {
        Some(McpCommand::Search(search)) => search::run(search),
        Some(McpCommand::Status(status)) => status::run(status),
        Some(McpCommand::Login(login)) => login::run(login),
        None if args.own => own::run(),
        None if args.explain => explain::run(args),
        None => serve::run(args),
    }
}
