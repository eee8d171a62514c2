//! The screen: what it comes to, the sessions, and the turns of the one that is chosen.

use super::model::{Now, Request, Session, Sums};
use crate::render::harmless::{harmless, width};
use crate::render::number::{NONE, estimated, share, thousands};
use deadweight_present::{money, time};
use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};

/// What a person has chosen to see.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The session that is chosen, by its key; without one, the latest turns of all are shown.
    chosen: Option<String>,
    order: Order,
    paused: bool,
    /// Whether keys do anything: not in a frame that is printed.
    printed: bool,
    /// What went wrong when the gateway was asked last.
    pub(super) trouble: Option<String>,
}

/// The order of sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Order {
    #[default]
    Time,
    Tokens,
    Money,
}

impl Order {
    const fn next(self) -> Self {
        match self {
            Self::Time => Self::Tokens,
            Self::Tokens => Self::Money,
            Self::Money => Self::Time,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Time => "last active first",
            Self::Tokens => "most tokens first",
            Self::Money => "dearest first",
        }
    }
}

/// From this width on, sessions are shown with their models.
const ROOM_FOR_MODELS: u16 = 100;

/// The colours of the four slices: those of the dashboard, as far as a terminal has them.
const SLICES: [Color; 4] = [Color::Blue, Color::Yellow, Color::Green, Color::Magenta];

impl View {
    /// For a frame that is printed.
    pub(super) fn printed() -> Self {
        Self { printed: true, ..Self::default() }
    }

    pub(super) const fn paused(&self) -> bool {
        self.paused
    }

    /// A key was pressed; whether it goes on.
    pub(super) fn key(&mut self, key: KeyCode, now: &Now) -> bool {
        match key {
            KeyCode::Char('q') => return false,
            KeyCode::Esc if self.chosen.is_none() => return false,
            KeyCode::Esc => self.chosen = None,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('p') => self.paused = !self.paused,
            KeyCode::Up | KeyCode::Char('k') => self.step(now, -1),
            KeyCode::Down | KeyCode::Char('j') => self.step(now, 1),
            _ => {}
        }
        true
    }

    fn step(&mut self, now: &Now, by: isize) {
        let sessions = self.sorted(now);
        let at = sessions.iter().position(|session| Some(&session.key) == self.chosen.as_ref());
        let next = match at {
            None => 0,
            Some(at) => at.saturating_add_signed(by).min(sessions.len().saturating_sub(1)),
        };
        self.chosen = sessions.get(next).map(|session| session.key.clone());
    }

    fn sorted<'n>(&self, now: &'n Now) -> Vec<&'n Session> {
        let mut sessions: Vec<&Session> = now.sessions.iter().collect();
        match self.order {
            Order::Time => sessions.sort_by_key(|session| std::cmp::Reverse(session.sums.last_ms)),
            Order::Tokens => sessions.sort_by_key(|session| std::cmp::Reverse(session.sums.prompt)),
            Order::Money => sessions.sort_by_key(|session| std::cmp::Reverse(session.sums.nano)),
        }
        sessions
    }
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// The lines of a screen with at most so many turns.
pub(super) fn height(now: &Now, turns: usize) -> u16 {
    let turns = u16::try_from(now.requests.len().min(turns)).unwrap_or(u16::MAX);
    // The summary, the sessions, the legend, the head of the turns, the turns, the last line.
    SUMMARY + sessions(now) + 2 + u16::from(turns > 0) + turns + 1
}

/// The lines that the summary has, with the empty one behind it.
const SUMMARY: u16 = 5;

/// The lines that the sessions have.
fn sessions(now: &Now) -> u16 {
    u16::try_from(now.sessions.len()).unwrap_or(u16::MAX).clamp(1, 10) + 1
}

