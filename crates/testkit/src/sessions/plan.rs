//! Which sessions are played, and what happens in each.

use super::client::{BINDING, CALM, Kind, Sizes};
use super::{Dice, figures};

/// What is done to the gateway in mid-session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing.
    Calm,
    /// It is ended and started again on the same folders.
    Restarts,
    /// Its journal is gone when it starts again.
    LosesJournal,
    /// Levers are switched off and on.
    Switches,
}

/// Sessions that one bar is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Nobody is away so long that a cache runs out.
    NoIdleGap,
    /// The model thinks, and binds its thinking to what stands before it.
    BoundThinking,
    /// At least 60 steps, results from the upper quarter, idle gaps, and no thinking that is bound.
    LongLargeIdle,
    /// The client sets no breakpoints of its own, so that nothing is cached unless somebody else does. Such sessions count
    /// for no other class.
    Unmarked,
    /// All others.
    Other,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 5] =
        [Self::NoIdleGap, Self::BoundThinking, Self::LongLargeIdle, Self::Unmarked, Self::Other];

    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoIdleGap => "no idle gap",
            Self::BoundThinking => "thinking on a binding model",
            Self::LongLargeIdle => "≥ 60 turns, large results, idle gaps, no bound thinking",
            Self::Unmarked => "client sets no breakpoints",
            Self::Other => "other",
        }
    }
}

/// One session, and all that is to happen in it.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// All else follows from it.
    pub seed: u64,
    /// What makes it hard.
    pub kind: Kind,
    /// How many requests, retries apart.
    pub steps: usize,
    /// What is done to the gateway.
    pub fate: Fate,
    /// Whether sub-agents begin, users go back, clients compact and repeat requests.
    pub busy: bool,
    /// Whether the client asks once more when it is refused; else that ends the session.
    pub persists: bool,
}

impl Plan {
    /// A session in which nothing happens but work.
    pub fn calm(seed: u64) -> Self {
        Self { seed, kind: CALM, steps: 20, fate: Fate::Calm, busy: false, persists: false }
    }

    /// The classes that it counts for.
    pub fn classes(&self) -> Vec<Class> {
        let bound = self.kind.thinks && (self.kind.model == BINDING || self.kind.switches_model);
        let mut classes = Vec::new();
        if !self.kind.marks {
            return vec![Class::Unmarked];
        }
        if !self.kind.idles {
            classes.push(Class::NoIdleGap);
        }
        if bound {
            classes.push(Class::BoundThinking);
        }
        if self.steps >= 60 && self.kind.sizes == Sizes::Large && self.kind.idles && !bound {
            classes.push(Class::LongLargeIdle);
        }
        if classes.is_empty() {
            classes.push(Class::Other);
        }
        classes
    }

    /// Seconds until the next step.
    pub(super) fn gap(&self, dice: &mut Dice) -> u64 {
        match self.kind.idles {
            true => figures::GAP.draw(dice),
            // Below five minutes: no cache runs out.
            false => figures::GAP.draw_below(930, dice),
        }
    }
}

const PUBLISHED: Kind = Kind { sizes: Sizes::Published, idles: true, heavy: true, ..CALM };

/// The kinds of session, in the order in which the set goes round them.
const KINDS: [Kind; 10] = [
    Kind { idles: false, ..PUBLISHED },
    PUBLISHED,
    Kind { model: BINDING, ..PUBLISHED },
    Kind { sizes: Sizes::Large, thinks: false, ..PUBLISHED },
    Kind { marks: false, thinks: false, ..PUBLISHED },
    Kind { sizes: Sizes::Large, ..PUBLISHED },
    Kind { model: BINDING, idles: false, ..PUBLISHED },
    Kind { shuffles: true, ..PUBLISHED },
    Kind { switches_model: true, ..PUBLISHED },
    Kind { sizes: Sizes::Large, shuffles: true, images: false, ..PUBLISHED },
];

const FATES: [Fate; 5] = [Fate::Calm, Fate::Restarts, Fate::Switches, Fate::Calm, Fate::LosesJournal];

/// The fixed set of sessions. The first 20 of it are what every change is tried on: two of each kind.
pub fn set(count: usize) -> Vec<Plan> {
    (0..count as u64)
        .map(|number| {
            let mut dice = Dice::new(number * 101 + 5);
            let kind = KINDS[(number % KINDS.len() as u64) as usize];
            let steps = figures::STEPS.draw(&mut dice).min(150) as usize;
            // Of those with large results, three in four are long: the class of which a saving is asked.
            let long = kind.sizes == Sizes::Large && number % 40 < 30;
            let steps = if long { steps.max(60 + dice.below(91) as usize) } else { steps };
            let fate = FATES[((number / KINDS.len() as u64 + number) % FATES.len() as u64) as usize];
            // What an older model's conversation was edited to, a model that binds thinking holds it to: without the
            // journal nobody knows it any more.
            let lost = kind.switches_model && fate == Fate::LosesJournal;
            let fate = if lost { Fate::Restarts } else { fate };
            Plan { seed: number * 1_000 + 17, kind, steps, fate, busy: true, persists: false }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_holds_every_class_and_fate_and_goes_on_as_it_began() {
        let (few, all) = (set(20), set(200));
        for class in Class::ALL {
            let of = |plans: &[Plan]| plans.iter().filter(|plan| plan.classes().contains(&class)).count();
            assert!(of(&few) >= 2 && of(&all) >= 20, "{}: {} {}", class.name(), of(&few), of(&all));
        }
        for fate in FATES {
            assert!(all.iter().filter(|plan| plan.fate == fate).count() >= 20, "{fate:?}");
            assert!(few.iter().any(|plan| plan.fate == fate), "{fate:?}");
        }
        assert!(few.iter().zip(&all).all(|(one, other)| (one.seed, one.steps) == (other.seed, other.steps)));
        let longest = all.iter().map(|plan| plan.steps).max();
        assert_eq!(longest, Some(150));
    }
}
