//! One question from start to end: connect, shake hands, read every page, take leave.
//!
//! **Which era is tried first.** `initialize` with the newest legacy version, and `server/discover` only
//! when that is answered with an error. The protocol's own advice for stdio is the other order, but a
//! server of the legacy era may die of, or never answer, a method it does not know before `initialize`, and
//! the only way out of that is to wait; whereas a server that knows only the modern era has to answer
//! `initialize` with an error, at once. So this order never waits, and costs modern-only servers one
//! round trip. A server of both eras is asked in the legacy one; what it lists must not depend on that.

use crate::error::{Failure, ListError, Reason};
use crate::link::{Fault, Link};
use crate::listing::{Anomaly, Era, Listing, OnProgress, Options, Progress, ServerInfo, Stage};
use crate::message::{
    self, Answer, Handshake, KNOWN_VERSIONS, METHOD_NOT_FOUND, MODERN_VERSION, Request, RpcError,
};
use crate::meter::Meter;
use crate::pages::Collected;
use crate::spec::{ServerSpec, Transport};
use bytes::Bytes;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval, timeout, timeout_at};

/// A time that nobody waits for: thirty years.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
/// How often progress is told when nothing happens.
const TICK: Duration = Duration::from_millis(500);
/// How long a server that refused `initialize` may take to answer `server/discover`.
const DISCOVER: Duration = Duration::from_secs(10);

/// Asks one server for its tools.
///
/// The future does all its work itself; dropping it ends the server at once. It needs a tokio runtime with
/// time and I/O.
///
/// # Errors
///
/// When the server cannot be started or reached, or does not hand out a whole, well-formed list in time.
pub async fn list(
    spec: &ServerSpec,
    options: &Options,
    on_progress: OnProgress<'_>,
) -> Result<Listing, ListError> {
    list_one(0, spec, options, on_progress).await
}

/// Asks several servers at the same time; the answers come in the order of `specs`. It takes about as long
/// as the slowest one, and one that fails takes nothing from the others.
pub async fn list_all(
    specs: &[ServerSpec],
    options: &Options,
    on_progress: OnProgress<'_>,
) -> Vec<Result<Listing, ListError>> {
    let all = specs.iter().enumerate().map(|(index, spec)| list_one(index, spec, options, on_progress));
    futures_util::future::join_all(all).await
}

/// A callback for those who do not want to know.
pub fn no_progress(_: Progress<'_>) {}

async fn list_one(
    index: usize,
    spec: &ServerSpec,
    options: &Options,
    on_progress: OnProgress<'_>,
) -> Result<Listing, ListError> {
    let meter = Meter::new(index, spec.display_name(), on_progress);
    let mut work = std::pin::pin!(ask(spec, options, &meter));
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = tick.tick() => meter.report(),
        }
    }
}

async fn ask(spec: &ServerSpec, options: &Options, meter: &Meter<'_>) -> Result<Listing, ListError> {
    let mut link = Link::open(&spec.transport, options)
        .map_err(|reason| failure(spec, meter, Stage::Starting, reason, Vec::new()))?;
    let deadline = tokio::time::Instant::from_std(meter.started())
        .checked_add(options.timeout)
        .unwrap_or_else(|| tokio::time::Instant::now() + FOR_EVER);
    let outcome = timeout_at(deadline, converse(&mut link, options, meter)).await.unwrap_or_else(|_| {
        Err(Reason::TimedOut {
            limit: options.timeout,
            waiting_for: meter.waited_for(),
            pages: meter.pages(),
        })
    });
    let (stage, elapsed) = (meter.current_stage(), meter.elapsed());
    meter.stage(Stage::Ending);
    let transport = link.kind();
    let secrets = spec.secrets();
    let stderr = link.close(options.grace).await.map_or_else(Vec::new, |tail| tail.lines(&secrets));
    let told = outcome.map_err(|reason| {
        let mut failure = failure(spec, meter, stage, reason, stderr);
        failure.elapsed = elapsed;
        failure
    })?;
    let scrub = |text: &str| crate::redact::scrub(text, &secrets);
    let own_name = told.handshake.name.as_deref().map(scrub);
    Ok(Listing {
        label: spec
            .label
            .clone()
            .or_else(|| own_name.clone().filter(|name| !name.is_empty()))
            .unwrap_or_else(|| spec.display_name()),
        server_info: own_name
            .map(|name| ServerInfo { name, version: told.handshake.version.as_deref().map(scrub) }),
        era: told.era,
        protocol_version: scrub(&told.version),
        transport,
        instructions: told.handshake.instructions,
        tools: told.tools,
        tools_supported: told.tools_supported,
        pages: told.pages,
        elapsed,
        anomalies: meter.anomalies(&secrets).into_iter().chain(told.duplicates).collect(),
    })
}

