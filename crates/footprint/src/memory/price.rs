//! Weighs what was found.

use super::outline::{Outline, SectionKind};
use super::report::{
    AgentTotal, Anomaly, AnomalyKind, Failure, FileFootprint, MemoryFootprint, SCHEMA, SectionFootprint,
    SkillFootprint,
};
use super::skill::{Shown, SkillOddity};
use super::source::{ImportOutcome, Memory, SkillSource, Source};
use crate::basis::{Basis, Price, percent};
use deadweight_estimate::{Estimator, Stamp, Surface, Tally};
use deadweight_profiles::memory::memory_of;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// The footprint of memory files and skills. The order of what was found does not matter.
pub fn price(found: &Memory, estimator: &dyn Estimator) -> MemoryFootprint {
    let new = || Tally::new(estimator, Surface::Prose);
    let (mut memory, mut listings) = (new(), new());
    let mut agents: BTreeMap<&'static str, Carried<'_>> = BTreeMap::new();
    let mut anomalies = Vec::new();

    let mut files = Vec::new();
    for source in &found.files {
        let (file, tally) = file(source, estimator);
        memory.merge(&tally);
        for load in &source.loads {
            let carried = agents.entry(load.agent).or_insert_with(|| Carried::new(new()));
            for _ in 0..load.times {
                carried.memory.merge(&tally);
            }
            carried.files += u64::from(load.times > 0);
            if source.in_project {
                carried.of_project += file.bytes;
            }
        }
        odd_imports(source, &mut anomalies);
        files.push(file);
    }
    let mut skills = Vec::new();
    for source in &found.skills {
        let (skill, tally) = skill(source, estimator);
        listings.merge(&tally);
        for agent in source.agents.iter().filter(|_| skill.listed) {
            let carried = agents.entry(agent).or_insert_with(|| Carried::new(new()));
            carried.listings.merge(&tally);
            carried.skills += 1;
        }
        odd_skill(source, &mut anomalies);
        skills.push(skill);
    }
    cut_off(&agents, &mut anomalies);

    for file in &mut files {
        file.pct = percent(file.bytes, memory.bytes());
    }
    for skill in &mut skills {
        skill.pct = percent(skill.bytes, listings.bytes());
    }
    files.sort_by(|a, b| {
        (Reverse(a.tokens), Reverse(a.bytes), &a.path).cmp(&(Reverse(b.tokens), Reverse(b.bytes), &b.path))
    });
    skills.sort_by(|a, b| {
        (Reverse(a.tokens), Reverse(a.bytes), &a.path).cmp(&(Reverse(b.tokens), Reverse(b.bytes), &b.path))
    });
    anomalies.sort();
    let mut failures: Vec<Failure> = found
        .unread
        .iter()
        .map(|unread| Failure { path: unread.path.clone(), reason: unread.reason.clone() })
        .collect();
    failures.sort();

    let mut total = memory;
    total.merge(&listings);
    MemoryFootprint {
        schema: SCHEMA,
        provenance: Stamp::estimated(estimator),
        basis: Basis::of_memory(estimator),
        total: Price::of(&total),
        memory: Price::of(&memory),
        skill_listings: Price::of(&listings),
        agents: agents.into_iter().map(|(agent, carried)| carried.total(agent)).collect(),
        files,
        skills,
        anomalies,
        failures,
    }
}

/// What one agent carries, while it is counted.
struct Carried<'e> {
    memory: Tally<'e>,
    files: u64,
    of_project: u64,
    listings: Tally<'e>,
    skills: u64,
}

impl<'e> Carried<'e> {
    const fn new(empty: Tally<'e>) -> Self {
        Self { memory: empty, files: 0, of_project: 0, listings: empty, skills: 0 }
    }

    fn total(self, agent: &'static str) -> AgentTotal {
        AgentTotal {
            agent,
            memory: Price::of(&self.memory),
            files: self.files,
            skill_listings: Price::of(&self.listings),
            skills: self.skills,
        }
    }
}

