//! A measurement held against the lock.

use crate::budget::{Pricer, Surface, effective_slack, grew};
use crate::measured::Measured;
use crate::reason::Reason;
use crate::report::{Check, Failure, Movement, Report, Status, Subject};
use crate::words::quoted;
use deadweight_estimate::{Estimator, Stamp};
use deadweight_lock::{Level, Lock, ServerEntry, TextPrice, ToolEntry, ToolKey, ToolPrice};
use std::collections::{BTreeMap, BTreeSet};

/// Holds `measured`, counted by `estimator`, against `lock`.
///
/// Budgets are sums over the entries of the servers that answered, so that one dead server does not hide
/// what the others do; the dead one is `UNMEASURED`.
pub fn judge(lock: &Lock, measured: &Measured, estimator: &dyn Estimator) -> Report {
    let mut run = Run {
        lock,
        pricer: Pricer::new(estimator),
        stamp: Stamp::estimated(estimator),
        checks: Vec::new(),
        texts: Vec::new(),
    };
    let failures = run.unmeasured(measured);
    if run.basis(measured, &estimator.id().to_string()) {
        return Report::new(run.checks, Vec::new(), Vec::new(), failures);
    }
    let labels = measured.labels();
    let now = measured.tools();
    let base: BTreeMap<&ToolKey, (&ToolEntry, &ToolPrice)> = lock
        .tools
        .iter()
        .filter(|(key, _)| labels.contains(key.server.as_str()))
        .filter_map(|(key, entry)| Some((key, (entry, entry.price.as_ref()?))))
        .collect();
    // Where no server answered there is no number to hold, not even a 0.
    if !labels.is_empty() || failures.is_empty() {
        run.tool_budgets(&base, &now);
        run.ceilings(&now);
    }
    let tools = run.tools(&base, &now);
    run.instructions(measured, &labels);
    run.files(measured);
    point(&mut run.checks, &tools, &run.texts);
    Report::new(run.checks, tools, run.texts, failures)
}

/// Why a server of the lock is unmeasured that nobody asked.
pub const NOT_ASKED: &str = "it was not among the targets";

/// Points the budgets that are exceeded at the entry that grew most: that is where the reason will stand.
fn point(checks: &mut [Check], tools: &[Movement], texts: &[Movement]) {
    for check in checks.iter_mut().filter(|check| check.delta.is_some_and(|delta| delta > 0)) {
        let moved = match check.surface {
            Surface::Floor | Surface::Descriptions if check.subject == Subject::default() => tools,
            Surface::Instructions | Surface::Skills | Surface::Memory => texts,
            _ => continue,
        };
        let own = moved.iter().filter(|movement| match movement.surface {
            Surface::Tool => true,
            surface => surface == check.surface,
        });
        let grown = own.filter(|movement| movement.delta > 0 && movement.line.is_some());
        check.line =
            grown.max_by_key(|movement| movement.delta).and_then(|movement| movement.line).or(check.line);
    }
}

struct Run<'a> {
    lock: &'a Lock,
    pricer: Pricer<'a>,
    stamp: Stamp,
    checks: Vec<Check>,
    texts: Vec<Movement>,
}

/// The numbers of one check, in tokens or in tools.
#[derive(Default, Clone, Copy)]
struct Numbers {
    measured: Option<u64>,
    budget: Option<u64>,
    slack: Option<u64>,
}

