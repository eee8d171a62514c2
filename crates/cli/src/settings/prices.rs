//! `[prices]`: what models cost, where a person knows better than the book. Money of such a model is marked as theirs.
//!
//! ```toml
//! [prices."my-model*"]     # dollars for a million tokens
//! input = "2.50"
//! output = "10"
//! cache_read = "0.25"      # where these are missing, the price of input
//! cache_write = "3.125"
//! window = 200_000         # the largest prompt and answer together, in tokens, where the book knows none or another
//! date = "2026-11-20"      # when they were written down
//! ```

use super::file;
use super::proxy::{Env, Warning};
use crate::exit;
use deadweight_price::{Book, Entry, Rate};
use std::ops::Range;
use std::path::Path;
use toml_edit::{Document, Item, TableLike, Value};

/// The name of the table.
pub(super) const TABLE: &str = "prices";

/// What can be said of a model.
const KNOWN: [&str; 6] = ["input", "output", "cache_read", "cache_write", "window", "date"];

/// The book with a person's own prices before those that are built in.
pub(crate) fn book(env: Env<'_>) -> Book {
    let mut prices = Prices::default();
    if let Some(file) = file::of_user(env)
        && let Ok(text) = deadweight_mcp::file::text(&file, file::LARGEST)
    {
        prices.read(&text, &file);
    }
    prices.warnings.iter().for_each(|warning| exit::warn(&warning.to_string()));
    Book::with(prices.entries)
}

#[derive(Debug, Default)]
struct Prices {
    entries: Vec<Entry>,
    warnings: Vec<Warning>,
}

impl Prices {
    /// What cannot be read as a whole is told of where all settings are read.
    fn read(&mut self, text: &str, file: &Path) {
        let Ok(document) = Document::parse(text) else { return };
        let Some(table) = document.get(TABLE).and_then(Item::as_table_like) else { return };
        for (model, item) in table.iter() {
            let span = table.key(model).and_then(toml_edit::Key::span);
            match entry(model, item) {
                Ok(entry) => self.entries.push(entry),
                Err((what, attempt)) => self.warnings.push(Warning::new(
                    format!(
                        "`{TABLE}.{model}`: {what}, and is passed over ({}:{})",
                        file.display(),
                        line(text, span)
                    ),
                    attempt,
                )),
            }
        }
    }
}

fn line(text: &str, span: Option<Range<usize>>) -> usize {
    let start = span.map_or(0, |span| span.start).min(text.len());
    1 + text.as_bytes().iter().take(start).filter(|&&byte| byte == b'\n').count()
}

/// The prices of a model: what is wrong with them, and what to do, where they cannot be read.
fn entry(model: &str, item: &Item) -> Result<Entry, (String, String)> {
    const SHAPE: &str = "write dollars for a million tokens: input = \"2.50\", output = \"10\"";
    let table = item.as_table_like().ok_or(("it is no table".to_owned(), SHAPE.to_owned()))?;
    if let Some((other, _)) = table.iter().find(|(name, _)| !KNOWN.contains(name)) {
        return Err((
            format!("`{other}` is nothing that is known of a model"),
            format!("known here: {}", KNOWN.join(", ")),
        ));
    }
    let rate = |name: &str| -> Result<Option<Rate>, (String, String)> {
        let Some(text) = written(table, name) else { return Ok(None) };
        let rate = Rate::from_usd_per_million(&text);
        rate.map(Some).map_err(|_| (format!("`{name}` is no price"), SHAPE.to_owned()))
    };
    let needed = |name: &str| rate(name)?.ok_or((format!("`{name}` is missing"), SHAPE.to_owned()));
    let date = written(table, "date");
    let entry = Entry::of_user(
        model.to_owned(),
        needed("input")?,
        needed("output")?,
        rate("cache_read")?,
        rate("cache_write")?,
        date.map_or_else(|| "your settings".to_owned(), |date| format!("your settings ({date})")),
    );
    let window = written(table, "window").map(|text| window(&text)).transpose()?;
    Ok(Entry { context: window, ..entry })
}

/// A number of tokens as a person writes it: `200000`, `200_000`, `"200,000"`.
fn window(text: &str) -> Result<u64, (String, String)> {
    let plain = text.trim().replace([',', '_'], "");
    plain.parse().ok().filter(|tokens| *tokens > 0).ok_or_else(|| {
        ("`window` is no number of tokens".to_owned(), "write it as window = 200_000".to_owned())
    })
}

/// A value as it was written: a text, a number, a day.
fn written(table: &dyn TableLike, name: &str) -> Option<String> {
    Some(match table.get(name)?.as_value()? {
        Value::String(text) => text.value().clone(),
        other => other.to_string().trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_price::Day;

    fn prices(text: &str) -> Prices {
        let mut prices = Prices::default();
        prices.read(text, Path::new("deadweight.toml"));
        prices
    }

    #[test]
    fn a_persons_prices_go_before_the_book_and_are_marked() {
        let own = prices(
            "[prices.\"claude-opus-4-8\"]\ninput = \"1\"\noutput = 2.5\ncache_read = 0.1\ndate = 2026-11-20\n\
             [prices.\"house-*\"]\ninput = 3\noutput = \"4\"\n",
        );
        assert!(own.warnings.is_empty(), "{:?}", own.warnings);
        let book = Book::with(own.entries);
        let opus = book.find("claude-opus-4-8-20260101", Day::LAST).unwrap();
        assert_eq!((opus.rates.input.get(), opus.rates.output.get()), (1_000_000, 2_500_000));
        assert_eq!((opus.rates.read.get(), opus.rates.write_5m.get()), (100_000, 1_000_000));
        assert_eq!(opus.date, "your settings (2026-11-20)");
        let house = book.find("house-7b", Day::LAST).unwrap();
        assert_eq!((house.rates.output.get(), &*house.date), (4_000_000, "your settings"));
        // What is not said of a window is as the book has it.
        assert_eq!(book.window("claude-opus-4-8", Day::LAST), Some(1_000_000));
        assert_eq!(book.window("house-7b", Day::LAST), None);
    }

    #[test]
    fn a_window_is_a_number_of_tokens() {
        let of = |text: &str| prices(&format!("[prices.x]\ninput = 1\noutput = 2\nwindow = {text}\n"));
        for text in ["200_000", "\"200,000\"", "200000"] {
            let own = of(text);
            assert_eq!(Book::with(own.entries).window("x", Day::LAST), Some(200_000), "{text}");
        }
        for text in ["0", "-1", "\"200k\"", "1.5", "true"] {
            let own = of(text);
            assert!(own.entries.is_empty(), "{text}");
            assert!(own.warnings[0].to_string().contains("`window` is no number of tokens"), "{text}");
        }
    }

    #[test]
    fn what_is_no_price_is_told_of_with_its_line() {
        let own = prices(
            "[prices]\na = 1\n[prices.b]\ninput = \"x\"\noutput = 1\n[prices.c]\ninput = 1\n[prices.d]\ninput = 1\noutput = 1\ninptu = 2\n",
        );
        let told: Vec<String> = own.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            told.iter().map(|text| text.split(", and").next().unwrap()).collect::<Vec<_>>(),
            [
                "`prices.a`: it is no table",
                "`prices.b`: `input` is no price",
                "`prices.c`: `output` is missing",
                "`prices.d`: `inptu` is nothing that is known of a model",
            ]
        );
        assert!(told[1].contains("deadweight.toml:3"), "{}", told[1]);
        assert!(own.entries.is_empty());
    }
}