fn failure(
    spec: &ServerSpec,
    meter: &Meter<'_>,
    stage: Stage,
    reason: Reason,
    stderr: Vec<String>,
) -> Failure {
    let secrets = spec.secrets();
    let scrub = |text: &str| crate::redact::scrub(text, &secrets);
    let stdout = meter.noise_samples().iter().map(|line| scrub(line)).collect();
    Failure {
        server: crate::harmless::line(&spec.display_name()),
        target: spec.transport.to_string(),
        remote: !matches!(spec.transport, Transport::Stdio { .. }),
        origin: spec.origin.clone(),
        stage,
        elapsed: meter.elapsed(),
        reason: reason.scrubbed(scrub),
        stderr,
        stdout,
        stray_answers: meter.stray_answers(),
    }
}

/// What a whole conversation gave.
struct Told {
    handshake: Handshake,
    era: Era,
    version: String,
    tools: Vec<Bytes>,
    tools_supported: bool,
    pages: usize,
    duplicates: Vec<Anomaly>,
}

/// Hands out the numbers of requests.
#[derive(Default)]
struct Ids(u64);

impl Ids {
    const fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

async fn converse(link: &mut Link, options: &Options, meter: &Meter<'_>) -> Result<Told, Reason> {
    let mut ids = Ids::default();
    for _ in 0..2 {
        match converse_once(link, options, meter, &mut ids).await {
            Ok(told) => return Ok(told),
            Err(Fault::Final(reason)) => return Err(reason),
            Err(Fault::NotStreamable { status, excerpt }) => {
                return Err(Reason::HttpStatus { status, excerpt });
            }
            Err(Fault::SessionGone) => {
                meter.anomaly(Anomaly::SessionRenewed);
                link.forget_session();
            }
        }
    }
    Err(Reason::SessionLost)
}

async fn converse_once(
    link: &mut Link,
    options: &Options,
    meter: &Meter<'_>,
    ids: &mut Ids,
) -> Result<Told, Fault> {
    meter.stage(Stage::Starting);
    let (handshake, era) = shake_hands(link, meter, ids).await?;
    let version = match era {
        Era::Legacy => handshake.versions.first().cloned().unwrap_or_default(),
        Era::Modern => MODERN_VERSION.to_owned(),
    };
    if !KNOWN_VERSIONS.contains(&version.as_str()) {
        let version = crate::harmless::excerpt(version.as_bytes(), 40);
        meter.anomaly(Anomaly::UnknownProtocolVersion { version });
    }
    if era == Era::Legacy {
        link.notify(&message::initialized(), &version).await?;
    }
    meter.stage(Stage::Listing);
    let mut list = Collected::new(options);
    let mut cursor: Option<Bytes> = None;
    loop {
        let raw = cursor.as_deref().map(String::from_utf8_lossy);
        let request = Request::list_tools(ids.next(), raw.as_deref(), &version, era == Era::Modern);
        meter.waiting_for(request.ask.method());
        match link.exchange(&request, meter).await? {
            Answer::Page(page) => {
                cursor = list.add(page)?;
                meter.read(list.pages, list.tools.len());
                if cursor.is_none() {
                    return Ok(told(list, handshake, era, version, true));
                }
            }
            Answer::Error(error) if error.code == METHOD_NOT_FOUND && !handshake.tools && list.pages == 0 => {
                return Ok(told(list, handshake, era, version, false));
            }
            Answer::Error(error) => return Err(refused("tools/list", error).into()),
            Answer::Malformed(detail) => {
                return Err(Reason::Malformed { page: Some(list.pages + 1), detail }.into());
            }
            Answer::Handshake(_) => {
                let detail = "it is a handshake".to_owned();
                return Err(Reason::Malformed { page: Some(list.pages + 1), detail }.into());
            }
        }
    }
}

/// Opens the conversation, in whichever era the server lives.
async fn shake_hands(link: &mut Link, meter: &Meter<'_>, ids: &mut Ids) -> Result<(Handshake, Era), Fault> {
    let request = Request::initialize(ids.next());
    meter.waiting_for(request.ask.method());
    let first = link.exchange(&request, meter).await;
    let refusal = match first {
        Ok(Answer::Handshake(handshake)) => return Ok((handshake, Era::Legacy)),
        Ok(Answer::Error(error)) => refused("initialize", error).into(),
        Ok(Answer::Malformed(detail)) => return Err(Reason::Malformed { page: None, detail }.into()),
        Ok(Answer::Page(_)) => {
            return Err(Reason::Malformed { page: None, detail: "it is a list".to_owned() }.into());
        }
        Err(fault @ Fault::NotStreamable { .. }) => {
            if link.fall_back_to_sse(meter).await? {
                return shake_hands_again(link, meter, ids).await;
            }
            fault
        }
        Err(fault) => return Err(fault),
    };
    let request = Request::discover(ids.next());
    meter.waiting_for(request.ask.method());
    let answer = timeout(DISCOVER, link.exchange(&request, meter)).await;
    meter.waiting_for("initialize");
    match answer {
        Ok(Ok(Answer::Handshake(handshake))) => {
            if handshake.versions.iter().any(|version| version == MODERN_VERSION) {
                Ok((handshake, Era::Modern))
            } else {
                Err(unsupported(&handshake.versions).into())
            }
        }
        Ok(Ok(Answer::Error(error))) if !error.supported.is_empty() => {
            Err(unsupported(&error.supported).into())
        }
        // It is no server of the modern era either. It may still be one of the older transport that answers
        // a POST where its stream is with an error object; else what it said first says more.
        _ if link.may_be_older() && link.fall_back_to_sse(meter).await? => {
            shake_hands_again(link, meter, ids).await
        }
        _ => Err(refusal),
    }
}

/// The handshake of the legacy era, and nothing else.
async fn shake_hands_again(
    link: &mut Link,
    meter: &Meter<'_>,
    ids: &mut Ids,
) -> Result<(Handshake, Era), Fault> {
    let request = Request::initialize(ids.next());
    match link.exchange(&request, meter).await? {
        Answer::Handshake(handshake) => Ok((handshake, Era::Legacy)),
        Answer::Error(error) => Err(refused("initialize", error).into()),
        _ => Err(Reason::Malformed { page: None, detail: "it is no handshake".to_owned() }.into()),
    }
}

fn unsupported(versions: &[String]) -> Reason {
    let shown = versions.iter().take(8).map(|version| crate::harmless::excerpt(version.as_bytes(), 40));
    Reason::UnsupportedProtocol { supported: shown.collect() }
}

fn refused(method: &'static str, error: RpcError) -> Reason {
    let message = crate::harmless::excerpt(error.message.trim().as_bytes(), 300);
    Reason::ServerError { method, code: error.code, message }
}

fn told(list: Collected, handshake: Handshake, era: Era, version: String, tools_supported: bool) -> Told {
    Told {
        handshake,
        era,
        version,
        tools: list.tools,
        tools_supported,
        pages: list.pages,
        duplicates: list.duplicates,
    }
}
