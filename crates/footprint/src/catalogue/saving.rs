//! What a shorter list of tools saves, after what the saving costs.

use super::price::measure_raw;
use super::tool::Weight;
use crate::basis::{Basis, Price, percent};
use deadweight_estimate::{Estimated, Estimator, Stamp, Surface, Tally, Tokens};
use deadweight_wire::definition::compact;
use deadweight_wire::json::Parser;
use serde::Serialize;

/// A list as it would be, and as it is; each entry the raw bytes of a definition.
#[derive(Debug, Clone, Default)]
pub struct Lists<'a> {
    /// The definitions as their servers list them.
    pub before: Vec<&'a [u8]>,
    /// What is listed of them.
    pub after: Vec<&'a [u8]>,
    /// What is listed beside them to make up for the difference: loaders.
    pub own: Vec<&'a [u8]>,
    /// The definitions that would have to be loaded.
    pub loadable: Vec<&'a [u8]>,
}

/// What is saved on every request: gross, net of the loaders, and after how many loads nothing is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Saving {
    /// Who counted.
    pub provenance: Stamp,
    /// What was counted, and how.
    pub basis: Basis,
    /// What the definitions weigh.
    pub before: Price,
    /// What is listed of them weighs.
    pub after: Price,
    /// What the loaders weigh.
    pub own: Price,
    /// `before - after`.
    pub gross: Change,
    /// `before - after - own`.
    pub net: Change,
    /// One load: the mean definition as a load answers with it, whole and compact. It stays in the conversation.
    pub load: Price,
    /// So many loads can a conversation carry before it carries more than without deferring. `None`: nothing can be loaded.
    pub break_even: Option<u64>,
}

/// A difference; negative where more is sent than before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Change {
    /// Content bytes.
    pub bytes: i64,
    /// Their tokens.
    pub tokens: i64,
    /// Tokens in per cent of those before; 0 when nothing is saved.
    pub pct: f64,
}

impl Change {
    fn new(before: Price, after: Price) -> Self {
        let less = |before: u64, after: u64| {
            i64::try_from(before).unwrap_or(i64::MAX).saturating_sub_unsigned(after)
        };
        let tokens = less(before.tokens.get(), after.tokens.get());
        let pct = percent(u64::try_from(tokens).unwrap_or(0), before.tokens.get());
        Self { bytes: less(before.bytes, after.bytes), tokens, pct }
    }
}

/// Prices a list that was made shorter, with the functions that price a catalogue.
pub fn saving(lists: &Lists<'_>, estimator: &dyn Estimator) -> Saving {
    let mut parser = Parser::new();
    let mut weigh = |entries: &[&[u8]]| {
        let mut weight = Weight::new(estimator);
        for entry in entries {
            weight.merge(&measure_raw(&mut parser, entry, estimator).weight);
        }
        weight.whole
    };
    let (before, after, own) = (weigh(&lists.before), weigh(&lists.after), weigh(&lists.own));
    let mut listed = after;
    listed.merge(&own);
    let (before, net) = (Price::of(&before), Price::of(&listed));
    let load = mean_load(&lists.loadable, estimator);
    let saved = Change::new(before, net);
    let break_even =
        (load.tokens.get() > 0).then(|| u64::try_from(saved.tokens).unwrap_or(0) / load.tokens.get());
    Saving {
        provenance: Stamp::estimated(estimator),
        basis: Basis::of_catalogue(estimator),
        before,
        after: Price::of(&after),
        own: Price::of(&own),
        gross: Change::new(before, Price::of(&after)),
        net: saved,
        load,
        break_even,
    }
}

/// The mean of what loads answer with, rounded down.
fn mean_load(definitions: &[&[u8]], estimator: &dyn Estimator) -> Price {
    let mut sum = Tally::new(estimator, Surface::ToolDefinition);
    for definition in definitions {
        let text = String::from_utf8_lossy(definition);
        let text = compact(&text);
        sum.add(text.len() as u64, || text);
    }
    let count = (definitions.len() as u64).max(1);
    let sum = Price::of(&sum);
    Price { bytes: sum.bytes / count, tokens: Tokens::<Estimated>::new(sum.tokens.get() / count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_estimate::{calibrated, chars4};

    const LONG: &[u8] = br#"{"name":"a","description":"Does one thing. And tells a lot.","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}"#;
    const SHORT: &[u8] = br#"{"name":"a","description":"Does one thing.","inputSchema":{}}"#;
    const LOADER: &[u8] = br#"{"name":"load","inputSchema":{}}"#;

    #[test]
    fn gross_is_without_the_loader_and_net_with_it() {
        let lists = Lists { before: vec![LONG], after: vec![SHORT], own: vec![LOADER], loadable: vec![LONG] };
        let saving = saving(&lists, &chars4());
        assert_eq!((saving.before.bytes, saving.after.bytes, saving.own.bytes), (87, 18, 6));
        assert_eq!((saving.gross.bytes, saving.net.bytes), (69, 63));
        assert_eq!((saving.before.tokens.get(), saving.net.tokens), (21, 15));
        assert_eq!(saving.load.bytes, LONG.len() as u64);
        assert_eq!(saving.break_even, Some(0));
    }

    #[test]
    fn more_than_before_is_a_negative_saving_and_no_load_is_no_break_even() {
        let lists = Lists { before: vec![SHORT], after: vec![SHORT], own: vec![LOADER], loadable: vec![] };
        let saving = saving(&lists, &calibrated());
        assert_eq!((saving.gross.bytes, saving.net.bytes, saving.net.pct), (0, -6, 0.0));
        assert_eq!(saving.break_even, None);
    }
}
