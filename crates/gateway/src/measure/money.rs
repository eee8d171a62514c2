//! What an exchange costs, by the book. All of it is ESTIMATED, whatever the counters under it are.

use deadweight_price::{Book, Day, Rates, Terms};
use deadweight_store::{Cost, Exchange};
use deadweight_wire::usage::Outcome;

/// What an answer's counters cost. `None` where the model is not in the book, or nothing was counted.
pub(super) fn cost(book: &Book, exchange: &Exchange, outcome: &Outcome) -> Option<Cost> {
    // The model that answered is the one that is paid for.
    let about = &outcome.about;
    let on = Day::of_unix_ms(exchange.at_ms);
    let named = [about.model.as_deref(), exchange.model.as_deref()];
    let entry = named.into_iter().flatten().find_map(|model| book.find(model, on))?;
    let terms = Terms {
        tier: about.service_tier.as_deref(),
        speed: about.speed.as_deref(),
        region: about.inference_geo.as_deref(),
    };
    let cost = deadweight_price::cost::cost(entry, &outcome.counters, &terms)?;
    Some(Cost {
        uncached: cost.uncached.nano(),
        cache_read: cost.read.nano(),
        cache_write_5m: cost.write_5m.nano(),
        cache_write_1h: cost.write_1h.nano(),
        output: cost.output.map_or(0, |output| output.nano()),
        equivalent_tokens: cost.equivalents,
        price_date: entry.date.clone().into_owned(),
    })
}

/// What the loss of a cached prefix costs: what was to be read is paid for as it is written anew. `None` without a
/// price.
pub(super) fn of_loss(book: &Book, exchange: &Exchange, lost_tokens: u64) -> Option<u64> {
    let entry = book.find(exchange.model.as_deref()?, Day::of_unix_ms(exchange.at_ms))?;
    let footprint = exchange.footprint.as_ref()?;
    let hour = footprint.layout.iter().any(|segment| segment.breakpoint.as_deref() == Some("1h"));
    let prompt = exchange.usage.prompt.unwrap_or_else(|| footprint.sent());
    entry.miss(lost_tokens, hour, prompt).map(|money| money.nano())
}

/// The window of a model, in tokens, where it is known.
pub(super) fn window(book: &Book, model: &str, at_ms: u64) -> Option<u64> {
    book.window(model, Day::of_unix_ms(at_ms))
}

/// What the tokens of a prompt of so many cost, where that is known.
pub(crate) fn rates(book: &Book, model: &str, at_ms: u64, prompt: u64) -> Option<Rates> {
    book.find(model, Day::of_unix_ms(at_ms))?.rates_for(prompt).copied()
}
