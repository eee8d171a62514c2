//! What real clients send, recorded by `cargo xtask fixtures` into `recorded/`: nothing of it is committed, so this runs
//! only where somebody has recorded.

use crate::measure::{Laid, inert, judged, laid};
use deadweight_testkit::layouts::Layout;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The requests of one recording, in the order in which they were sent.
fn recording(folder: &Path) -> Option<(&'static str, Vec<Layout>)> {
    let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json")).ok()?).unwrap();
    let name: &'static str = index["layout"].as_str()?.to_owned().leak();
    let requests = index["requests"].as_array()?.iter().filter(|request| request["generation"] == true);
    let layouts = requests.map(|request| Layout {
        name,
        dialect: "",
        path: request["path"].as_str().unwrap().to_owned().leak(),
        body: fs::read_to_string(folder.join(request["body"].as_str().unwrap())).unwrap(),
    });
    Some((name, layouts.collect()))
}

#[test]
fn real_clients_cause_no_errors_and_find_no_lever_inert() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recorded");
    let Ok(entries) = fs::read_dir(&root) else {
        println!("skipped: nothing is recorded on this machine (cargo xtask fixtures)");
        return;
    };
    let recordings: Vec<_> = entries.filter_map(|entry| recording(&entry.unwrap().path())).collect();
    let mut all: Vec<Laid> = Vec::new();
    for (name, layouts) in &recordings {
        all.push(laid(name, layouts, &judged()).unwrap());
        assert_eq!(all.last().unwrap().errors, 0, "{name}");
    }
    println!("did nothing on short recordings: {:?}", inert(&all));
}
