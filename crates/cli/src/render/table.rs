//! Tables for a terminal: columns measured in terminal cells, numbers to the right and never cut, names
//! to the left and cut in the middle where the width asks for it, a bar in what room is left.

use super::harmless::{cut_middle, width};
use anstyle::Style;
use std::fmt::Write as _;

/// The shortest a name is cut to, however narrow the terminal.
const LEAST_NAME: usize = 12;
/// The widest a bar is drawn.
const WIDEST_BAR: usize = 24;
/// The narrowest room that is worth a bar.
const LEAST_BAR: usize = 6;
/// Between two columns.
const GAP: usize = 2;

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// To the right, never cut: numbers.
    Number,
    /// To the left, cut in the middle when the table is too wide: names.
    Name,
    /// To the left, never cut: short words.
    Word,
}

/// One cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    /// What it says, harmless already.
    pub(crate) text: String,
    /// Its colour, if it carries one.
    pub(crate) style: Style,
    /// Whether it may run on over the empty cells behind it, and is then neither measured nor cut.
    pub(crate) runs_on: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, style: Style::new(), runs_on: false }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// The same cell in another style.
    pub(crate) const fn styled(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// The same cell, running on over the empty cells behind it.
    pub(crate) const fn running_on(mut self) -> Self {
        self.runs_on = true;
        self
    }
}

/// One line: its cells, and the bar behind them.
#[derive(Debug, Clone, Default)]
struct Row {
    cells: Vec<Cell>,
    /// Part and whole.
    bar: Option<(u64, u64)>,
    bar_style: Style,
}

/// A table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Table {
    /// A table with a line of heads.
    pub(crate) fn new(heads: &[(&str, Column)], style: Style) -> Self {
        let cells = heads.iter().map(|&(head, _)| Cell::from(head).styled(style)).collect();
        Self {
            columns: heads.iter().map(|&(_, column)| column).collect(),
            rows: vec![Row { cells, ..Row::default() }],
        }
    }

    /// Adds a line.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row { cells, ..Row::default() });
    }

    /// Adds a line with a bar behind it.
    pub(crate) fn row_with_bar(&mut self, cells: Vec<Cell>, part: u64, whole: u64, style: Style) {
        self.rows.push(Row { cells, bar: Some((part, whole)), bar_style: style });
    }

    /// Draws the table, `indent` columns in, in `columns` columns (without a bound when there is none),
    /// with bars if there are any and `bars` asks for them.
    pub(crate) fn draw(&self, indent: usize, columns: Option<usize>, bars: bool) -> String {
        let natural: Vec<usize> = (0..self.columns.len()).map(|at| self.natural(at)).collect();
        let gaps = GAP * natural.len().saturating_sub(1);
        let widths = match columns {
            Some(columns) => self.fit(&natural, columns.saturating_sub(indent + gaps)),
            None => natural,
        };
        let used = indent + gaps + widths.iter().sum::<usize>();
        let room = columns.unwrap_or(usize::MAX).saturating_sub(used + GAP).min(WIDEST_BAR);
        let bars = bars && room >= LEAST_BAR;
        let mut out = String::new();
        for row in &self.rows {
            self.draw_row(&mut out, row, indent, &widths, bars.then_some(room));
        }
        out
    }

    fn draw_row(&self, out: &mut String, row: &Row, indent: usize, widths: &[usize], room: Option<usize>) {
        let mut line = " ".repeat(indent);
        let mut pending = 0;
        for (at, (cell, &column)) in row.cells.iter().zip(&self.columns).enumerate() {
            let wide = widths.get(at).copied().unwrap_or_default();
            let text = if column == Column::Name && !cell.runs_on {
                cut_middle(&cell.text, wide)
            } else {
                cell.text.as_str().into()
            };
            let fill = wide.saturating_sub(width(&text));
            if column == Column::Number {
                pending += fill;
            }
            if !text.is_empty() {
                line.push_str(&" ".repeat(pending));
                pending = 0;
                let style = cell.style;
                let _ = write!(line, "{style}{text}{style:#}");
            }
            if column != Column::Number {
                pending += fill;
            }
            pending += GAP;
        }
        if let (Some(room), Some((part, whole))) = (room, row.bar) {
            let bar = super::number::bar(part, whole, room);
            if !bar.is_empty() {
                let style = row.bar_style;
                line.push_str(&" ".repeat(pending));
                let _ = write!(line, "{style}{bar}{style:#}");
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }

    fn natural(&self, at: usize) -> usize {
        self.rows
            .iter()
            .filter_map(|row| row.cells.get(at))
            .filter(|cell| !cell.runs_on)
            .map(|cell| width(&cell.text))
            .max()
            .unwrap_or(0)
    }

    /// Takes what is too much from the widest names first.
    fn fit(&self, natural: &[usize], room: usize) -> Vec<usize> {
        let mut widths = natural.to_vec();
        loop {
            let total: usize = widths.iter().sum();
            if total <= room {
                return widths;
            }
            let widest = (0..widths.len())
                .filter(|&at| self.columns.get(at) == Some(&Column::Name) && widths[at] > LEAST_NAME)
                .max_by_key(|&at| widths[at]);
            match widest.and_then(|at| widths.get_mut(at)) {
                Some(width) => *width -= 1,
                None => return widths,
            }
        }
    }
}

/// `text` broken at spaces into lines of at most `columns` columns; the first is indented by `indent`,
/// the others by `hang`. A number stays with its mark and its unit; styles take no room; a word that is
/// too long stands alone.
pub(crate) fn wrap(text: &str, indent: usize, hang: usize, columns: usize) -> String {
    let mut out = " ".repeat(indent);
    let mut at = indent;
    let mut fresh = true;
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let together =
            (1..rest.len()).find(|&next| breakable(rest[next - 1], rest[next])).unwrap_or(rest.len());
        let (chunk, left) = rest.split_at(together);
        rest = left;
        let chunk = chunk.join(" ");
        let wide = width(&anstream::adapter::strip_str(&chunk).to_string());
        if !fresh && at + 1 + wide > columns {
            out.push('\n');
            out.push_str(&" ".repeat(hang));
            at = hang;
            fresh = true;
        }
        if !fresh {
            out.push(' ');
            at += 1;
        }
        out.push_str(&chunk);
        at += wide;
        fresh = false;
    }
    out.push('\n');
    out
}

