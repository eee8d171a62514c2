//! Passes behind an answer that its counters leave out: a provider that compacts a conversation pays another prompt for it,
//! and bills it. Each is a record of its own, no request and no turn, so that the sums have what was billed and the turn
//! what it really carried.

use super::{answer, money};
use deadweight_price::Book;
use deadweight_store::{Asked, Ended, Exchange, PASS};
use deadweight_wire::usage::{About, Iteration, Outcome};

/// The type of a pass that is in no other counter.
const COMPACTION: &str = "compaction";

/// The records of an answer's passes.
pub(super) fn of(book: &Book, turn: &Exchange, outcome: &Outcome) -> Vec<Exchange> {
    let ours = outcome.iterations.iter().filter(|pass| pass.kind.as_deref() == Some(COMPACTION));
    ours.zip(1..).map(|(pass, number)| record(book, turn, outcome, pass, number)).collect()
}

fn record(book: &Book, turn: &Exchange, outcome: &Outcome, pass: &Iteration, number: u128) -> Exchange {
    let mut counters = pass.counters;
    answer::plausible(&mut counters);
    let model = pass.model.clone().or_else(|| outcome.about.model.clone());
    // Served with the answer, and so under its terms.
    let outcome = Outcome {
        counters,
        about: About { model, ..outcome.about.clone() },
        iterations: Vec::new(),
        ..outcome.clone()
    };
    let id = u128::from_str_radix(&turn.id, 16).unwrap_or_default().wrapping_add(number);
    let mut record = Exchange {
        id: format!("{id:032x}"),
        at_ms: turn.at_ms,
        provider: turn.provider.clone(),
        asked: Asked::Other,
        dialect: turn.dialect.clone(),
        method: PASS.to_owned(),
        path: turn.path.clone(),
        model: outcome.about.model.clone().or_else(|| turn.model.clone()),
        agent: turn.agent.clone(),
        session: turn.session.clone(),
        ended: Ended { how: "complete".to_owned(), status: turn.ended.status, ..Ended::default() },
        usage: answer::observed(&outcome.counters),
        ..Exchange::default()
    };
    record.cost = money::cost(book, &record, &outcome);
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_wire::Dialect;

    #[test]
    fn a_compaction_is_billed_beside_the_turn_and_is_none() {
        let body = r#"{"type":"message","model":"claude-opus-4-8","stop_reason":"end_turn","usage":{
            "input_tokens":2000,"output_tokens":300,"iterations":[
                {"type":"compaction","input_tokens":180000,"output_tokens":3500},
                {"type":"message","input_tokens":2000,"output_tokens":300}]}}"#;
        let outcome = deadweight_wire::usage::of_body(body.as_bytes(), Dialect::AnthropicMessages).unwrap();
        let turn = Exchange {
            id: "f".repeat(32),
            at_ms: 1_796_085_667_000,
            asked: Asked::Generate,
            session: "s".to_owned(),
            conversation: "c".to_owned(),
            turn: Some(7),
            usage: answer::observed(&outcome.counters),
            ..Exchange::default()
        };
        assert_eq!(turn.usage.prompt, Some(2_000));
        let passes = of(&Book::new(), &turn, &outcome);
        let [pass] = passes.as_slice() else { panic!("{passes:?}") };
        assert_eq!((pass.usage.prompt, pass.usage.output), (Some(180_000), Some(3_500)));
        assert!(!pass.is_turn() && pass.turn.is_none() && pass.session == "s");
        assert_eq!(
            (pass.id.as_str(), pass.model.as_deref()),
            ("0".repeat(32).as_str(), Some("claude-opus-4-8"))
        );
        // 180,000 tokens of prompt and 3,500 of answer, at the model's own prices.
        let entry = Book::new().find("claude-opus-4-8", deadweight_price::Day::LAST).cloned().unwrap();
        let cost = pass.cost.as_ref().unwrap();
        assert_eq!(cost.input(), entry.rates.input.of(180_000).nano());
        assert_eq!(cost.output, entry.rates.output.of(3_500).nano());
    }
}
