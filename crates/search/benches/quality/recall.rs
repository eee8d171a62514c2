//! Recall and mean reciprocal rank, by set.

use crate::finder::Finder;
use crate::sets::{
    self, LEAST, LEAST_MEAN, LEAST_MEAN_WITH_MODEL, LEAST_WITH_MODEL, Set, mean, recall, reciprocal_rank,
};
use crate::verdict;

const FIRST: [usize; 4] = [1, 3, 5, 10];

pub(crate) fn run(sets: &[Set], finder: &Finder) -> bool {
    let (bars, bar) =
        if finder.has_model() { (LEAST_WITH_MODEL, LEAST_MEAN_WITH_MODEL) } else { (LEAST, LEAST_MEAN) };
    println!(
        "{}: recall of the right tools among the first hits, and mean reciprocal rank; macro is the mean of the sets",
        finder.name()
    );
    println!(
        "  {:20} {:>8} {:>8}  {:>5} {:>5} {:>5} {:>5} {:>5}",
        "", "tools", "requests", "@1", "@3", "@5", "@10", "MRR"
    );
    let mut columns: Vec<[f64; 5]> = Vec::new();
    let mut held = true;
    for (set, least) in sets.iter().zip(bars) {
        let index = set.index();
        let found = finder.of(set);
        let rows: Vec<[f64; 5]> = set
            .requests
            .iter()
            .map(|request| {
                let hits = sets::ids(&found.search(&index, &request.text, 10));
                let [a, b, c, d] = FIRST.map(|first| recall(&hits, &request.gold, first));
                [a, b, c, d, reciprocal_rank(&hits, &request.gold)]
            })
            .collect();
        let row = means(&rows);
        let holds = row[2] >= least;
        held &= holds;
        print(set.name, set.tools.len(), rows.len(), &row);
        println!("   @5 {} {least}", verdict(holds));
        // The same for two halves of the requests: how far the figure is to be trusted.
        for half in 0..2 {
            let part: Vec<[f64; 5]> = rows.iter().copied().skip(half).step_by(2).collect();
            print("", 0, part.len(), &means(&part));
            println!();
        }
        columns.push(row);
    }
    let row = means(&columns);
    let holds = row[2] >= bar;
    print("macro", sets.iter().map(|set| set.tools.len()).sum(), 0, &row);
    println!("   @5 {} {bar}\n", verdict(holds));
    held && holds
}

fn means(rows: &[[f64; 5]]) -> [f64; 5] {
    std::array::from_fn(|column| mean(rows.iter().map(|row| row[column])))
}

fn print(name: &str, tools: usize, requests: usize, row: &[f64; 5]) {
    let count = |count: usize| if count == 0 { String::new() } else { count.to_string() };
    let name = if name.is_empty() { "  of these, half" } else { name };
    print!("  {name:20} {:>8} {:>8} ", count(tools), count(requests));
    for value in row {
        print!(" {value:.3}");
    }
}
