//! One row of the book.

use crate::book::Day;
use crate::money::{Money, Rate};
use std::borrow::Cow;

/// The prices of the kinds of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Prompt tokens that the cache has no part in.
    pub input: Rate,
    /// Prompt tokens read from the cache.
    pub read: Rate,
    /// Prompt tokens written to the cache for five minutes, or for a time that is not said.
    pub write_5m: Rate,
    /// Prompt tokens written to the cache for an hour.
    pub write_1h: Rate,
    /// Output tokens, thinking included.
    pub output: Rate,
}

impl Rates {
    /// Prices without a cache: whatever is read or written costs what any prompt costs.
    #[must_use]
    pub const fn plain(input: Rate, output: Rate) -> Self {
        Self { input, read: input, write_5m: input, write_1h: input, output }
    }

    /// The price of writing to the cache.
    #[must_use]
    pub const fn write(&self, hour: bool) -> Rate {
        if hour { self.write_1h } else { self.write_5m }
    }
}

/// What a prompt of more than so many tokens costs, in all its parts and with its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Long {
    /// The same.
    Same,
    /// Other prices for prompts of more than `over` tokens.
    Other {
        /// The largest prompt at the plain prices.
        over: u64,
        /// The prices beyond.
        rates: Rates,
    },
    /// Other prices that are not known.
    Unknown {
        /// The largest prompt at the plain prices.
        over: u64,
    },
}

/// What one model costs, from one day on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The model's id as its maker writes it, without a date. A user's may end in `*`.
    pub model: Cow<'static, str>,
    /// The first day of these prices. Where nobody wrote it down it is the day of the first row of that model, and earlier
    /// requests are priced by it all the same.
    pub from: Day,
    /// The prices.
    pub rates: Rates,
    /// The prices of long prompts.
    pub long: Long,
    /// The fast mode's factor on all prices, where there is one that is known.
    pub fast: Option<u64>,
    /// Whether keeping inference in one region costs a tenth more.
    pub regional: bool,
    /// The largest prompt and output together, in tokens.
    pub context: Option<u64>,
    /// The smallest prompt that the provider caches, in tokens.
    pub cache_minimum: Option<u64>,
    /// When the prices were read: `YYYY-MM-DD`. This is the date to show beside money.
    pub date: Cow<'static, str>,
    /// Where they were read.
    pub source: Cow<'static, str>,
}

impl Entry {
    /// A user's own prices. A cache read costs `read`, a write `write`; both are the price of input where they are not
    /// given. `date` is when the user wrote them down, as it is to be shown.
    #[must_use]
    pub fn of_user(
        model: String,
        input: Rate,
        output: Rate,
        read: Option<Rate>,
        write: Option<Rate>,
        date: String,
    ) -> Self {
        let write = write.unwrap_or(input);
        Self {
            model: model.into(),
            from: Day::EVER,
            rates: Rates { input, read: read.unwrap_or(input), write_5m: write, write_1h: write, output },
            long: Long::Same,
            fast: None,
            regional: false,
            context: None,
            cache_minimum: None,
            date: date.into(),
            source: "your settings".into(),
        }
    }

    /// The prices of a prompt of so many tokens; `None` where they are not known.
    #[must_use]
    pub const fn rates_for(&self, prompt: u64) -> Option<&Rates> {
        match &self.long {
            Long::Other { over, rates } if prompt > *over => Some(rates),
            Long::Unknown { over } if prompt > *over => None,
            _ => Some(&self.rates),
        }
    }

    /// What it costs that `lost` tokens are written to the cache again (for an hour or not) instead of read from it, in a
    /// prompt of `prompt` tokens. `None` where prices for such prompts are not known.
    #[must_use]
    pub fn miss(&self, lost: u64, hour: bool, prompt: u64) -> Option<Money> {
        let rates = self.rates_for(prompt)?;
        Some(rates.write(hour).of(lost).saturating_sub(rates.read.of(lost)))
    }
}
