//! The bars of recall hold on public sets of requests, and their halves do not tell different stories.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod sets;

use std::path::Path;

use deadweight_embed::{Key, Meanings};
use deadweight_search::{Second, Tool};
use sets::{LEAST, LEAST_MEAN, LEAST_WITH_MODEL, mean, recall};

#[test]
fn the_right_tools_are_among_the_first_five() {
    let Some(sets) = sets::read() else {
        println!("skipped: {} is absent", sets::folder().display());
        return;
    };
    let mut figures: Vec<f64> = Vec::new();
    for (set, least) in sets.iter().zip(LEAST) {
        let index = set.index();
        let recalls: Vec<f64> = set
            .requests
            .iter()
            .map(|request| recall(&sets::ids(&index.search(&request.text, 5)), &request.gold, 5))
            .collect();
        let all = mean(recalls.iter().copied());
        assert!(all >= least, "{}: recall@5 {all:.3} is below {least}", set.name);
        figures.push(all);
    }
    let all = mean(figures);
    assert!(all >= LEAST_MEAN, "recall@5 {all:.3} over the sets is below {LEAST_MEAN}");
}

/// With the model whose folder `DEADWEIGHT_MODEL` names, as `cargo xtask test` does. One set, because embedding all of
/// them takes minutes; `cargo xtask bench search` does that.
#[test]
fn meaning_finds_what_words_do() {
    let Some((sets, model)) = sets::read().zip(std::env::var_os("DEADWEIGHT_MODEL")) else {
        println!("skipped: {} or DEADWEIGHT_MODEL is absent", sets::folder().display());
        return;
    };
    let (set, least) = (&sets[0], LEAST_WITH_MODEL[0]);
    let meanings = Meanings::start(Path::new(&model), None);
    meanings.learn(set.tools.iter().map(Tool::texts));
    meanings.wait();
    let ids: Vec<&str> = set.tools.iter().map(|tool| tool.id.as_str()).collect();
    let keys: Vec<Key> = set.tools.iter().map(|tool| Key::of(&tool.texts())).collect();
    let index = set.index();
    let recalls = |share: f32| {
        mean(set.requests.iter().map(|request| {
            let parts = index.parts(&request.text);
            let parts = meanings.of(&parts.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
            let fits = meanings.cosines(&parts, &keys).unwrap();
            let second = Second { ids: &ids, fits: &fits, share };
            recall(&sets::ids(&index.search_with(&request.text, 5, Some(&second))), &request.gold, 5)
        }))
    };
    for share in [Second::SHARE, 1.0] {
        let all = recalls(share);
        assert!(all >= least, "{}: recall@5 {all:.3} at a share of {share} is below {least}", set.name);
    }
}
