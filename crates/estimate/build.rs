//! Lays the vocabularies and the classes of characters out so that nothing is left to load at run time.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo on stdout")]

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use regex_syntax::hir::{Class, HirKind};
use tiktoken::CoreBpe;

#[path = "src/bpe/class.rs"]
mod class;
#[path = "src/bpe/layout.rs"]
mod layout;

/// What puts a character into a class.
const PATTERNS: [(&str, u8); 7] = [
    (r"[\p{Lu}\p{Lt}]", class::UPPER | class::LETTER),
    (r"\p{Ll}", class::LOWER | class::LETTER),
    (r"[\p{Lm}\p{Lo}]", class::UPPER | class::LOWER | class::LETTER),
    (r"\p{M}", class::UPPER | class::LOWER),
    (r"\p{N}", class::NUMBER),
    (r"\s", class::SPACE),
    (r"[\r\n]", class::NEWLINE),
];

fn main() -> Result<(), Box<dyn Error>> {
    for input in ["build.rs", "src/bpe/class.rs", "src/bpe/layout.rs"] {
        println!("cargo::rerun-if-changed={input}");
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    vocabulary(&out.join("o200k.bin"), &tiktoken::encoding::o200k_base(), 199_998)?;
    vocabulary(&out.join("cl100k.bin"), &tiktoken::encoding::cl100k_base(), 100_256)?;
    classes(&out.join("classes.bin"))
}

/// Writes the ordinary tokens of `bpe`, ranks 0 up to `count`.
fn vocabulary(file: &Path, bpe: &CoreBpe, count: u32) -> Result<(), Box<dyn Error>> {
    let tokens: Vec<Vec<u8>> = (0..count).map(|rank| bpe.decode(&[rank])).collect();
    if bpe.vocab_size() != tokens.len() || u64::from(count) > layout::RANKS {
        return Err(format!("{count} tokens were to be {}", bpe.vocab_size()).into());
    }
    let single = tokens.iter().filter(|token| token.len() == 1).count();
    if single != 256 || tokens.iter().any(|token| token.is_empty() || token.len() > layout::LONGEST) {
        return Err("each byte must be a token, and no token empty or too long".into());
    }

    // Two thirds full: a search for what is not there, the common one, ends soon.
    let mut slots = vec![layout::EMPTY; tokens.len() + tokens.len() / 2];
    let mut bytes = Vec::<u8>::new();
    for (rank, token) in (0_u64..).zip(&tokens) {
        let key = layout::Key::of(token);
        let mut slot = key.bits | rank << layout::RANK_BIT;
        if !key.is_whole() {
            slot |= bytes.len() as u64;
            bytes.extend(token);
        }
        let mut index = key.slot(slots.len());
        while slots[index] != layout::EMPTY {
            if key.is_whole() && slots[index] & key.mask == key.bits {
                return Err(format!("token {rank} is there twice").into());
            }
            index = (index + 1) % slots.len();
        }
        slots[index] = slot;
    }
    if bytes.len() as u64 > layout::OFFSETS {
        return Err("there are too many bytes for their places to be written down".into());
    }
    let numbers = [slots.len() as u64].into_iter().chain(slots);
    let mut contents: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
    contents.extend(bytes);
    std::fs::write(file, contents)?;
    Ok(())
}

/// Writes the class of every character: for every 256 of them the number of a page, then the different pages.
fn classes(file: &Path) -> Result<(), Box<dyn Error>> {
    let mut classes = vec![0_u8; class::PAGES * class::PAGE];
    for (pattern, flags) in PATTERNS {
        let hir = regex_syntax::parse(pattern)?;
        let HirKind::Class(Class::Unicode(characters)) = hir.kind() else {
            return Err(format!("{pattern} is no class").into());
        };
        for range in characters.ranges() {
            for class in &mut classes[range.start() as usize..=range.end() as usize] {
                *class |= flags;
            }
        }
    }
    let (mut index, mut pages, mut known) = (Vec::new(), Vec::<u8>::new(), HashMap::new());
    for page in classes.chunks(class::PAGE) {
        let next = known.len();
        let number = *known.entry(page).or_insert_with(|| {
            pages.extend(page);
            next
        });
        index.push(u8::try_from(number)?);
    }
    index.extend(pages);
    std::fs::write(file, index)?;
    Ok(())
}
