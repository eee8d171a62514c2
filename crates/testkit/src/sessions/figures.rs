//! What is published about sessions of coding agents, as far as the scripted ones follow it.
//!
//! Quantiles as published (or, where that is said, worked out from what is published); between two of them a value is
//! drawn geometrically, since all of these have long tails.

use super::Dice;

/// One published distribution.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// What was counted.
    pub what: &'static str,
    /// Who counted, where, when, and what was made of it.
    pub source: &'static str,
    /// Quantiles in thousandths, and their values, both rising.
    pub points: &'static [(u64, u64)],
}

/// Steps (requests to the model) of a session.
pub const STEPS: Figure = Figure {
    what: "steps of a session",
    source: "TraceLab (University of Washington, arXiv 2606.30560, June 2026; 4,265 sessions of Claude Code and Codex): \
             user- and tool-initiated steps per session, quartile 1 + 4, median 1 + 15, p90 17 + 135; cut at 150",
    points: &[(0, 2), (250, 5), (500, 16), (900, 152), (1_000, 152)],
};

/// Bytes of a tool's answer.
pub const RESULT: Figure = Figure {
    what: "bytes of a tool's result",
    source: "TraceLab, as above: tokens appended by a step behind a prefix of 64k to 128k tokens (median 0.8k; p90 3.7k and \
             6.1k, p99 12.8k and 31.3k for the two agents), less what the model had said, at four bytes a token; cut at the \
             50,000 characters from which on Claude Code writes a result to a file",
    points: &[(0, 20), (500, 2_000), (900, 17_600), (980, 50_000), (1_000, 50_000)],
};

/// Seconds between the starts of two steps.
pub const GAP: Figure = Figure {
    what: "seconds between two steps",
    source: "a transcript audit of 280,000 turns (anthropics/claude-code#74547, August 2026): median 6 s between steady turns, \
             74 min before a cold one; TraceLab: the share of tokens that a cache of 1 min, 5 min and 1 h could serve is \
             85.4, 94 and 98.6 %, so 14, 5 and 1 % lie behind longer gaps",
    points: &[(0, 2), (500, 6), (860, 60), (945, 300), (990, 3_600), (1_000, 28_800)],
};

/// Bytes that the model says besides its calls.
pub const SAID: Figure = Figure {
    what: "bytes of what the model says",
    source: "TraceLab: 186.9 M tokens in 357,161 steps, 523 on average, at four bytes a token",
    points: &[(0, 40), (500, 700), (900, 4_000), (1_000, 12_000)],
};

/// All of them, and what has no distribution.
pub const ALL: [Figure; 4] = [STEPS, RESULT, GAP, SAID];

/// Shares that the scripts follow, with their sources.
pub const SHARES: &[(&str, &str)] = &[
    ("tool calls of a step: 1.2 on average, median 1, p90 2, p99 4", "TraceLab, calls per step"),
    (
        "of all calls 64 % Bash, 20 % Read, 12 % Edit",
        "two audits that lie far apart: 74, 11 and 10 % of 3,410 calls (timetobuildbob, March 2026); Read 42 % of result \
         bytes (Digital-Process-Tools/claude-supertool#1316, August 2026)",
    ),
    (
        "of all reads some 40 % are of a file read before, 8 % of one that is unchanged",
        "46.5 % of 12,112 reads were of the same path (anthony-chaudhary/fak#12155, September 2026); 0.0 and 8.7 % of bytes \
         were unchanged in two corpora (claude-supertool#1316)",
    ),
    (
        "of all reads 30 % are of a part of a file",
        "302 of 1,000 reads with offset or limit (karanb192/claude-code-hooks#57, September 2026)",
    ),
];

impl Figure {
    /// The value at a quantile in thousandths.
    pub fn at(&self, quantile: u64) -> u64 {
        let above = self.points.iter().position(|(at, _)| *at >= quantile).unwrap_or(self.points.len() - 1);
        let (high_at, mut high) = self.points[above];
        let (low_at, mut low) = self.points[above.saturating_sub(1)];
        if high_at <= low_at || quantile >= high_at {
            return high;
        }
        // The geometric mean again and again: whole numbers only, so that every machine draws the same.
        let mut place = (quantile - low_at) * 1_024 / (high_at - low_at);
        for _ in 0..10 {
            let middle = (low * high).isqrt();
            place *= 2;
            if place >= 1_024 {
                place -= 1_024;
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// A value as likely as published.
    pub fn draw(&self, dice: &mut Dice) -> u64 {
        self.at(dice.below(1_000))
    }

    /// A value from the quantile `least` (in thousandths) on.
    pub fn draw_above(&self, least: u64, dice: &mut Dice) -> u64 {
        self.at(least + dice.below(1_000 - least.min(999)))
    }

    /// A value below the quantile `most` (in thousandths).
    pub fn draw_below(&self, most: u64, dice: &mut Dice) -> u64 {
        self.at(dice.below(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_values_have_the_published_quantiles() {
        for figure in ALL {
            let mut dice = Dice::new(3);
            let mut drawn: Vec<u64> = (0..20_000).map(|_| figure.draw(&mut dice)).collect();
            drawn.sort_unstable();
            for &(quantile, value) in figure.points.iter().filter(|(at, _)| (1..1_000).contains(at)) {
                let own = drawn[quantile as usize * 20];
                assert!(own.abs_diff(value) <= 1 + value / 6, "{}: {quantile} {own} {value}", figure.what);
            }
            assert_eq!(figure.at(0), figure.points[0].1);
        }
    }
}
