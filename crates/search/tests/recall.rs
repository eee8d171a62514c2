//! The bars of recall hold on public sets of requests, and their halves do not tell different stories.

mod sets;

use sets::{LEAST, LEAST_MEAN, mean, recall};

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
