//! `deadweight restore`: what was cut comes back byte for byte, and what is not there is said to be not there.

use crate::sandbox::Sandbox;
use deadweight_store::{ORIGINALS_KEPT, Originals};

const ID: &str = "dw-0123456789abcdef0123";
const TEXT: &str = "line 1\r\n\u{1b}[31mline 2 — ä, without an end of its own";
const FOLDER: &str = ".local/share/deadweight/originals";

fn kept() -> Sandbox {
    let sandbox = Sandbox::new();
    Originals::open(sandbox.path().join(FOLDER), ORIGINALS_KEPT).unwrap().keep(ID, TEXT).unwrap();
    sandbox
}

#[test]
fn the_original_comes_back_byte_for_byte() {
    let sandbox = kept();
    let output = sandbox.command(&["restore", ID]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), TEXT.into(), Vec::new()));
    let output = sandbox.command(&["restore", ID, "--json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        report,
        serde_json::json!({ "schema": "deadweight/restore/1", "id": ID, "bytes": TEXT.len(), "text": TEXT })
    );
}

#[test]
fn what_is_not_there_is_said_to_be_not_there() {
    let sandbox = kept();
    let run = |args: &[&str]| {
        let output = sandbox.command(args).output().unwrap();
        assert!(output.stdout.is_empty());
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said.replace(&sandbox.path().display().to_string(), "~"))
    };
    let nothing = |id: &str, folder: &str| {
        (
            Some(1),
            format!(
                "error: nothing is kept under the id `{id}`\n  folder  {folder}\n  try     originals are kept for 30 days, on \
                 the machine on which they were cut\n"
            ),
        )
    };
    let other = "dw-ffff456789abcdef0123";
    assert_eq!(run(&["restore", other]), nothing(other, &format!("~/{FOLDER}")));
    assert_eq!(run(&["restore", "../../x"]), nothing("../../x", &format!("~/{FOLDER}")));
    // Beside another ledger there are none, and no folder is made to say so.
    assert_eq!(run(&["restore", ID, "--ledger", "own/ledger.sqlite"]), nothing(ID, "own/originals"));
    assert!(!sandbox.path().join("own").exists());
    std::fs::write(sandbox.path().join(".local/share/deadweight/originals.key"), [7; 32]).unwrap();
    assert_eq!(
        run(&["restore", ID]),
        (
            Some(3),
            format!(
                "error: what is kept under the id `{ID}` cannot be read\n  folder  ~/{FOLDER}\n  why     it is damaged, or \
                 sealed with another key than the one beside the folder\n"
            )
        )
    );
    std::fs::write(sandbox.path().join(".local/share/deadweight/originals.key"), "short").unwrap();
    let (code, said) = run(&["restore", ID]);
    assert!(code == Some(3) && said.starts_with("error: the originals cannot be read\n"), "{said}");
    let (code, said) = run(&["restore"]);
    assert!(code == Some(2) && said.contains("<ID>"), "{said}");
}
