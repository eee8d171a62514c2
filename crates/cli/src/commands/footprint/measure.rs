//! What was gathered, priced.

use crate::args::Sort;
use crate::exit::Trouble;
use crate::target::gather::Gathered;
use crate::target::memory;
use deadweight_estimate::Estimator;
use deadweight_footprint::catalogue::{self, Catalogue, CatalogueFootprint, Failure, Server, SortBy};
use deadweight_footprint::memory::MemoryFootprint;
use deadweight_footprint::origin::Origins;
use deadweight_footprint::request::{self, RequestFootprint};
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;

/// The reports, and what could not be measured.
#[derive(Debug)]
pub(crate) struct Measured {
    /// The tools of all servers and lists, if there were any targets of that kind.
    pub(crate) catalogue: Option<CatalogueFootprint>,
    /// The captured requests, each with its label.
    pub(crate) requests: Vec<(String, RequestFootprint)>,
    /// The memory files and skills, if there were any.
    pub(crate) memory: Option<MemoryFootprint>,
    pub(crate) troubles: Vec<Trouble>,
}

/// Prices everything.
pub(crate) fn measure(gathered: Gathered, estimator: &dyn Estimator, sort: Sort) -> Measured {
    let mut origins = Origins::new();
    let mut requests = Vec::new();
    let failures = gathered
        .failed
        .iter()
        .map(|failed| Failure { server: failed.label.clone(), reason: failed.trouble.reason() })
        .collect();
    let mut servers = gathered.servers;
    tell_apart(&mut servers);
    let catalogue = Catalogue { servers, failures };
    let found = &gathered.memory;
    let memory = (!found.is_empty()).then(|| deadweight_footprint::memory::price(found, estimator));
    let wanted = !catalogue.servers.is_empty() || (gathered.bodies.is_empty() && memory.is_none());
    let catalogue = wanted.then(|| {
        let mut report = catalogue::price(&catalogue, estimator);
        report.sort(sort_by(sort));
        report
    });
    if let Some(report) = &catalogue {
        for server in &report.servers {
            let own = report.tools.iter().filter(|tool| tool.server == server.server);
            origins = origins.with_server(&server.server, Some(own.map(|tool| tool.name.clone()).collect()));
        }
    }
    let mut parser = Parser::new();
    for body in gathered.bodies {
        let report = parser.scope(&body.bytes, |document| {
            // It was JSON when its kind was told.
            let document = document.ok()?;
            Some(request::price(&Anatomy::read(document, body.dialect), estimator, &origins))
        });
        if let Some(mut report) = report {
            report.sort(sort_by(sort));
            requests.push((body.label, report));
        }
    }
    let unread = gathered.memory.unread.iter().map(memory::trouble);
    let troubles = gathered.failed.into_iter().map(|failed| failed.trouble).chain(unread).collect();
    Measured { catalogue, requests, memory, troubles }
}

/// Gives servers of one label labels of their own: where they came from, if that tells them apart, else a number.
fn tell_apart(servers: &mut [Server]) {
    let labels: Vec<String> = servers.iter().map(|server| server.label.clone()).collect();
    let sources: Vec<Option<String>> = servers.iter().map(|server| server.source.clone()).collect();
    for (at, server) in servers.iter_mut().enumerate() {
        let same = |other: &usize| labels[*other] == labels[at];
        if (0..labels.len()).filter(same).count() < 2 {
            continue;
        }
        let apart = (0..labels.len()).filter(same).all(|other| other == at || sources[other] != sources[at]);
        match &server.source {
            Some(source) if apart => server.label.clone_from(source),
            _ => server.label = format!("{} #{}", labels[at], (0..=at).filter(same).count()),
        }
    }
}

const fn sort_by(sort: Sort) -> SortBy {
    match sort {
        Sort::Tokens => SortBy::Tokens,
        Sort::Description => SortBy::Description,
        Sort::Schema => SortBy::Schema,
        Sort::Name => SortBy::Name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_one_label_are_told_apart() {
        let server = |label: &str, source: &str| Server {
            label: label.to_owned(),
            source: Some(source.to_owned()),
            ..Server::default()
        };
        let labels = |mut servers: Vec<Server>| {
            tell_apart(&mut servers);
            servers.into_iter().map(|server| server.label).collect::<Vec<_>>()
        };
        let files = vec![server("tools", "a/tools.json"), server("tools", "b/tools.json"), server("x", "x")];
        assert_eq!(labels(files), ["a/tools.json", "b/tools.json", "x"]);
        let twins = vec![server("house", "node"), server("house", "node")];
        assert_eq!(labels(twins), ["house #1", "house #2"]);
    }
}
