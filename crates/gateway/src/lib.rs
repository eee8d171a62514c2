//! The gateway between agents and their providers: it forwards every byte as it is, and tells what passed.
//!
//! - [`advice`]: what can be done about what is carried for nothing.
//! - [`clock`]: what time it is.
//! - [`context`]: the report on a session: what it keeps in its model's window, and what to do about it.
//! - [`edit`]: the levers at work on what passes.
//! - [`exchange`]: what the relay tells of each request and its answer, on copies that share memory with what was
//!   forwarded.
//! - [`live`]: the sessions that were seen lately.
//! - [`local`]: a whole gateway in this process, with a clock of its own.
//! - [`measure`]: what passed, priced and set beside what the provider counted, off the way of what is forwarded.
//! - [`metrics`]: the counters for Prometheus.
//! - [`otlp`]: the same, told to an OpenTelemetry collector.
//! - [`tally`]: what one run of an agent carried, summed up.
//! - [`watching`]: all that looks at what passes, put together.
//! - [`own`]: what the gateway answers itself.
//! - [`pages`]: the dashboard on the ledger, and the same figures as JSON.
//! - [`provider`]: the providers, and what is known of their addresses.
//! - [`relay`]: the reverse proxy.

pub mod advice;
pub mod clock;
pub mod context;
mod conversations;
pub mod edit;
pub mod exchange;
pub mod live;
pub mod local;
pub mod measure;
pub mod metrics;
pub mod otlp;
pub mod own;
pub mod pages;
pub mod provider;
pub mod relay;
pub mod tally;
pub mod watching;

pub use provider::Provider;