/// Draws the screen.
pub(super) fn draw(frame: &mut Frame<'_>, now: &Now, view: &mut View) {
    let sessions = sessions(now);
    let [head, middle, turns, foot] = Layout::vertical([
        Constraint::Length(SUMMARY),
        Constraint::Length(sessions),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(summary(now)), head);
    draw_sessions(frame, middle, now, view);
    draw_turns(frame, turns, now, view);
    frame.render_widget(Paragraph::new(foot_line(now, view)), foot);
}

fn summary(now: &Now) -> Vec<Line<'static>> {
    let sums = &now.sums;
    let read =
        sums.prompt.zip(sums.cache_read).map_or_else(|| NONE.to_owned(), |(all, read)| share(read, all));
    let first = format!(
        " last 24 hours: {} turns · {} tok in · {} tok out · {}",
        thousands(sums.turns),
        or_none(sums.prompt),
        or_none(sums.output),
        sums.nano.map_or_else(|| NONE.to_owned(), money::estimated_usd),
    );
    let mut second =
        vec![Span::raw(format!(" cache: {read} read, {} tok written", or_none(sums.cache_write)))];
    if sums.lost_tokens > 0 {
        let lost = format!(" · {} tok lost and read anew", estimated(sums.lost_tokens));
        second.push(Span::styled(lost, Style::new().fg(Color::Yellow)));
    }
    let mut third = vec![Span::raw(format!(
        " bodies unchanged: {} of {}",
        thousands(sums.exchanges - sums.changed.min(sums.exchanges)),
        thousands(sums.exchanges)
    ))];
    if sums.failed > 0 {
        let failed = format!(" · {} failed", thousands(sums.failed));
        third.push(Span::styled(failed, Style::new().fg(Color::Red)));
    }
    let head = Line::styled(format!(" deadweight · {}", harmless(&now.url)), dim());
    vec![head, Line::from(first), Line::from(second), Line::from(third), Line::default()]
}

fn draw_sessions(frame: &mut Frame<'_>, area: Rect, now: &Now, view: &View) {
    if now.sessions.is_empty() {
        let text =
            " Nothing has passed in the last 24 hours. Point an agent here, or: deadweight run -- claude";
        frame.render_widget(Paragraph::new(text).style(dim()), area);
        return;
    }
    let sessions = view.sorted(now);
    // Where there is little room the model gives way, never the numbers.
    let models = area.width >= ROOM_FOR_MODELS;
    let mut most = [5, 8, 9, 6, 9, 10];
    let rows: Vec<Row<'_>> = sessions
        .iter()
        .map(|session| {
            let sums: &Sums = &session.sums;
            let read = sums
                .prompt
                .zip(sums.cache_read)
                .map_or_else(|| NONE.to_owned(), |(all, read)| share(read, all));
            let mut cells =
                vec![left(&short(&session.key, 12)), left(session.agent.as_deref().unwrap_or(NONE))];
            if models {
                cells.push(left(session.model.as_deref().unwrap_or(NONE)));
            }
            let numbers = [
                thousands(sums.turns),
                session.floor.map_or_else(|| NONE.to_owned(), estimated),
                session.total.map_or_else(|| NONE.to_owned(), estimated),
                read,
                sums.nano.map_or_else(|| NONE.to_owned(), money::estimated_usd),
                sums.last_ms.map_or_else(|| NONE.to_owned(), |ms| time::ago(ms, now.now_ms)),
            ];
            widen(&mut most, &numbers);
            cells.extend(numbers.map(right));
            Row::new(cells)
        })
        .collect();
    let mut widths = vec![Constraint::Length(13), Constraint::Length(11)];
    let mut names = vec![left("session"), left("agent")];
    if models {
        widths.push(Constraint::Fill(1));
        names.push(left("model"));
    }
    widths.extend(most.map(Constraint::Length));
    names.extend(["turns", "floor", "total", "cached", "money", "last"].map(right));
    let head = Row::new(names);
    let table = Table::new(rows, widths)
        .header(head.style(dim()))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::default();
    state.select(sessions.iter().position(|session| Some(&session.key) == view.chosen.as_ref()));
    frame.render_stateful_widget(table, inset(area), &mut state);
}