/// Whether a line may end between two words: not between a number and what belongs to it.
fn breakable(word: &str, next: &str) -> bool {
    const UNITS: [&str; 7] = ["tok", "B", "KB", "%", "B/tok", "tools", "tool"];
    let plain = anstream::adapter::strip_str(word).to_string();
    let next = anstream::adapter::strip_str(next).to_string();
    let unit = next.trim_end_matches([',', '.', ';', ':', ')']);
    let number = plain.ends_with(|c: char| c.is_ascii_digit());
    !(plain.trim_start_matches('(') == "≈" || (number && UNITS.contains(&unit)) || next == "·")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(
            &[("tok", Column::Number), ("tool", Column::Name), ("schema", Column::Number)],
            Style::new(),
        );
        table.row_with_bar(
            vec!["≈ 1,137".into(), "查询数据库".into(), "102".into()],
            1_137,
            1_137,
            Style::new(),
        );
        table.row_with_bar(
            vec!["≈ 112".into(), "👩‍👩‍👧 a_name_that_is_rather_long_indeed".into(), "7".into()],
            112,
            1_137,
            Style::new(),
        );
        table.row(vec!["≈ 3".into(), "2 more".into()]);
        table
    }

    #[test]
    fn columns_line_up_in_cells() {
        insta::assert_snapshot!(sample().draw(2, None, false), @"
            tok  tool                                  schema
        ≈ 1,137  查询数据库                               102
          ≈ 112  👩‍👩‍👧 a_name_that_is_rather_long_indeed       7
            ≈ 3  2 more
        ");
    }

    #[test]
    fn names_give_way_and_bars_take_what_is_left() {
        insta::assert_snapshot!(sample().draw(2, Some(48), true), @"
            tok  tool                           schema
        ≈ 1,137  查询数据库                        102
          ≈ 112  👩‍👩‍👧 a_name_that…er_long_indeed       7
            ≈ 3  2 more
        ");
        insta::assert_snapshot!(sample().draw(2, Some(80), true), @"
            tok  tool                                  schema
        ≈ 1,137  查询数据库                               102  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
          ≈ 112  👩‍👩‍👧 a_name_that_is_rather_long_indeed       7  ▇▇▌
            ≈ 3  2 more
        ");
        for columns in 31..100 {
            for line in sample().draw(2, Some(columns), true).lines() {
                assert!(width(line) <= columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn sentences_are_wrapped_at_spaces() {
        insta::assert_snapshot!(wrap("one two three four five sixsixsixsixsixsixsixsix", 2, 4, 14), @"
        one two
          three four
          five
          sixsixsixsixsixsixsixsix
        ");
    }
}
