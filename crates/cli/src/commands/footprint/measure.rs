//! What was gathered, priced.

use crate::args::Sort;
use crate::exit::Trouble;
use crate::target::gather::Gathered;
use deadweight_estimate::Estimator;
use deadweight_footprint::catalogue::{self, Catalogue, CatalogueFootprint, Failure, SortBy};
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
    let catalogue = Catalogue { servers: gathered.servers, failures };
    let wanted = !catalogue.servers.is_empty() || gathered.bodies.is_empty();
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
    let troubles = gathered.failed.into_iter().map(|failed| failed.trouble).collect();
    Measured { catalogue, requests, troubles }
}

const fn sort_by(sort: Sort) -> SortBy {
    match sort {
        Sort::Tokens => SortBy::Tokens,
        Sort::Description => SortBy::Description,
        Sort::Schema => SortBy::Schema,
        Sort::Name => SortBy::Name,
    }
}