fn draw_turns(frame: &mut Frame<'_>, area: Rect, now: &Now, view: &View) {
    let of_chosen = |request: &&Request| view.chosen.as_ref().is_none_or(|key| request.session == *key);
    let requests: Vec<&Request> = now.requests.iter().filter(of_chosen).collect();
    if requests.is_empty() {
        return;
    }
    let most = requests.iter().filter_map(|one| one.slices).map(|slices| slices.iter().sum::<u64>()).max();
    let bar = usize::from(area.width.saturating_sub(66)).clamp(8, 48);
    let mut most_wide = [4, 10, 9];
    let rows: Vec<Row<'_>> = requests
        .iter()
        .map(|request| {
            let total = request.slices.map(|slices| slices.iter().sum::<u64>());
            let class = request.class.as_deref().unwrap_or(NONE).to_owned();
            let class =
                if request.lost > 0 { format!("{class} −{}", thousands(request.lost)) } else { class };
            let colour = if request.lost > 0 { Style::new().fg(Color::Yellow) } else { Style::new() };
            let bad = request.status.is_none_or(|status| status >= 400) || request.ended != "complete";
            let end = match request.status {
                Some(200) if request.ended == "complete" => String::new(),
                Some(status) => format!("{status} {}", request.ended.replace('_', " ")),
                None => request.ended.replace('_', " "),
            };
            let numbers = [
                request.turn.map_or_else(|| NONE.to_owned(), thousands),
                total.map_or_else(|| NONE.to_owned(), estimated),
                or_none(request.prompt),
            ];
            widen(&mut most_wide, &numbers);
            let [turn, total, prompt] = numbers.map(right);
            Row::new([
                left(&time::clock(request.at_ms)),
                turn,
                Cell::from(strip(request.slices, most.unwrap_or(1), bar)),
                total,
                prompt,
                left(&class).style(colour),
                left(&end).style(if bad { Style::new().fg(Color::Red) } else { Style::new() }),
            ])
        })
        .collect();
    let [turn, total, prompt] = most_wide;
    let widths = [
        Constraint::Length(8),
        Constraint::Length(turn),
        Constraint::Length(u16::try_from(bar).unwrap_or(48)),
        Constraint::Length(total),
        Constraint::Length(prompt),
        Constraint::Length(18),
        Constraint::Fill(1),
    ];
    let mut legend = vec![Span::raw(" ")];
    for (name, colour) in ["system", "tools", "history", "last message"].into_iter().zip(SLICES) {
        legend.push(Span::styled("■ ", Style::new().fg(colour)));
        legend.push(Span::styled(format!("{name}  "), dim()));
    }
    let [top, rest] = Layout::vertical([Constraint::Length(2), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Paragraph::new(vec![Line::default(), Line::from(legend)]), top);
    let head = ["time", "turn", "what it carries", "tok", "counted", "cache", ""];
    let head = head.into_iter().enumerate().map(|(at, name)| match at {
        1 | 3 | 4 => right(name),
        _ => left(name),
    });
    let table = Table::new(rows, widths).header(Row::new(head.collect::<Vec<_>>()).style(dim()));
    frame.render_widget(table, inset(rest));
}

/// The slices of a request as a bar, as long as its share of the largest request.
fn strip(slices: Option<[u64; 4]>, most: u64, columns: usize) -> Line<'static> {
    let Some(slices) = slices else { return Line::from(NONE) };
    let most = u128::from(most.max(1));
    let mut spans = Vec::new();
    let (mut sum, mut drawn) = (0_u128, 0);
    for (slice, colour) in slices.into_iter().zip(SLICES) {
        sum += u128::from(slice);
        let end = usize::try_from(sum * columns as u128 / most).unwrap_or(columns).min(columns);
        spans.push(Span::styled("█".repeat(end.saturating_sub(drawn)), Style::new().fg(colour)));
        drawn = end.max(drawn);
    }
    Line::from(spans)
}

fn foot_line(now: &Now, view: &View) -> Line<'static> {
    if let Some(trouble) = &view.trouble {
        return Line::styled(format!(" {}", harmless(trouble)), Style::new().fg(Color::Red));
    }
    let estimators = now.estimators.join(", ");
    let who = if estimators.is_empty() { String::new() } else { format!(" ({})", harmless(&estimators)) };
    let basis = format!("≈ estimated{who}, other tokens as the provider counted them");
    if view.printed {
        return Line::styled(format!(" {basis}"), dim());
    }
    let paused = if view.paused { "paused · " } else { "" };
    Line::styled(
        format!(" {paused}q ends · ↑↓ session · s {} · p pauses · {basis}", view.order.word()),
        dim(),
    )
}

fn or_none(number: Option<u64>) -> String {
    number.map_or_else(|| NONE.to_owned(), thousands)
}

/// Makes columns as wide as what stands in them: a number that is cut is another number.
fn widen<const N: usize>(columns: &mut [u16; N], texts: &[String; N]) {
    for (column, text) in columns.iter_mut().zip(texts) {
        *column = (*column).max(u16::try_from(width(text)).unwrap_or(u16::MAX));
    }
}

/// Text from outside, made harmless.
fn left(text: &str) -> Cell<'static> {
    Cell::from(Line::from(harmless(text).into_owned()))
}

fn right(text: impl Into<String>) -> Cell<'static> {
    Cell::from(Line::from(text.into()).right_aligned())
}

/// The beginning of a long key.
fn short(key: &str, characters: usize) -> String {
    match key.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &key[..end]),
        None => key.to_owned(),
    }
}

