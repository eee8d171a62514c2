//! What is known about a question while it is under way: for progress, for errors, for the listing.

use crate::listing::{Anomaly, OnProgress, Progress, Stage};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How many samples of noise are kept, and how long each may be.
const NOISE_SAMPLES: usize = 3;
const SAMPLE_LENGTH: usize = 200;
/// How many different methods that a server asked for are remembered.
const CLIENT_METHODS: usize = 32;

/// Is told how many bytes came.
pub(crate) trait Received: Sync {
    fn received(&self, bytes: usize);
}

/// Nobody counts.
impl Received for () {
    fn received(&self, _: usize) {}
}

impl Received for Meter<'_> {
    fn received(&self, bytes: usize) {
        self.with(|state| state.bytes += bytes as u64);
    }
}

/// Shared by everything that works on one question.
pub(crate) struct Meter<'a> {
    index: usize,
    server: String,
    started: Instant,
    on_progress: OnProgress<'a>,
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    waiting_for: &'static str,
    pages: usize,
    tools: usize,
    bytes: u64,
    noise_lines: usize,
    noise: Vec<String>,
    client_requests: Vec<(String, usize)>,
    stray_answers: usize,
    other: Vec<Anomaly>,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(index: usize, server: String, on_progress: OnProgress<'a>) -> Self {
        let state = State {
            stage: Stage::Starting,
            waiting_for: "initialize",
            pages: 0,
            tools: 0,
            bytes: 0,
            noise_lines: 0,
            noise: Vec::new(),
            client_requests: Vec::new(),
            stray_answers: 0,
            other: Vec::new(),
        };
        Self { index, server, started: Instant::now(), on_progress, state: Mutex::new(state) }
    }

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Tells the callback how things stand.
    pub(crate) fn report(&self) {
        let progress = self.with(|state| Progress {
            index: self.index,
            server: &self.server,
            stage: state.stage,
            elapsed: self.started.elapsed(),
            pages: state.pages,
            tools: state.tools,
            bytes: state.bytes,
        });
        (self.on_progress)(progress);
    }

    pub(crate) fn stage(&self, stage: Stage) {
        self.with(|state| state.stage = stage);
        self.report();
    }

    pub(crate) fn current_stage(&self) -> Stage {
        self.with(|state| state.stage)
    }

    pub(crate) fn waiting_for(&self, method: &'static str) {
        self.with(|state| state.waiting_for = method);
    }

    pub(crate) fn waited_for(&self) -> &'static str {
        self.with(|state| state.waiting_for)
    }

    /// Sets how many pages and tools are read.
    pub(crate) fn read(&self, pages: usize, tools: usize) {
        self.with(|state| (state.pages, state.tools) = (pages, tools));
        self.report();
    }

    pub(crate) fn pages(&self) -> usize {
        self.with(|state| state.pages)
    }

    /// A line that is no protocol. Blank ones are not worth a word.
    pub(crate) fn noise(&self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        self.with(|state| {
            state.noise_lines += 1;
            if state.noise.len() < NOISE_SAMPLES {
                state.noise.push(crate::harmless::excerpt(line, SAMPLE_LENGTH));
            }
        });
    }

    pub(crate) fn noise_samples(&self) -> Vec<String> {
        self.with(|state| state.noise.clone())
    }

    pub(crate) fn client_request(&self, method: &str) {
        let method = crate::harmless::excerpt(method.as_bytes(), 80);
        self.with(|state| {
            let asked = &mut state.client_requests;
            if let Some((_, count)) = asked.iter_mut().find(|(known, _)| *known == method) {
                *count += 1;
            } else if asked.len() < CLIENT_METHODS {
                asked.push((method, 1));
            }
        });
    }

    pub(crate) fn stray_answer(&self) {
        self.with(|state| state.stray_answers += 1);
    }

    pub(crate) fn stray_answers(&self) -> usize {
        self.with(|state| state.stray_answers)
    }

    pub(crate) fn anomaly(&self, anomaly: Anomaly) {
        self.with(|state| {
            if !state.other.contains(&anomaly) {
                state.other.push(anomaly);
            }
        });
    }

    /// Everything odd, for the listing, without `secrets`.
    pub(crate) fn anomalies(&self, secrets: &[&str]) -> Vec<Anomaly> {
        self.with(|state| {
            let scrub = |text: &str| crate::redact::scrub(text, secrets);
            let mut all = Vec::new();
            if let Some(sample) = state.noise.first() {
                let sample = scrub(sample);
                all.push(Anomaly::StdoutNoise { lines: state.noise_lines, sample });
            }
            let asked = state.client_requests.iter();
            all.extend(asked.map(|(method, count)| {
                let (method, count) = (scrub(method), *count);
                Anomaly::ClientRequest { method, count }
            }));
            if state.stray_answers > 0 {
                all.push(Anomaly::StrayAnswers { count: state.stray_answers });
            }
            all.extend(state.other.drain(..).map(|anomaly| match anomaly {
                Anomaly::UnknownProtocolVersion { version } => {
                    Anomaly::UnknownProtocolVersion { version: scrub(&version) }
                }
                other => other,
            }));
            all
        })
    }
}
