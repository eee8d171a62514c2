//! What abstaining costs and what it saves, at every threshold.
//!
//! A request is asked of its own catalogue (abstaining is wrong), of its own without the tools that answer it, and of
//! the catalogues of other sets (abstaining is right). All sets are pooled.
//!
//! What cannot be had from the words and the meaning of a request: when the right tools are taken out of a large catalogue,
//! what is left is their neighbours, of the same server and with the same words, and many requests are no further from those
//! than others are from the tool they were written for. Regressions over thirty signals (margins to the next tool and to the
//! next server, rare words that the first hit lacks, what the first five prove together, names said and unsaid, ranks and
//! distances by meaning), fitted on half of the requests and judged on the other half, abstain for 11 to 18 % of them at 5 %
//! wrong, whatever they are told to look for, and those with the most lose a third of what is right for strangers.

use deadweight_search::{Answer, Index};

use crate::finder::{Finder, InSet};
use crate::sets::Set;
use crate::verdict;

/// What must hold: at this share of wrong abstentions, at least this share of right ones.
const WRONG: f64 = 0.05;
const RIGHT: f64 = 0.5;

#[derive(Default)]
struct Confidences {
    answerable: Vec<f32>,
    removed: Vec<f32>,
    elsewhere: Vec<f32>,
}

pub(crate) fn run(sets: &[Set], finder: &Finder) -> bool {
    let mut found = Confidences::default();
    for set in sets {
        let mut index = set.index();
        let own = finder.of(set);
        for request in &set.requests {
            found.answerable.push(confidence(&own, &index, &request.text));
            for id in &request.gold {
                index.remove(id);
            }
            found.removed.push(confidence(&own, &index, &request.text));
            for tool in set.tools.iter().filter(|tool| request.gold.contains(&tool.id)) {
                index.add(tool);
            }
        }
        // Two sets that share a catalogue are no strangers to each other.
        for other in sets.iter().filter(|other| other.tools != set.tools) {
            found
                .elsewhere
                .extend(other.requests.iter().map(|request| confidence(&own, &index, &request.text)));
        }
    }
    println!(
        "{}: abstention: wrong for {} requests asked of their own catalogue; right for the same without the right tools, and \
         for {} asked of another set's catalogue",
        finder.name(),
        found.answerable.len(),
        found.elsewhere.len()
    );
    println!("  {:>9}  {:>6}   {:>6}  {:>8}  {:>6}", "threshold", "wrong", "other", "removed", "both");
    let mut sorted = found.answerable.clone();
    sorted.sort_by(f32::total_cmp);
    for wrong in [0.0, 0.01, 0.02, 0.03, 0.04, WRONG, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5] {
        let place = (wrong * sorted.len() as f64) as usize;
        let threshold = sorted.get(place).copied().unwrap_or_default();
        row(&found, threshold, "");
    }
    row(&found, Answer::LEAST, "   as shipped");
    let threshold = sorted.get((WRONG * sorted.len() as f64) as usize).copied().unwrap_or_default();
    let both = below(found.elsewhere.iter().chain(&found.removed), threshold);
    println!(
        "  right at {:.0} % wrong: {:.1} %   {} {:.0} %\n",
        WRONG * 100.0,
        both * 100.0,
        verdict(both >= RIGHT),
        RIGHT * 100.0
    );
    both >= RIGHT
}

fn row(found: &Confidences, threshold: f32, remark: &str) {
    println!(
        "  {threshold:>9.4}  {:>6.3}   {:>6.3}  {:>8.3}  {:>6.3}{remark}",
        below(&found.answerable, threshold),
        below(&found.elsewhere, threshold),
        below(&found.removed, threshold),
        below(found.elsewhere.iter().chain(&found.removed), threshold),
    );
}

fn below<'c>(confidences: impl IntoIterator<Item = &'c f32>, threshold: f32) -> f64 {
    crate::sets::mean(confidences.into_iter().map(|confidence| f64::from(u8::from(*confidence < threshold))))
}

fn confidence(finder: &InSet<'_>, index: &Index, request: &str) -> f32 {
    finder.search(index, request, 5).confidence
}