impl Run<'_> {
    fn check(
        &mut self,
        reason: Option<Reason>,
        surface: Surface,
        subject: Subject,
        numbers: Numbers,
        line: usize,
        message: String,
    ) {
        let level = reason.map_or(Level::Error, |reason| reason.level(self.lock));
        self.checks.push(Check {
            reason,
            surface,
            subject,
            level,
            measured: numbers.measured,
            budget: numbers.budget,
            slack: numbers.slack,
            delta: numbers.measured.zip(numbers.budget).map(|(measured, budget)| change(budget, measured)),
            provenance: self.stamp.clone(),
            message,
            line: (line > 0).then_some(line),
        });
    }

    fn unmeasured(&mut self, measured: &Measured) -> Vec<Failure> {
        let mut failures: BTreeMap<&str, String> = BTreeMap::new();
        for failure in measured.unmeasured.iter().filter(|failure| measured.in_scope(&failure.server)) {
            failures.insert(&failure.server, failure.reason.clone());
        }
        let asked = measured.labels();
        // An entry that is there for its policy alone says nothing about what is carried.
        let servers = self.lock.servers.iter().filter(|(_, entry)| !entry.is_policy_alone());
        let tools = self.lock.tools.iter().filter(|(_, entry)| entry.price.is_some());
        let known = servers.map(|(label, _)| label).chain(tools.map(|(key, _)| &key.server));
        let known: BTreeSet<&str> = known.map(String::as_str).collect();
        for label in &known {
            if measured.in_scope(label) && !asked.contains(label) {
                failures.entry(label).or_insert_with(|| NOT_ASKED.to_owned());
            }
        }
        for label in measured.only.iter().flatten() {
            if !asked.contains(label.as_str()) && !known.contains(label.as_str()) {
                failures
                    .entry(label)
                    .or_insert_with(|| "no target and no entry of the lock has this label".to_owned());
            }
        }
        let failures: Vec<Failure> = failures
            .into_iter()
            .map(|(server, reason)| Failure { server: server.to_owned(), reason })
            .collect();
        for failure in &failures {
            let line = self.lock.servers.get(&failure.server).map_or(0, |entry| entry.line);
            let message = format!("{}: {}", quoted(&failure.server), failure.reason);
            let numbers = Numbers::default();
            self.check(
                Some(Reason::Unmeasured),
                Surface::Server,
                Subject::server(&failure.server),
                numbers,
                line,
                message,
            );
        }
        failures
    }

    /// Compares bases; answers whether nothing further can be compared. A mismatch that the lock lowered to a
    /// warning is passed over where bytes can still be compared, and is `UNMEASURED` where they cannot.
    fn basis(&mut self, measured: &Measured, estimator: &str) -> bool {
        let lock = self.lock;
        let mut mismatches = Vec::new();
        let differs = |what: &str, lock: &str, run: &str| {
            format!("the lock's {what} is `{lock}`, this run's is `{run}`; their tokens are not comparable")
        };
        if estimator.starts_with("learned") {
            let learned = "learned, which changes with what it learns";
            mismatches.push(("estimator", differs("estimator", &lock.estimator, learned)));
        } else if lock.estimator != estimator {
            mismatches.push(("estimator", differs("estimator", &lock.estimator, estimator)));
        }
        let other_fields = lock.basis != measured.basis;
        if other_fields {
            mismatches.push(("basis", differs("basis", &lock.basis, &measured.basis)));
        }
        let bare = lock.tools.iter().find(|(_, entry)| {
            let tokenless = |price: &ToolPrice| price.tokens.is_none() || price.description_tokens.is_none();
            self.pricer.needs_tokens() && entry.price.as_ref().is_some_and(tokenless)
        });
        if let Some((key, entry)) = bare.filter(|_| mismatches.is_empty()) {
            self.check(
                Some(Reason::BasisMismatch),
                Surface::Tool,
                Subject::tool(&key.server, &key.name),
                Numbers::default(),
                entry.line,
                format!("the entry of {} has no token counts, which {estimator} needs", quoted(&key.name)),
            );
        }
        let any = !mismatches.is_empty() || bare.is_some();
        for (what, message) in mismatches {
            self.check(
                Some(Reason::BasisMismatch),
                Surface::Lock,
                Subject::named(what),
                Numbers::default(),
                0,
                message,
            );
        }
        if !any || Reason::BasisMismatch.level(lock) == Level::Error {
            return any;
        }
        let comparable = !other_fields && bare.is_none();
        if !comparable {
            self.check(
                Some(Reason::Unmeasured),
                Surface::Lock,
                Subject::default(),
                Numbers::default(),
                0,
                "nothing of the lock can be compared with this run".to_owned(),
            );
        }
        !comparable
    }

    /// One budget: holds in [budget − slack, budget], both ends included.
    fn budget(
        &mut self,
        surface: Surface,
        over: Reason,
        stale: Reason,
        budget: u64,
        measured: u64,
        empty: bool,
    ) {
        let (setting, line) =
            surface.slack(self.lock).map_or((0, 0), |setting| (setting.limit, setting.line));
        let slack = effective_slack(setting, budget);
        let numbers = Numbers { measured: Some(measured), budget: Some(budget), slack: Some(slack) };
        let (reason, message) = if measured > budget {
            (Some(over), format!("{surface}: {measured} tokens, budget {budget} (+{})", measured - budget))
        } else if empty {
            (
                Some(stale),
                format!(
                    "{surface}: nothing is left of {budget} tokens; an empty list is banked or mended, never passed"
                ),
            )
        } else if measured < budget - slack {
            (
                Some(stale),
                format!(
                    "{surface}: {measured} tokens, {} below the budget of {budget} (slack {slack}); the reduction is not banked",
                    budget - measured
                ),
            )
        } else {
            (None, format!("{surface}: {measured} tokens of {budget}"))
        };
        self.check(reason, surface, Subject::default(), numbers, line, message);
    }

    fn tool_budgets(
        &mut self,
        base: &BTreeMap<&ToolKey, (&ToolEntry, &ToolPrice)>,
        now: &BTreeMap<ToolKey, ToolPrice>,
    ) {
        let prices = || base.values().map(|(_, price)| *price);
        let empty = now.is_empty() && !base.is_empty();
        self.budget(
            Surface::Floor,
            Reason::FloorBudgetExceeded,
            Reason::FloorBudgetStale,
            self.pricer.tools(prices()),
            self.pricer.tools(now.values()),
            empty,
        );
        self.budget(
            Surface::Descriptions,
            Reason::DescBudgetExceeded,
            Reason::DescBudgetStale,
            self.pricer.descriptions(prices()),
            self.pricer.descriptions(now.values()),
            false,
        );
        // One server of several that lists nothing any more must not hide in the others' sum.
        let labels: BTreeSet<&str> = base.keys().map(|key| key.server.as_str()).collect();
        for label in labels.into_iter().filter(|_| !empty) {
            if now.keys().all(|key| key.server != label) {
                let own = base.iter().filter(|(key, _)| key.server == label).map(|(_, (_, price))| *price);
                let budget = self.pricer.tools(own);
                let numbers = Numbers {
                    measured: Some(0),
                    budget: Some(budget),
                    slack: Some(effective_slack(self.lock.slack.floor.limit, budget)),
                };
                let line = self.lock.servers.get(label).map_or(0, |entry| entry.line);
                self.check(
                    Some(Reason::FloorBudgetStale),
                    Surface::Server,
                    Subject::server(label),
                    numbers,
                    line,
                    format!(
                        "the server {} lists no tools; the lock has {budget} tokens of them",
                        quoted(label)
                    ),
                );
            }
        }
    }

    fn ceilings(&mut self, now: &BTreeMap<ToolKey, ToolPrice>) {
        let lock = self.lock;
        let limit = |budget: u64, measured: u64| Numbers {
            measured: Some(measured),
            budget: Some(budget),
            slack: None,
        };
        if let Some(ceiling) = &lock.ceiling_tokens {
            let measured = self.pricer.tools(now.values());
            let over = (measured > ceiling.limit).then_some(Reason::CeilingExceeded);
            let message = format!("all tools: {measured} tokens, ceiling {}", ceiling.limit);
            self.check(
                over,
                Surface::Floor,
                Subject::named("ceiling_tokens"),
                limit(ceiling.limit, measured),
                ceiling.line,
                message,
            );
        }
        if let Some(most) = &lock.max_tools {
            let count = now.len() as u64;
            let over = (count > most.limit).then_some(Reason::ToolCountExceeded);
            let message = format!("{count} tools, at most {} are allowed", most.limit);
            self.check(
                over,
                Surface::ToolCount,
                Subject::named("max_tools"),
                limit(most.limit, count),
                most.line,
                message,
            );
        }
        if let Some(most) = &lock.max_tool_tokens {
            let mut held = true;
            for (key, price) in now {
                let measured = self.pricer.tool(price);
                if measured > most.limit {
                    held = false;
                    let message = format!(
                        "{}: {measured} tokens, at most {} are allowed a tool",
                        quoted(&key.name),
                        most.limit
                    );
                    self.check(
                        Some(Reason::ToolTooLarge),
                        Surface::Tool,
                        Subject::tool(&key.server, &key.name),
                        limit(most.limit, measured),
                        most.line,
                        message,
                    );
                }
            }
            if held {
                let heaviest = now.values().map(|price| self.pricer.tool(price)).max().unwrap_or_default();
                let message = format!("the heaviest tool: {heaviest} tokens of {}", most.limit);
                self.check(
                    None,
                    Surface::Tool,
                    Subject::named("max_tool_tokens"),
                    limit(most.limit, heaviest),
                    most.line,
                    message,
                );
            }
        }
    }

    /// Tool by tool: what no sum may hide.
    fn tools(
        &mut self,
        base: &BTreeMap<&ToolKey, (&ToolEntry, &ToolPrice)>,
        now: &BTreeMap<ToolKey, ToolPrice>,
    ) -> Vec<Movement> {
        let mut movements = Vec::new();
        for (key, price) in now {
            let before = base.get(key).copied();
            let tokens = self.pricer.tool(price);
            let subject = || Subject::tool(&key.server, &key.name);
            let name = quoted(&key.name);
            let status = match before {
                None => {
                    let numbers = Numbers { measured: Some(tokens), ..Numbers::default() };
                    let message = format!("{name} is new: {tokens} tokens");
                    self.check(Some(Reason::ToolAdded), Surface::Tool, subject(), numbers, 0, message);
                    Status::Added
                }
                Some((entry, old)) => {
                    let budget = self.pricer.tool(old);
                    let numbers = Numbers { measured: Some(tokens), budget: Some(budget), slack: None };
                    let changed = old.hash != price.hash;
                    if !changed && old != price {
                        let message = format!(
                            "the entry of {name} says {} bytes for a definition that has {}; its hash has not moved",
                            old.bytes, price.bytes
                        );
                        self.check(
                            Some(Reason::RaiseWithoutCause),
                            Surface::Tool,
                            subject(),
                            numbers,
                            entry.line,
                            message,
                        );
                    }
                    if grew(old, price) {
                        let message = format!(
                            "{name} grew: {tokens} tokens, {budget} in the lock ({:+} B)",
                            change(old.bytes, price.bytes)
                        );
                        self.check(
                            Some(Reason::ToolGrew),
                            Surface::Tool,
                            subject(),
                            numbers,
                            entry.line,
                            message,
                        );
                    }
                    if changed {
                        let message = format!("the definition of {name} is not the one that was reviewed");
                        self.check(
                            Some(Reason::DefinitionChanged),
                            Surface::Tool,
                            subject(),
                            numbers,
                            entry.line,
                            message,
                        );
                    }
                    status_of(grew(old, price), grew(price, old), changed)
                }
            };
            movements.push(Movement {
                surface: Surface::Tool,
                server: key.server.clone(),
                name: key.name.clone(),
                base_tokens: before.map(|(_, old)| self.pricer.tool(old)),
                tokens: Some(tokens),
                delta: change(before.map_or(0, |(_, old)| self.pricer.tool(old)), tokens),
                status,
                reason: before.and_then(|(entry, _)| entry.reason.clone()),
                line: before.map(|(entry, _)| entry.line).filter(|line| *line > 0),
            });
        }
        for (key, (entry, old)) in base.iter().filter(|(key, _)| !now.contains_key(**key)) {
            let tokens = self.pricer.tool(old);
            movements.push(Movement {
                surface: Surface::Tool,
                server: key.server.clone(),
                name: key.name.clone(),
                base_tokens: Some(tokens),
                tokens: None,
                delta: change(tokens, 0),
                status: Status::Removed,
                reason: entry.reason.clone(),
                line: Some(entry.line).filter(|line| *line > 0),
            });
        }
        movements
    }

    fn instructions(&mut self, measured: &Measured, labels: &BTreeSet<&str>) {
        let now: BTreeMap<String, TextPrice> = measured
            .servers
            .iter()
            .filter(|server| labels.contains(server.label.as_str()))
            .filter_map(|server| Some((server.label.clone(), server.instructions?)))
            .collect();
        let known = |(label, entry): (&String, &ServerEntry)| {
            let price = entry.instructions.filter(|_| labels.contains(label.as_str()))?;
            Some((label.clone(), Known { price, line: entry.line, reason: entry.reason.clone() }))
        };
        let base: BTreeMap<String, Known> = self.lock.servers.iter().filter_map(known).collect();
        self.surface(
            Surface::Instructions,
            (Reason::InstructionsBudgetExceeded, Reason::InstructionsBudgetStale),
            &base,
            &now,
        );
    }

    fn files(&mut self, measured: &Measured) {
        let lock = self.lock;
        for (surface, reasons, entries, now) in [
            (
                Surface::Skills,
                (Reason::SkillBudgetExceeded, Reason::SkillBudgetStale),
                &lock.skills,
                &measured.skills,
            ),
            (
                Surface::Memory,
                (Reason::MemoryBudgetExceeded, Reason::MemoryBudgetStale),
                &lock.memory,
                &measured.memory,
            ),
        ] {
            let Some(now) = now else { continue };
            // What is there and cannot be read has not become lighter.
            let unread = |path: &str| measured.unmeasured.iter().any(|failure| failure.server == path);
            let base = entries
                .iter()
                .filter(|(path, _)| !unread(path))
                .map(|(path, entry)| {
                    let known = Known { price: entry.price, line: entry.line, reason: entry.reason.clone() };
                    (path.clone(), known)
                })
                .collect();
            self.surface(surface, reasons, &base, now);
        }
    }

    /// The budget of texts on one surface, and how each moved. Nothing is said of a surface nobody has.
    fn surface(
        &mut self,
        surface: Surface,
        (over, stale): (Reason, Reason),
        base: &BTreeMap<String, Known>,
        now: &BTreeMap<String, TextPrice>,
    ) {
        if base.is_empty() && now.is_empty() {
            return;
        }
        let budget = self.pricer.texts(base.values().map(|known| &known.price));
        let measured = self.pricer.texts(now.values());
        self.budget(surface, over, stale, budget, measured, now.is_empty() && budget > 0);
        let one = |price: &TextPrice| self.pricer.texts(std::iter::once(price));
        let mut changed = Vec::new();
        let names: BTreeSet<&String> = base.keys().chain(now.keys()).collect();
        for name in names {
            let (old, new) = (base.get(name), now.get(name));
            let status = match (old.map(|known| &known.price), new) {
                (Some(old), Some(new)) => {
                    if old.hash != new.hash {
                        changed.push(name.clone());
                    }
                    status_of(
                        crate::budget::text_rose(old, new),
                        crate::budget::text_rose(new, old),
                        old.hash != new.hash,
                    )
                }
                (None, _) => Status::Added,
                (Some(_), None) => Status::Removed,
            };
            let base_tokens = old.map(|known| one(&known.price));
            let tokens = new.map(one);
            self.texts.push(Movement {
                surface,
                server: if surface == Surface::Instructions { name.clone() } else { String::new() },
                name: if surface == Surface::Instructions { String::new() } else { name.clone() },
                base_tokens,
                tokens,
                delta: change(base_tokens.unwrap_or_default(), tokens.unwrap_or_default()),
                status,
                reason: old.and_then(|known| known.reason.clone()),
                line: old.map(|known| known.line).filter(|line| *line > 0),
            });
        }
        // What a server tells the model can change what its tools do; a memory file is the team's own.
        for label in changed.into_iter().filter(|_| surface == Surface::Instructions) {
            let line = base.get(&label).map_or(0, |known| known.line);
            self.check(
                Some(Reason::DefinitionChanged),
                Surface::Instructions,
                Subject::server(&label),
                Numbers::default(),
                line,
                format!("the instructions of {} are not the ones that were reviewed", quoted(&label)),
            );
        }
    }
}

/// A text as the lock has it.
struct Known {
    price: TextPrice,
    line: usize,
    reason: Option<String>,
}

pub(crate) const fn status_of(grew: bool, shrank: bool, changed: bool) -> Status {
    match (grew, shrank, changed) {
        (true, _, _) => Status::Grew,
        (false, true, _) => Status::Shrank,
        (false, false, true) => Status::Changed,
        (false, false, false) => Status::Same,
    }
}

/// `now − base`.
pub(crate) fn change(base: u64, now: u64) -> i64 {
    let size = i64::try_from(now.abs_diff(base)).unwrap_or(i64::MAX);
    if now < base { -size } else { size }
}
