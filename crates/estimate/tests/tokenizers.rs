//! o200k and cl100k against a second, independent implementation.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test may fail, and says what it skips")]

use std::path::PathBuf;

use deadweight_estimate::{BpeEstimator, Counting, Estimator, Surface, Tally, TextCounter, cl100k, o200k};
use proptest::prelude::*;
use serde_json::value::RawValue;

fn oracles() -> [(BpeEstimator, &'static tiktoken_rs::CoreBPE); 2] {
    [(o200k(), tiktoken_rs::o200k_base_singleton()), (cl100k(), tiktoken_rs::cl100k_base_singleton())]
}

fn agree(text: &str) {
    for (estimator, oracle) in oracles() {
        let expected = oracle.encode_ordinary(text).len() as u64;
        assert_eq!(TextCounter::count(&estimator, text), expected, "{} of {text:?}", estimator.id());
    }
}

/// One sentence or list a script, and what tokenizers stumble over.
const TEXTS: &[&str] = &[
    "",
    " ",
    "a",
    "Returns the weather for a city, in degrees Celsius unless `unit` says otherwise.",
    "fn main() {\n    let x: Vec<u64> = (0..1_000).map(|n| n * n).collect();\n\n\n    println!(\"{x:?}\");\n}\n",
    r#"{"type":"object","properties":{"pageId":{"type":"number","enum":[1,2,3]}},"required":["pageId"]}"#,
    "HTTPServerError XMLHttpRequest iPhone McDonald OpenAPI3 snake_case SCREAMING_CASE kebab-case",
    "it's we're I'VE you'LL he'd 'tis IT'S rock'n'roll o'clock ’s ’re ’ve",
    "it'ſ IT'ſ 'ſ",
    "1 12 123 1234 12345 3.14159 1,000,000 0x1F 1e-9 ½ ⅷ ② ٣٤٥ १२३",
    "Größe, Straße, naïve café, Ærøskøbing, Łódź, Đặng Thị, İstanbul, ẞ",
    "Δέκα μικροί άνθρωποι. Съешь ещё этих мягких французских булок. Հայերեն. ქართული ᲥᲐᲠᲗᲣᲚᲘ.",
    "شجرة كبيرة في الحديقة، والكتابُ مُشَكَّلٌ. עברית עם נִקּוּד. فارسی ‌با نیم‌فاصله",
    "नमस्ते दुनिया। தமிழ் எழுத்து. বাংলা লেখা. ไทยไม่มีเว้นวรรค ລາວ မြန်မာ ខ្មែរ བོད་ཡིག",
    "今日は良い天気ですね。カタカナ、ひらがな。漢字混じり文!? 中文没有空格。繁體中文。한국어 띄어쓰기. ᄒᆞᆫ글",
    "ᏣᎳᎩ ꮳꮃꭹ ትግርኛ ᠮᠣᠩᠭᠣᠯ ⵜⵉⴼⵉⵏⴰⵖ 𐐔𐐯𐑅𐐨𐑉𐐯𐐻 𝕬𝖇𝖈 𝟘𝟙𝟚 Dž ǅ ʰ ˁ ª º",
    "👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇯🇵 🫠 ☠️ ❤️‍🔥 ¯\\_(ツ)_/¯ →⇒∀x∈ℝ ©®™ ﷽ \u{1F468}\u{200D}",
    "<|endoftext|>",
    "text <|endoftext|><|im_start|>user\n<|im_end|> <|fim_prefix|> <|endofprompt|> <|endoftext",
    "\0\u{1}\u{2}\u{7}\u{8}\u{b}\u{c}\u{1b}[31mred\u{1b}[0m\u{7f}\u{80}\u{9f}\u{feff}\u{fffe}\u{ffff}\u{10ffff}",
    "a\u{85}b\u{a0}c\u{1680}d\u{2003}e\u{2028}f\u{2029}g\u{202f}h\u{205f}i\u{3000}j\u{200b}k\u{180e}l",
    "e\u{301} a\u{300}\u{316}\u{34f}b \u{301}alone \u{301}\u{301}\u{301} x\u{20dd} \u{903}क",
    "\r\n\r\n \n\t\n  x\r\ry \n \n\n   \t  end   ",
    "   leading, trailing\t\t ",
    "a/b//c///\n/d\n//\n./../\r\n/ !!!\n\n/// ?!\r\r/",
    "'s's's 't'T''d'D'll'Ll'lL're'RE've'VE'm'M",
    "\u{202e}right-to-left override\u{202c} \u{200f}\u{200e}",
    "________________________________________________________________________",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

#[test]
fn own_texts_count_alike() {
    for text in TEXTS {
        agree(text);
    }
    // Side by side, their edges meet.
    for (left, right) in TEXTS.iter().zip(TEXTS.iter().skip(1)) {
        agree(&format!("{left}{right}"));
        agree(&format!("{right}\n{left} "));
    }
}

#[test]
fn every_character_counts_alike() {
    // Each on its own among letters, blanks and digits. Of the large blocks whose characters are all of one kind
    // (Han, Hangul, private use, the higher planes) only the ends are taken, to keep the test short.
    let ranges = [
        '\0'..='㐂',
        '䶽'..='一',
        '鿼'..='가',
        '힠'..='\u{E001}',
        '\u{F8FF}'..='\u{17002}',
        '\u{18CD0}'..='\u{20002}',
    ];
    let all: Vec<char> = ranges.into_iter().flatten().collect();
    for group in all.chunks(64) {
        let text: String =
            group.iter().flat_map(|c| ['a', *c, 'B', ' ', *c, *c, '1', '\'', *c, '\n']).collect();
        agree(&text);
    }
}

#[test]
fn long_runs_count_alike() {
    for unit in ["a", " ", "\n", "=", "7", "ab", " \n", "é", "漢", "👍", "\u{301}", "'s", "aB", "/"] {
        for length in [31, 32, 33, 95, 96, 97, 1_000] {
            agree(&unit.repeat(length));
        }
    }
}

/// A special token's text is ordinary text: several tokens, and no failure.
#[test]
fn special_tokens_are_ordinary_text() {
    for (estimator, oracle) in oracles() {
        for special in oracle.special_tokens() {
            assert!(TextCounter::count(&estimator, special) > 1, "{} of {special}", estimator.id());
        }
    }
}

#[derive(serde::Deserialize)]
struct List {
    tools: Vec<Tool>,
}

#[derive(serde::Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(rename = "inputSchema")]
    schema: Box<RawValue>,
}

/// The recorded `tools/list` results: `$DEADWEIGHT_SHARED`, or `../shared` beside the workspace.
fn recorded() -> Option<PathBuf> {
    let asked = std::env::var_os("DEADWEIGHT_SHARED").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = asked
        .into_iter()
        .chain([beside])
        .flat_map(|root| [root.join("data/toolslist"), root.join("toolslist")])
        .find(|folder| folder.join("SOURCES.md").is_file());
    if folder.is_none() {
        println!("skipped: no recorded tool lists on this machine (set DEADWEIGHT_SHARED)");
    }
    folder
}

#[test]
fn recorded_tools_count_alike_and_sum_to_the_table() {
    let Some(folder) = recorded() else { return };
    let table = std::fs::read_to_string(folder.join("SOURCES.md")).expect("the table can be read");
    let mut files = 0;
    for line in table.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Some(stem), Some(Ok(expected))) = (cells.get(1), cells.get(9).map(|cell| cell.parse::<u64>()))
        else {
            continue;
        };
        let text =
            std::fs::read_to_string(folder.join(format!("{stem}.json"))).expect("the list can be read");
        let list: List = serde_json::from_str(&text).expect("the list is one");
        let estimator = o200k();
        let mut tally = Tally::new(&estimator, Surface::ToolDefinition);
        for tool in &list.tools {
            let schema = tool.schema.get();
            let whole = format!("{}\n{}\n{schema}", tool.name, tool.description);
            for text in [&tool.name, &tool.description, schema, &whole] {
                agree(text);
            }
            tally.add((whole.len() - 2) as u64, || whole.into());
        }
        assert_eq!(tally.tokens().get(), expected, "{stem}");
        assert_eq!(tally.bytes().to_string(), cells.get(8).copied().unwrap_or_default(), "{stem}");
        files += 1;
    }
    assert!(files >= 14, "the table was not understood: {files} files");
}

