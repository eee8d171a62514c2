//! The commands, one file each.

pub(crate) mod footprint;
pub(crate) mod gate;
pub(crate) mod gateway;
pub(crate) mod ledger;
pub(crate) mod levers;
pub(crate) mod mcp;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod scorecard;
pub(crate) mod top;

/// What to say of a ledger: `what` is true of lines that are lost; one that was taken away loses none that come.
pub(crate) fn of_ledger(what: &str, error: &deadweight_store::Error) -> String {
    let (file, remedy) = (error.file.display(), error.remedy());
    match error.cause {
        deadweight_store::Cause::Gone => format!("{error}, {file}; {remedy}"),
        _ => format!("{what}: {error}, {file}; {remedy}"),
    }
}
