//! Reports, printed and written.

use super::measure::Measured;
use super::{finish, note};
use crate::args::Footprint;
use crate::exit::{self, Exit, Trouble};
use crate::render::text::View;
use crate::render::{
    html, html_catalogue, html_compare, html_memory, html_request, json, markdown, markdown_memory, text,
    text_compare, text_memory, text_request,
};
use crate::settings::Screen;
use crate::target::file::system;
use deadweight_footprint::compare::{self, Comparison};
use deadweight_footprint::memory::MemoryFootprint;
use maud::Markup;
use std::path::Path;

/// How many tools are listed for a person who did not say.
const TOP: usize = 20;

fn view(args: &Footprint) -> View {
    View {
        screen: Screen::of_stdout(),
        window: args.window,
        quiet: args.global.quiet,
        verbose: args.global.verbose,
    }
}

/// How many of `all` lines are listed for a person. One line is never hidden to say that one line is hidden.
fn listed(args: &Footprint, all: usize) -> usize {
    match args.top.unwrap_or(TOP) {
        0 => all,
        top if all <= top + 1 => all,
        top => top,
    }
}

/// How many lines a file lists: all, unless told otherwise.
fn listed_in_file(args: &Footprint, all: usize) -> usize {
    args.top.filter(|&top| top > 0).unwrap_or(all)
}

/// Prints footprints.
pub(crate) fn footprints(args: &Footprint, measured: Measured) -> Result<Exit, Trouble> {
    let Measured { catalogue, requests, memory, mut troubles } = measured;
    let read = |report: &&MemoryFootprint| !(report.files.is_empty() && report.skills.is_empty());
    let nothing = catalogue.as_ref().is_none_or(|report| report.servers.is_empty())
        && requests.is_empty()
        && !memory.as_ref().is_some_and(|report| read(&report));
    if nothing && !args.json {
        return Ok(finish(&troubles));
    }
    let page = args.html.as_deref().filter(|_| !nothing).map(|file| {
        let mut sections = Vec::new();
        if let Some(report) = &catalogue {
            sections.push(html_catalogue::section(
                report,
                listed_in_file(args, report.tools.len()),
                args.window,
            ));
        }
        for (at, (label, report)) in requests.iter().enumerate() {
            sections.push(html_request::section(&format!("request-{at}"), label, report, args.window));
        }
        sections.extend(memory.as_ref().filter(read).map(|report| html_memory::section(report, args.window)));
        (file, sections)
    });
    let view = view(args);
    let mut out = Vec::new();
    let several = requests.len() + usize::from(catalogue.is_some()) + usize::from(memory.is_some()) > 1;
    if let Some(mut report) = catalogue {
        if args.json {
            let _ = report.keep(listed_in_file(args, report.tools.len()));
            out.push(json::catalogue(&report, several));
        } else {
            let hidden = report.keep(listed(args, report.tools.len()));
            out.push(match args.markdown {
                true => markdown::catalogue(&report, hidden, args.window),
                false => text::catalogue(&report, hidden, &view),
            });
        }
    }
    for (label, mut report) in requests {
        if args.json {
            let _ = report.keep(listed_in_file(args, report.tools.len()));
            out.push(json::text(&report, several));
        } else {
            let top = listed(args, report.tools.len());
            let hidden = report.keep(top);
            out.push(match args.markdown {
                true => markdown::request(&label, &report, hidden, args.window),
                false => text_request::request(&label, &report, hidden, &view),
            });
        }
    }
    if let Some(report) = &memory {
        let listed = |all| listed(args, all);
        match (args.json, args.markdown) {
            (true, _) => out.push(json::memory(report, several)),
            _ if !read(&report) => {}
            (_, true) => out.push(markdown_memory::memory(report, &listed, args.window)),
            _ => out.push(text_memory::memory(report, &listed, &view)),
        }
    }
    if args.json {
        exit::print(&out.join(""))?
    } else {
        exit::print_told(&out.join("\n"))?
    }
    if let Some((file, sections)) = page {
        write_page(args, file, &sections).unwrap_or_else(|trouble| troubles.push(trouble));
    }
    Ok(finish(&troubles))
}

/// Prints two footprints side by side. A side that was not measured whole would make tools seem to be gone,
/// so nothing is compared then.
pub(crate) fn comparison(args: &Footprint, base: &Measured, now: &Measured) -> Result<Exit, Trouble> {
    let troubles: Vec<Trouble> = base.troubles.iter().chain(&now.troubles).cloned().collect();
    if !troubles.is_empty() {
        note(args, "nothing was compared, because one side could not be measured");
        return Ok(finish(&troubles));
    }
    let mut report = compare(base, now)?;
    let page = args.html.as_deref().map(|file| (file, html_compare::section(&report)));
    let all = report.tools.len();
    let out = if args.json {
        let _ = report.keep(listed_in_file(args, all));
        json::text(&report, false)
    } else {
        let hidden = report.keep(listed(args, all));
        let unlisted = (all - report.tools.len()) as u64;
        match args.markdown {
            true => markdown::compare(&report, unlisted, hidden),
            false => text_compare::compare(&report, unlisted, hidden, &view(args)),
        }
    };
    if args.json {
        exit::print(&out)?
    } else {
        exit::print_told(&out)?
    }
    if let Some((file, section)) = page {
        write_page(args, file, &[section])?;
    }
    Ok(Exit::Done)
}

fn compare(base: &Measured, now: &Measured) -> Result<Comparison, Trouble> {
    if base.memory.is_some() || now.memory.is_some() {
        return Err(Trouble::usage("memory files and skills cannot be compared here")
            .attempt("deadweight gate holds them against deadweight.lock"));
    }
    match ((&base.catalogue, base.requests.as_slice()), (&now.catalogue, now.requests.as_slice())) {
        ((Some(base), []), (Some(now), [])) => Ok(compare::catalogues(base, now)),
        ((None, [base]), (None, [now])) => Ok(compare::requests((&base.0, &base.1), (&now.0, &now.1))),
        _ => Err(Trouble::usage("a captured request can only be compared with one captured request")
            .at("base", kinds(base))
            .at("now", kinds(now))
            .attempt("compare tools with tools (servers, lists, configs), or one request with one request")),
    }
}

fn kinds(side: &Measured) -> String {
    let requests = crate::render::number::count(side.requests.len() as u64, "request", "requests");
    match (&side.catalogue, side.requests.is_empty()) {
        (Some(_), true) => "tools".to_owned(),
        (Some(_), false) => format!("tools and {requests}"),
        (None, _) => requests,
    }
}

fn write_page(args: &Footprint, file: &Path, sections: &[Markup]) -> Result<(), Trouble> {
    let page = html::page("deadweight footprint", sections);
    std::fs::write(file, page).map_err(|error| {
        Trouble::unmeasured("the page could not be written")
            .at("file", file.display().to_string())
            .at("system", system(&error))
            .attempt("name a file in a directory that exists and may be written to")
    })?;
    note(args, &format!("wrote {}", file.display()));
    Ok(())
}
