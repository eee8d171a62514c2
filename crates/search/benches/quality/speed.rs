//! Time to build and to search, and memory, at 10,000 tools made from a seed.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use deadweight_embed::Vector;
use deadweight_search::{Argument, Index, Second, Tool};

use crate::verdict;

const TOOLS: usize = 10_000;
const SERVERS: usize = 300;
const SEARCHES: usize = 2_000;

const BUILD: Duration = Duration::from_secs(1);
const SEARCH: Duration = Duration::from_millis(5);
const MEMORY: u64 = 80 << 20;

pub(crate) fn run() -> bool {
    let mut dice = Dice(7);
    let words: Vec<String> = (0..6_000).map(|_| dice.word()).collect();
    let tools: Vec<Tool> = (0..TOOLS).map(|number| tool(&mut dice, &words, number)).collect();
    let requests: Vec<String> = (0..SEARCHES).map(|_| request(&mut dice, &words)).collect();

    let before = resident();
    let (mut index, mut pieces) = build(&tools);
    let memory = resident().saturating_sub(before);
    for _ in 0..4 {
        for (best, again) in pieces.iter_mut().zip(build(&tools).1) {
            *best = again.min(*best);
        }
    }
    let built: Duration = pieces.iter().sum();

    let mut times: Vec<Duration> = requests
        .iter()
        .map(|request| {
            // The best of three, so that what else the machine does is not measured.
            let times = (0..3).map(|_| {
                let start = Instant::now();
                black_box(index.search(request, 10));
                start.elapsed()
            });
            times.min().unwrap_or_default()
        })
        .collect();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];

    let start = Instant::now();
    let server: Vec<Tool> = tools.iter().filter(|tool| tool.server == tools[0].server).cloned().collect();
    index.replace(&tools[0].server, &server);
    let replaced = start.elapsed();

    println!("{TOOLS} tools of {SERVERS} servers, {SEARCHES} requests of 3 to 60 words");
    let rows = [
        ("indexed in", millis(built), millis(BUILD), "ms"),
        ("searched in, p99", millis(at(0.99)), millis(SEARCH), "ms"),
        ("memory of the index", mebibytes(memory), mebibytes(MEMORY), "MiB"),
    ];
    let mut held = true;
    for (what, value, bar, unit) in rows {
        held &= value < bar;
        println!("  {what:20} {value:>9.2} {unit:3}   {} {bar:.0} {unit}", verdict(value < bar));
    }
    println!("  {:20} {:>9.2} ms", "searched in, p50", millis(at(0.5)));
    println!("  {:20} {:>9.2} ms   ({} tools)", "one server replaced", millis(replaced), server.len());
    with_vectors(&mut dice, &index, &tools, &requests);
    held
}

/// What a second opinion costs beside the words: cosines with all tools for each part of a request, mixed in.
fn with_vectors(dice: &mut Dice, index: &Index, tools: &[Tool], requests: &[String]) {
    let mut vector = || Vector::new(&(0..384).map(|_| dice.below(2001) as f32 - 1000.0).collect::<Vec<_>>());
    let vectors: Vec<Vector> = tools.iter().map(|_| vector()).collect();
    let memory = (vectors.len() * (384 * 2 + size_of::<Vector>())) as u64;
    let parts: Vec<Vector> = (0..16).map(|_| vector()).collect();
    let ids: Vec<&str> = tools.iter().map(|tool| tool.id.as_str()).collect();
    let mut times: Vec<Duration> = requests
        .iter()
        .take(500)
        .map(|request| {
            let parts = &parts[..index.parts(request).len()];
            let times = (0..3).map(|_| {
                let start = Instant::now();
                let fits: Vec<f32> =
                    vectors.iter().flat_map(|vector| parts.iter().map(|part| part.cosine(vector))).collect();
                let second = Second { ids: &ids, fits: &fits, share: Second::SHARE };
                black_box(index.search_with(request, 10, Some(&second)));
                start.elapsed()
            });
            times.min().unwrap_or_default()
        })
        .collect();
    times.sort_unstable();
    println!("  with vectors of 384 numbers, the request's own vectors not counted:");
    println!("  {:20} {:>9.2} MiB", "memory of vectors", mebibytes(memory));
    println!("  {:20} {:>9.2} ms", "searched in, p50", millis(times[times.len() / 2]));
    println!("  {:20} {:>9.2} ms", "searched in, p99", millis(times[times.len() * 99 / 100]));
}

/// Builds the index, and says how long each piece took: the best of several runs is taken piece by piece, so that what
/// else the machine does is not measured.
fn build(tools: &[Tool]) -> (Index, Vec<Duration>) {
    let mut index = Index::new();
    let pieces = tools.chunks(100).map(|tools| {
        let start = Instant::now();
        tools.iter().for_each(|tool| index.add(tool));
        start.elapsed()
    });
    let pieces = pieces.collect();
    (index, pieces)
}

fn tool(dice: &mut Dice, words: &[String], number: usize) -> Tool {
    let name: Vec<&str> = (0..dice.below(3) + 2).map(|_| dice.pick(words)).collect();
    Tool {
        id: format!("{}-{number}", name.join("_")),
        server: format!("{}-{}", words[number % SERVERS], number % SERVERS),
        name: name.join("_"),
        description: dice.text(words, 10, 60),
        arguments: (0..dice.below(8))
            .map(|_| Argument { name: dice.pick(words).to_owned(), description: dice.text(words, 2, 12) })
            .collect(),
    }
}

fn request(dice: &mut Dice, words: &[String]) -> String {
    let mut request = String::new();
    for _ in 0..dice.below(4) + 1 {
        request.push_str(&dice.text(words, 3, 15));
        request.push_str(". ");
    }
    request
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }

    fn word(&mut self) -> String {
        (0..self.below(6) + 3).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }

    /// Some words are common and most are rare, as in any language.
    fn pick<'w>(&mut self, words: &'w [String]) -> &'w str {
        let (a, b) = (self.below(words.len()) + 1, self.below(words.len()) + 1);
        &words[a * b / (words.len() + 1) * self.below(100) / 100]
    }

    fn text(&mut self, words: &[String], least: usize, most: usize) -> String {
        let count = least + self.below(most - least + 1);
        (0..count).map(|_| self.pick(words)).collect::<Vec<_>>().join(" ")
    }
}

/// What the process holds, where the system says so.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * 4096
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
