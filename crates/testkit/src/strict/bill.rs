//! Counters and money.

use std::ops::{Add, AddAssign};

use serde_json::{Value, json};

use super::models::Model;

/// Tokens of one request, as the provider counts them. The five add up to what was read and made; none contains another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read from no cache and written to none.
    pub input: u64,
    /// Read from the cache.
    pub read: u64,
    /// Written for five minutes; for providers that cache by themselves: written.
    pub write_5m: u64,
    /// Written for an hour.
    pub write_1h: u64,
    /// Generated.
    pub output: u64,
}

impl Usage {
    /// The size of the prompt.
    pub fn prompt(&self) -> u64 {
        self.input + self.read + self.written()
    }

    /// All that was written to the cache.
    pub fn written(&self) -> u64 {
        self.write_5m + self.write_1h
    }

    /// As Anthropic returns it.
    pub fn anthropic(&self) -> Value {
        json!({
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.written(),
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.write_5m,
                "ephemeral_1h_input_tokens": self.write_1h
            },
            "output_tokens": self.output,
            "service_tier": "standard"
        })
    }

    /// The cost by the judge's table.
    pub fn bill(self, model: &Model) -> Bill {
        let part = |tokens: u64, thousandths: u64| tokens * model.input * thousandths / 1_000;
        let nanos = self.input * model.input
            + part(self.read, model.read)
            + part(self.write_5m, model.write)
            + part(self.write_1h, model.write_1h)
            + self.output * model.output;
        Bill { usage: self, nanos, uncached_nanos: self.prompt() * model.input + self.output * model.output }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            read: self.read + other.read,
            write_5m: self.write_5m + other.write_5m,
            write_1h: self.write_1h + other.write_1h,
            output: self.output + other.output,
        }
    }
}

/// What one request costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bill {
    /// What is charged for.
    pub usage: Usage,
    /// The price, in nano-dollars.
    pub nanos: u64,
    /// The price had there been no cache, in nano-dollars.
    pub uncached_nanos: u64,
}

impl AddAssign for Bill {
    fn add_assign(&mut self, other: Self) {
        self.usage = self.usage + other.usage;
        self.nanos += other.nanos;
        self.uncached_nanos += other.uncached_nanos;
    }
}

/// Tokens of a text of so many bytes: a quarter, rounded to the nearest, half up. It is the judge's own measure: no
/// provider's tokenizer is known, and only differences between bills matter.
pub(crate) fn tokens(bytes: usize) -> u64 {
    (bytes as u64 + 2) / 4
}

#[cfg(test)]
mod tests {
    use super::{Usage, tokens};
    use crate::strict::models::model;

    #[test]
    fn money_is_worked_out_by_hand() {
        let usage = Usage { input: 10, read: 1_000, write_5m: 100, write_1h: 20, output: 3 };
        // 5,000 nano-dollars a token: 10 full, 1,000 at a tenth, 100 at 1.25, 20 at 2, and 3 made at 25,000.
        let bill = usage.bill(&model("claude-opus-4-8"));
        assert_eq!(bill.nanos, 50_000 + 500_000 + 625_000 + 200_000 + 75_000);
        assert_eq!(bill.uncached_nanos, 1_130 * 5_000 + 75_000);
        // A twentieth on Opus 5.5, a fortieth on Fable 5.1.
        let read = Usage { read: 1_000, ..Usage::default() };
        assert_eq!(read.bill(&model("claude-opus-5-5")).nanos, 200_000);
        assert_eq!(read.bill(&model("claude-fable-5-1")).nanos, 250_000);
    }

    #[test]
    fn tokens_round_to_the_nearest() {
        assert_eq!([0, 1, 2, 5, 6, 400].map(tokens), [0, 0, 1, 1, 2, 100]);
    }
}