fn file<'e>(source: &Source, estimator: &'e dyn Estimator) -> (FileFootprint, Tally<'e>) {
    let text = source.text.as_str();
    let outline = Outline::read(text);
    let tally = |span: &Range<usize>| {
        let mut tally = Tally::new(estimator, Surface::Prose);
        tally.add(span.len() as u64, || text.get(span.clone()).unwrap_or_default().into());
        tally
    };
    let own: Vec<Tally<'_>> = outline.sections.iter().map(|section| tally(&section.own)).collect();
    let mut whole = Tally::new(estimator, Surface::Prose);
    own.iter().for_each(|part| whole.merge(part));

    let mut sections = Vec::with_capacity(own.len());
    for (index, (section, part)) in outline.sections.iter().zip(&own).enumerate() {
        // The sections of an inclusive span follow one another.
        let within =
            outline.sections.iter().skip(index).take_while(|one| one.own.end <= section.inclusive.end);
        let mut inclusive = Tally::new(estimator, Surface::Prose);
        own.iter().skip(index).take(within.count()).for_each(|part| inclusive.merge(part));
        let (kind, level) = match section.kind {
            SectionKind::FrontMatter => ("front_matter", 0),
            SectionKind::Preamble => ("preamble", 0),
            SectionKind::Heading(level) => ("heading", level),
        };
        sections.push(SectionFootprint {
            kind,
            title: section.title.clone(),
            level,
            depth: section.depth,
            line: section.line,
            bytes: part.bytes(),
            tokens: part.tokens(),
            inclusive_bytes: inclusive.bytes(),
            inclusive_tokens: inclusive.tokens(),
        });
    }
    let mut comments = Tally::new(estimator, Surface::Prose);
    outline.comments.iter().for_each(|span| comments.merge(&tally(span)));
    let front_matter = outline.front_matter.as_ref().map_or(0..0, |found| found.block.clone());
    let footprint = FileFootprint {
        path: source.path.clone(),
        in_project: source.in_project,
        bytes: whole.bytes(),
        tokens: whole.tokens(),
        pct: 0.0,
        front_matter: Price::of(&tally(&front_matter)),
        comments: Price::of(&comments),
        loaded_by: source.loads.clone(),
        sections,
        imports: source.imports.clone(),
    };
    (footprint, whole)
}

fn skill<'e>(source: &SkillSource, estimator: &'e dyn Estimator) -> (SkillFootprint, Tally<'e>) {
    let mut tally = Tally::new(estimator, Surface::Prose);
    if let Some(shown) = &source.shown {
        tally.add(shown.bytes(), || shown.text().into());
    }
    let length = |part: fn(&Shown) -> &str| source.shown.as_ref().map_or(0, |shown| part(shown).len() as u64);
    let footprint = SkillFootprint {
        path: source.path.clone(),
        in_project: source.in_project,
        name: source.shown.as_ref().map(|shown| shown.name.clone()).unwrap_or_default(),
        listed: source.shown.is_some(),
        plugin: source.plugin.clone(),
        bytes: tally.bytes(),
        tokens: tally.tokens(),
        pct: 0.0,
        name_bytes: length(|shown| &shown.name),
        description_bytes: length(|shown| &shown.description),
        file_bytes: source.file_bytes,
        agents: source.agents.clone(),
    };
    (footprint, tally)
}

fn odd_imports(source: &Source, anomalies: &mut Vec<Anomaly>) {
    for link in &source.imports {
        let kind = match link.outcome {
            ImportOutcome::Loaded | ImportOutcome::LoadedBefore | ImportOutcome::Asks => continue,
            ImportOutcome::Missing => AnomalyKind::MissingImport,
            ImportOutcome::Refused => AnomalyKind::RefusedImport,
            ImportOutcome::TooDeep => AnomalyKind::TooDeepImport,
            ImportOutcome::NotImported => AnomalyKind::NotImported,
            ImportOutcome::Unreadable => AnomalyKind::UnreadableImport,
            ImportOutcome::TooMany => AnomalyKind::TooManyImports,
        };
        anomalies.push(Anomaly {
            path: source.path.clone(),
            line: Some(link.line),
            kind,
            detail: Some(format!("@{} ({})", link.written, link.agents.join(", "))),
        });
    }
}

fn odd_skill(source: &SkillSource, anomalies: &mut Vec<Anomaly>) {
    for oddity in &source.oddities {
        let kind = match oddity {
            SkillOddity::MissingFrontMatter => AnomalyKind::MissingFrontMatter,
            SkillOddity::InvalidYaml => AnomalyKind::InvalidYaml,
            SkillOddity::MissingDescription => AnomalyKind::MissingDescription,
            SkillOddity::WrongType => AnomalyKind::WrongType,
            SkillOddity::DuplicateKey => AnomalyKind::DuplicateKey,
            SkillOddity::Cut => AnomalyKind::DescriptionCut,
        };
        anomalies.push(Anomaly { path: source.path.clone(), line: None, kind, detail: None });
    }
}

fn cut_off(agents: &BTreeMap<&'static str, Carried<'_>>, anomalies: &mut Vec<Anomaly>) {
    for (agent, carried) in agents {
        let Some(cut) = memory_of(agent).and_then(|rules| rules.cut) else { continue };
        if carried.of_project > cut.value {
            anomalies.push(Anomaly {
                path: String::new(),
                line: None,
                kind: AnomalyKind::CutOff,
                detail: Some(format!("{agent} sends {} B of {} B", cut.value, carried.of_project)),
            });
        }
    }
}