/// Text as it comes: words and blanks of several scripts, punctuation, digits, and any character at all.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z]{1,12}",
        2 => "[ \\t\\r\\n]{1,4}",
        2 => "[!-/:-@\\[-`{-~]{1,6}",
        1 => "[0-9]{1,7}",
        1 => "'(s|S|t|re|VE|m|ll|d|ſ)",
        1 => "\\PC{1,6}",
        1 => "[\\p{Lu}\\p{Ll}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]{1,8}",
        1 => "[\\p{N}\\p{Z}\\p{C}]{1,4}",
        1 => Just("<|endoftext|>".to_owned()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_counts_alike(text in any_text()) {
        agree(&text);
    }

    /// Every token is at least a byte, and every byte is in a token.
    #[test]
    fn counts_lie_between_nothing_and_the_bytes(text in any_text()) {
        for (estimator, _) in oracles() {
            let tokens = TextCounter::count(&estimator, &text);
            prop_assert!(tokens <= text.len() as u64);
            prop_assert_eq!(tokens == 0, text.is_empty());
        }
    }

    /// A tokenizer's tally is the sum of its parts' counts.
    #[test]
    fn a_tally_is_the_sum_of_the_counts(parts in prop::collection::vec(any_text(), 0..6)) {
        let estimator = o200k();
        let Counting::Text(counter) = estimator.counting() else { panic!("o200k reads text") };
        let mut tally = Tally::new(&estimator, Surface::Prose);
        for part in &parts {
            tally.add(part.len() as u64, || part.as_str().into());
        }
        prop_assert_eq!(tally.tokens().get(), parts.iter().map(|part| counter.count(part)).sum::<u64>());
        prop_assert_eq!(tally.bytes(), parts.iter().map(|part| part.len() as u64).sum::<u64>());
    }
}