/// One column from the left.
fn inset(area: Rect) -> Rect {
    Rect { x: area.x.saturating_add(1), width: area.width.saturating_sub(2), ..area }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// The largest sums are shown whole.
    #[test]
    fn no_number_is_cut() {
        let mut now = now();
        for session in &mut now.sessions {
            session.floor = Some(11_184_810);
            session.total = Some(1_011_184_810);
            session.sums.nano = Some(1_117_222_220_000_000);
        }
        let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
        let mut view = View::printed();
        terminal.draw(|frame| draw(frame, &now, &mut view)).unwrap();
        let text: String =
            terminal.backend().buffer().content.iter().map(ratatui::buffer::Cell::symbol).collect();
        for whole in ["≈ 11,184,810 ", "≈ 1,011,184,810 ", "≈ $1,117,222.22 "] {
            assert!(text.contains(whole), "{whole}: {text}");
        }
    }

    fn now() -> Now {
        let request = |at_ms: u64, session: &str, turn, slices, class: &str, lost| Request {
            at_ms,
            session: session.to_owned(),
            turn: Some(turn),
            slices: Some(slices),
            prompt: Some(21_400),
            cache_read: Some(20_000),
            class: Some(class.to_owned()),
            lost,
            status: Some(200),
            ended: "complete".to_owned(),
            changed: false,
        };
        let sums = Sums {
            turns: 38,
            exchanges: 41,
            prompt: Some(2_410_000),
            cache_read: Some(2_190_000),
            cache_write: Some(180_000),
            output: Some(31_000),
            nano: Some(1_120_000_000),
            lost_tokens: 41_200,
            last_ms: Some(86_400_000),
            ..Sums::default()
        };
        let mut failed = request(86_398_000, "b", 1, [900, 0, 0, 300], "first", 0);
        failed.status = Some(529);
        Now {
            url: "http://127.0.0.1:8787".to_owned(),
            now_ms: 86_401_000,
            sessions: vec![
                Session {
                    key: "3f2a9c01-77aa-4e0c".to_owned(),
                    agent: Some("claude-code".to_owned()),
                    model: Some("claude-opus-5-5".to_owned()),
                    floor: Some(16_792),
                    total: Some(63_110),
                    sums: sums.clone(),
                },
                Session { key: "b".to_owned(), ..Session::default() },
            ],
            requests: vec![
                request(86_400_000, "3f2a9c01-77aa-4e0c", 38, [1_900, 14_800, 40_000, 6_000], "append", 0),
                request(
                    86_399_000,
                    "3f2a9c01-77aa-4e0c",
                    37,
                    [1_900, 14_800, 39_000, 900],
                    "tool_set",
                    41_200,
                ),
                failed,
            ],
            sums,
            estimators: vec!["calibrated/1".to_owned()],
        }
    }

    fn text(now: &Now, view: &mut View, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, now, view)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn the_screen() {
        insta::assert_snapshot!(text(&now(), &mut View::default(), 110, 16));
    }

    #[test]
    fn a_printed_frame_is_as_high_as_it_must_be() {
        let now = now();
        let height = height(&now, 2);
        let shown = text(&now, &mut View::printed(), 110, height);
        assert!(shown.contains("tool_set") && !shown.contains("529"), "{shown}");
        assert_eq!(
            shown.lines().filter(|line| line.trim_matches(['"', ' ']).is_empty()).count(),
            2,
            "{shown}"
        );
    }

    #[test]
    fn on_eighty_columns_no_number_is_cut() {
        let shown = text(&now(), &mut View::printed(), 80, 20);
        for number in [
            "≈ $1.12",
            "≈ 16,792",
            "≈ 63,110",
            "2,410,000 tok in",
            "41 of 41",
            "just now",
            "≈ 62,700",
            "21,400",
        ] {
            assert!(shown.contains(number), "{number} in {shown}");
        }
    }

    #[test]
    fn nothing_yet_says_what_to_do() {
        let shown = text(&Now::default(), &mut View::printed(), 100, 8);
        assert!(shown.contains("deadweight run -- claude"), "{shown}");
    }

    #[test]
    fn a_session_can_be_chosen_and_left() {
        let now = now();
        let mut view = View::default();
        assert!(view.key(KeyCode::Down, &now) && view.key(KeyCode::Down, &now));
        let shown = text(&now, &mut view, 110, 16);
        assert!(shown.contains("529") && !shown.contains("tool_set"), "{shown}");
        assert!(view.key(KeyCode::Esc, &now));
        assert!(text(&now, &mut view, 110, 16).contains("tool_set"));
        assert!(!view.key(KeyCode::Esc, &now));
        assert!(!View::default().key(KeyCode::Char('q'), &now));
    }

    #[test]
    fn every_size_of_a_terminal_will_do() {
        for (width, height) in [(1, 1), (20, 3), (60, 10), (300, 100)] {
            text(&now(), &mut View::default(), width, height);
        }
    }
}
