//! `deadweight top`: a running gateway, live in a terminal.

mod draw;
mod model;

use crate::args::Top;
use crate::ask::Gateway;
use crate::exit::{self, Exit, Trouble};
use crate::settings;
use crate::target::gather;
use draw::View;
use model::Now;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How wide a frame is that is printed and not shown, where nobody says how wide the terminal is.
const WIDTH: u16 = 100;
/// How many of the latest requests are asked for.
const LATEST: &str = "50";
/// How many turns are printed at most.
const TURNS: usize = 24;

/// Runs the command.
pub(crate) fn run(args: &Top) -> Result<Exit, Trouble> {
    settings::set_colors(args.global.color);
    gather::enter(args.global.directory.as_deref())?;
    let gateway = Gateway::at(args.url.as_deref())?;
    let mut now = now(&gateway)?;
    if args.once || !std::io::stdout().is_terminal() {
        exit::print(&frame(&now))?;
        return Ok(Exit::Done);
    }
    let mut terminal = ratatui::try_init().map_err(|error| {
        Trouble::unmeasured("the terminal cannot be used")
            .at("system", crate::target::file::system(&error))
            .attempt("print one frame: deadweight top --once")
    })?;
    restore_on_signals();
    let ended = show(args, &gateway, &mut now, &mut terminal);
    ratatui::restore();
    ended.map_err(|error| {
        Trouble::unmeasured("the terminal cannot be used").at("system", crate::target::file::system(&error))
    })?;
    Ok(Exit::Done)
}

/// Gives the terminal back before a signal ends the command.
fn restore_on_signals() {
    #[cfg(unix)]
    std::thread::spawn(|| {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        let ends = async |kind: SignalKind| match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
                kind.as_raw_value()
            }
            Err(_) => std::future::pending().await,
        };
        let number = runtime.block_on(async {
            tokio::select! {
                number = ends(SignalKind::interrupt()) => number,
                number = ends(SignalKind::terminate()) => number,
                number = ends(SignalKind::hangup()) => number,
                number = ends(SignalKind::quit()) => number,
            }
        });
        ratatui::restore();
        std::process::exit(128 + number);
    });
}

/// What goes on now: one question.
fn now(gateway: &Gateway) -> Result<Now, Trouble> {
    let said = gateway.get("sessions", &[("days", "1"), ("latest", LATEST)], "deadweight/sessions/1")?;
    Ok(Now::of(gateway.url(), &said))
}

/// Shows it until a person ends it.
fn show(
    args: &Top,
    gateway: &Gateway,
    now: &mut Now,
    terminal: &mut ratatui::DefaultTerminal,
) -> std::io::Result<()> {
    let mut view = View::default();
    let mut asked = Instant::now();
    loop {
        terminal.draw(|frame| draw::draw(frame, now, &mut view))?;
        let wait = args.interval.saturating_sub(asked.elapsed()).max(Duration::from_millis(50));
        if event::poll(wait)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    let interrupt =
                        key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
                    if interrupt || !view.key(key.code, now) {
                        return Ok(());
                    }
                }
                // Anything else, such as another size, is drawn anew.
                _ => {}
            }
            continue;
        }
        asked = Instant::now();
        if view.paused() {
            continue;
        }
        match self::now(gateway) {
            Ok(fresh) => {
                *now = fresh;
                view.trouble = None;
            }
            // What was seen last stays, and what is wrong is told.
            Err(trouble) => view.trouble = Some(trouble.reason()),
        }
    }
}

/// One frame as text.
fn frame(now: &Now) -> String {
    let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.max(60));
    let mut view = View::printed();
    let height = draw::height(now, TURNS);
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| draw::draw(frame, now, &mut view));
    let buffer = terminal.backend().buffer();
    let lines = buffer.content.chunks(usize::from(width)).map(|cells| {
        let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
