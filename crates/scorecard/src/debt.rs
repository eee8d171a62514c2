//! What is owed, and the grade.

use crate::card::{Card, Debt};

/// The kinds of debt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A lever fired on no layout of any agent; an opt-in, which may wait for what no layout holds, in no session either.
    Inert,
    /// A lever that leaves something out is on, and owes the user its note.
    Unsaid,
    /// No test pins whether it is on.
    Unpinned,
    /// It is off, and nobody says what must be shown before it is on.
    Ungated,
    /// It would act only beyond what the model takes.
    BeyondWindow,
    /// Two ways in do not have the same levers on.
    DoorsDisagree,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Inert, Self::Unsaid, Self::Unpinned, Self::Ungated, Self::BeyondWindow, Self::DoorsDisagree];

    /// The word used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inert => "inert",
            Self::Unsaid => "unsaid",
            Self::Unpinned => "unpinned",
            Self::Ungated => "ungated",
            Self::BeyondWindow => "beyond_window",
            Self::DoorsDisagree => "doors_disagree",
        }
    }
}

/// What a card owes, in order.
#[must_use]
pub fn debts(card: &Card) -> Vec<Debt> {
    let mut debts = Vec::new();
    let mut owes = |kind: Kind, of: &str, text: String| {
        debts.push(Debt { kind: kind.name().to_owned(), of: of.to_owned(), text });
    };
    for lever in card.every() {
        let name = lever.name.as_str();
        if lever.layouts.is_empty() && (lever.class != "opt-in" || lever.fired == 0) {
            owes(Kind::Inert, name, format!("{name} did nothing on any layout"));
        }
        if lever.on && lever.class == "bounded" && lever.note.trim().is_empty() {
            owes(Kind::Unsaid, name, format!("{name} leaves something out by default, and does not say so"));
        }
        if lever.pinned_by.is_none() {
            owes(Kind::Unpinned, name, format!("no test pins whether {name} is on"));
        }
        if !lever.on && lever.gate.as_deref().is_none_or(|gate| gate.trim().is_empty()) {
            owes(Kind::Ungated, name, format!("{name} is off, and nobody says until when"));
        }
        if let Some(target) = lever.target_tokens.filter(|target| *target > lever.window_tokens) {
            let window = lever.window_tokens;
            owes(
                Kind::BeyondWindow,
                name,
                format!("{name} aims at {target} tokens, and the model takes {window}"),
            );
        }
    }
    let set = |on: &[String]| on.iter().cloned().collect::<std::collections::BTreeSet<_>>();
    if let Some((first, others)) = card.doors.split_first() {
        for door in others.iter().filter(|door| set(&door.on) != set(&first.on)) {
            let text = format!("{} and {} do not have the same levers on", first.name, door.name);
            owes(Kind::DoorsDisagree, &door.name, text);
        }
    }
    debts
}

/// The grade: A without debt, one letter down for each, F beyond three; F with any error that a lever caused.
#[must_use]
pub fn grade(debts: usize, errors: u64) -> &'static str {
    match debts {
        _ if errors > 0 => "F",
        0 => "A",
        1 => "B",
        2 => "C",
        3 => "D",
        _ => "F",
    }
}

/// Errors that levers caused: on layouts, in sessions with one lever each, and in the default profile.
#[must_use]
pub fn errors(card: &Card) -> u64 {
    card.every().map(|lever| lever.errors).sum::<u64>() + card.run.refused
}

/// Puts debts and grade into a card.
#[must_use]
pub fn judged(mut card: Card) -> Card {
    card.debts = debts(&card);
    card.grade = grade(card.debts.len(), errors(&card)).to_owned();
    card
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{Door, Lever};

    type Spoil = fn(&mut Card);

    fn sound() -> Card {
        let lever = |name: &str, class: &str, on: bool| Lever {
            name: name.to_owned(),
            class: class.to_owned(),
            on,
            pinned_by: Some("a test".to_owned()),
            gate: (!on).then(|| "something is shown".to_owned()),
            note: "It is said.".to_owned(),
            target_tokens: Some(100),
            window_tokens: 200,
            layouts: vec!["some_agent".to_owned()],
            ..Lever::default()
        };
        let door = |name: &str| Door { name: name.to_owned(), on: vec!["one".to_owned(), "two".to_owned()] };
        Card {
            levers: vec![lever("one", "lossless", true), lever("two", "bounded", true)],
            opt_ins: vec![lever("three", "opt-in", false)],
            doors: vec![door("library"), door("gateway"), door("command")],
            ..Card::default()
        }
    }

    /// For each kind of debt, what brings it about in a sound card.
    const MUTANTS: [(Kind, Spoil); 6] = [
        (Kind::Inert, |card| card.opt_ins[0].layouts.clear()),
        (Kind::Unsaid, |card| card.levers[1].note = " ".to_owned()),
        (Kind::Unpinned, |card| card.opt_ins[0].pinned_by = None),
        (Kind::Ungated, |card| card.opt_ins[0].gate = None),
        (Kind::BeyondWindow, |card| card.levers[1].target_tokens = Some(201)),
        (Kind::DoorsDisagree, |card| drop(card.doors[2].on.pop())),
    ];

    #[test]
    fn a_sound_card_owes_nothing() {
        let card = judged(sound());
        assert_eq!((card.grade.as_str(), card.debts), ("A", Vec::new()));
    }

    #[test]
    fn each_kind_of_debt_is_found() {
        for (kind, spoil) in MUTANTS {
            let mut card = sound();
            spoil(&mut card);
            let card = judged(card);
            let kinds: Vec<_> = card.debts.iter().map(|debt| debt.kind.as_str()).collect();
            assert_eq!((kinds, card.grade.as_str()), (vec![kind.name()], "B"));
        }
        assert_eq!(MUTANTS.map(|(kind, _)| kind), Kind::ALL, "every kind has its mutant");
    }

    #[test]
    fn what_is_no_debt_is_not_taken_for_one() {
        let fine: [Spoil; 5] = [
            // Who leaves nothing out owes no note; who is off tells nobody anything yet.
            |card| card.levers[0].note.clear(),
            |card| card.opt_ins[0].note.clear(),
            // The order of levers is nothing that doors can differ in.
            |card| card.doors[1].on.reverse(),
            |card| card.levers[0].target_tokens = None,
            // What an opt-in waits for need not be in a layout.
            |card| (card.opt_ins[0].layouts, card.opt_ins[0].fired) = (Vec::new(), 1),
        ];
        for change in fine {
            let mut card = sound();
            change(&mut card);
            assert_eq!(judged(card).debts, Vec::new());
        }
    }

    #[test]
    fn grades_fall_with_debts_and_with_any_error() {
        let grades: Vec<_> = (0..6).map(|debts| grade(debts, 0)).collect();
        assert_eq!(grades, ["A", "B", "C", "D", "F", "F"]);
        assert_eq!(grade(0, 1), "F");
        for spoil in [(|card| card.levers[0].errors = 1) as Spoil, |card| card.opt_ins[0].errors = 1] {
            let mut card = sound();
            spoil(&mut card);
            assert_eq!(judged(card).grade, "F");
        }
        let mut card = sound();
        card.levers[0].layouts.clear();
        assert_eq!(judged(card).debts[0].kind, "inert");
        let mut card = sound();
        card.run.refused = 1;
        assert_eq!(judged(card).grade, "F");
    }
}
