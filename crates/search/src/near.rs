//! Names that are nearly the one that was asked for.

use crate::index::Index;

/// A tool whose name is nearly the one asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// The tool.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Letters to put in, leave out, change or swap; 0 when only case, separators or the order of words differ.
    pub distance: usize,
}

impl Index {
    /// The tools whose names are nearly `name`, the nearest first: up to one letter in four is wrong, or only case,
    /// separators or the order of words. A prefix before the tool's own name (`server__tool`) does not count.
    #[must_use]
    pub fn near(&self, name: &str, limit: usize) -> Vec<Near> {
        let asked = plain(name);
        let mut found: Vec<Near> = Vec::new();
        if asked.is_empty() || asked.len() > 128 {
            return found;
        }
        let sorted = sorted_words(self, name);
        for (_, entry) in self.entries() {
            let known = plain(&entry.name);
            let allowed = asked.len().max(known.len()) / 4;
            let prefixed = known.len() >= 4 && asked.ends_with(&known);
            let distance = if prefixed || (!sorted.is_empty() && sorted == sorted_words(self, &entry.name)) {
                Some(0)
            } else {
                distance(&asked, &known, allowed)
            };
            if let Some(distance) = distance {
                found.push(Near { id: entry.id.to_string(), name: entry.name.to_string(), distance });
            }
        }
        found.sort_by(|a, b| a.distance.cmp(&b.distance).then_with(|| a.id.cmp(&b.id)));
        found.truncate(limit);
        found
    }
}

/// Letters and digits, lower case.
fn plain(name: &str) -> Vec<char> {
    name.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn sorted_words(index: &Index, name: &str) -> Vec<String> {
    let mut words = Vec::new();
    index.words.of(&crate::words::normalised(name), |word| {
        if !word.whole {
            words.push(word.written);
        }
    });
    words.sort();
    words
}

/// Whether two words differ by exactly one letter put in, left out, changed, or swapped with its neighbour.
pub(crate) fn one_apart(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    distance(&a, &b, 1) == Some(1)
}

/// How many letters must be put in, left out, changed, or swapped with their neighbour; `None` when more than `most`.
fn distance(a: &[char], b: &[char], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // Three rows of the table of distances between the beginnings of `a` and `b`.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        if row.iter().all(|distance| *distance > most) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|distance| *distance <= most)
}
