//! What surfaces save on the lists of real servers, and on a generated one: every figure gross, net and as break-even.
#![cfg(feature = "surface")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says what is wrong by failing, and its figures are read"
)]

mod lists;

use deadweight_estimate::{calibrated, estimator};
use deadweight_footprint::catalogue::Saving;
use deadweight_mcp::surface::{Choice, Client, Settings, Shape, Surface};
use lists::{definitions, generated, priced, recorded};

fn surface(settings: &Settings, servers: &[(String, Vec<bytes::Bytes>)], aggregate: bool) -> Surface {
    lists::surface(settings, Client::default(), servers, aggregate)
}

fn show(what: &str, saving: &Saving) {
    println!(
        "{what:32} {:6} -> {:6} + {:4}   gross {:5.1} %  net {:5.1} %  break-even {} loads of {}",
        saving.before.tokens.get(),
        saving.after.tokens.get(),
        saving.own.tokens.get(),
        saving.gross.pct,
        saving.net.pct,
        saving.break_even.map_or_else(|| "-".to_owned(), |loads| loads.to_string()),
        saving.load.tokens.get(),
    );
}

#[test]
fn stubs_take_off_what_they_must() {
    let Some(servers) = recorded() else { return };
    let o200k = estimator("o200k").unwrap();
    let settings = Settings::default();

    let aggregate = surface(&settings, &servers, true);
    assert_eq!(aggregate.shape(), Shape::Stubs);
    assert_eq!(aggregate.refused(), None);
    let one = priced(std::slice::from_ref(&aggregate), &*o200k);
    show("stubs, one aggregate", &one);

    let wrapped: Vec<Surface> =
        servers.iter().map(|server| surface(&settings, std::slice::from_ref(server), false)).collect();
    let many = priced(&wrapped, &*o200k);
    for (wrapped, (label, _)) in wrapped.iter().zip(&servers) {
        let saving = priced(std::slice::from_ref(wrapped), &*o200k);
        show(label, &saving);
        assert!(saving.net.tokens >= 0 && saving.net.bytes >= 0, "{label} costs more deferred");
    }
    show("stubs, fourteen wrapped servers", &many);

    let served: usize = servers.iter().flat_map(|(_, tools)| tools).map(|tool| tool.len() + 1).sum();
    let json = |length: usize| 100.0 - 100.0 * length as f64 / served as f64;
    let wrapped_json: usize = wrapped.iter().map(|surface| surface.tools().len()).sum();
    println!(
        "as JSON: {served} B -> {} B ({:.1} %) and {wrapped_json} B ({:.1} %)",
        aggregate.tools().len(),
        json(aggregate.tools().len()),
        json(wrapped_json)
    );

    assert_eq!(one.before.tokens.get(), 74_682);
    assert!(one.net.pct >= 85.0, "one aggregate: {} %", one.net.pct);
    assert!(many.net.pct >= 83.0, "fourteen wrapped servers: {} %", many.net.pct);
    assert!(json(aggregate.tools().len()) >= 72.0 && json(wrapped_json) >= 72.0);
}

#[test]
fn search_lists_three_tools() {
    let Some(servers) = recorded() else { return };
    let settings = Settings { surface: Choice::Search, ..Settings::default() };
    let surface = surface(&settings, &servers, true);
    let saving = priced(std::slice::from_ref(&surface), &*estimator("o200k").unwrap());
    show("search", &saving);
    assert!(definitions(surface.tools()).len() <= 3);
    assert!(saving.after.tokens.get() + saving.own.tokens.get() <= 700);
    assert!(saving.net.pct >= 98.0);
}

#[test]
fn a_generated_server_is_as_light_as_it_must_be() {
    for seed in [1, 4, 20_260_728] {
        let server = [("generated".to_owned(), generated(seed))];
        let surface = surface(&Settings::default(), &server, false);
        for name in ["calibrated", "o200k"] {
            let saving = priced(std::slice::from_ref(&surface), &*estimator(name).unwrap());
            show(&format!("generated, seed {seed}, {name}"), &saving);
            assert!(saving.gross.pct >= 65.0 && saving.net.pct >= 58.0);
        }
        let bytes = priced(std::slice::from_ref(&surface), &calibrated());
        let share = |change: i64| 100.0 * change as f64 / bytes.before.bytes as f64;
        assert!(share(bytes.gross.bytes) >= 65.0 && share(bytes.net.bytes) >= 58.0);
    }
}
