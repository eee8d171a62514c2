//! The editing of requests: what the planner of `deadweight-levers` decides, put between the relay and the decision journal.
//!
//! ```text
//!   relay ── Asked, body ──► Editing ── places ── where it stands, and whether its cache is known to be gone
//!                               │ ◄── desk ◄──► decisions.sqlite (shared with every gateway of this machine)
//!                               │      └ known: the same in memory
//!                               │ ◄── uses ◄── ledger: which tools are used, read beside the path
//!                               ▼
//!                             plan ── records ──► desk: on the disk before the body leaves
//!                               │ ── originals ─► kept, so that they can be had back
//!   relay ◄── Edit ─────────────┘
//!   relay ── answer ──► trail: a refusal makes levers rest; what was not taken is taken back
//! ```
//!
//! - Nothing is waited for where no lever may decide anything and nothing was ever changed: [`Editor::wants`] says no, and
//!   the body streams through.
//! - Whatever fails (a panic, a lock, a disk, time) sends the original. What was decided and sent before is put in place
//!   again whatever the settings are by now, for the provider knows the conversation so.
//! - An edit that has not been written down is not made. One that was written down and not sent is taken back.

mod desk;
mod keys;
mod known;
mod originals;
mod places;
mod refusal;
mod rests;
mod settings;
mod trail;
mod turn;
mod uses;
mod work;

pub use originals::{NoOriginals, Originals};
pub use settings::Settings;

use crate::clock::Clock;
use crate::relay::{Asked, Edit, Editor, OnNote, Work};
use bytes::Bytes;
use deadweight_levers::Lever;
use deadweight_price::Book;
use deadweight_store::{Ledger, Lineage};
use desk::Desk;
use places::Places;
use rests::Rests;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use turn::Turn;
use uses::Uses;
use work::Inner;

/// How long the planning of one request may take.
const PLANNING: Duration = Duration::from_secs(2);
/// How much longer what it decided may take to be written.
const WRITING: Duration = Duration::from_secs(2);

/// How far back conversations are taken up again, and how many of them.
const REMEMBERED_MS: u64 = 14 * 86_400_000;
const MOST_REMEMBERED: u32 = 256;

/// What an editing is started with.
pub struct Setup {
    /// What it is told to do.
    pub settings: Settings,
    /// The decision journal, made where there is none. Without one, nothing is decided that has to be written down.
    pub journal: Option<PathBuf>,
    /// The ledger, for the conversations that are known from before, and for what tools are used.
    pub ledger: Option<PathBuf>,
    /// What models cost, and how large their windows are: the book that is measured by.
    pub book: Arc<Book>,
    /// Keeps what is cut.
    pub originals: Arc<dyn Originals>,
    /// What time it is; the same clock as the relay's.
    pub clock: Clock,
    /// Is told what belongs into a log.
    pub on_note: OnNote,
}

/// Changes requests as the levers decide. Many gateways of a process share one.
#[derive(Clone)]
pub struct Editing {
    inner: Arc<Inner>,
}

impl fmt::Debug for Editing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editing").finish_non_exhaustive()
    }
}

impl Editing {
    /// Opens the journal and takes up the conversations that are known. Neither has to be there.
    pub async fn start(setup: Setup) -> Self {
        let now_ms = (setup.clock)();
        let (remembered, pruned) = match &setup.ledger {
            Some(file) => remembered(file, now_ms).await,
            None => Default::default(),
        };
        let desk = Arc::new(Desk::new(setup.journal, Arc::clone(&setup.on_note)));
        desk.start(now_ms).await;
        let inner = Inner {
            settings: RwLock::new(Arc::new(setup.settings)),
            desk,
            places: Mutex::new(Places::new(&remembered, pruned)),
            rests: Rests::default(),
            book: setup.book,
            uses: Uses::default(),
            originals: setup.originals,
            parsers: Mutex::default(),
            clock: setup.clock,
            on_note: setup.on_note,
        };
        let inner = Arc::new(inner);
        uses::keep(&inner, setup.ledger.as_deref()).await;
        Self { inner }
    }

    /// Is told something else from now on. What was decided stays decided.
    pub fn set(&self, settings: Settings) {
        *self.inner.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        self.inner.uses.may_want();
    }

    /// Lets go of what is not written yet, as the end of the machine would.
    pub(crate) fn forget(&self) {
        self.inner.desk.abandon();
    }

    /// Writes down what is not written yet. To be called when nothing passes any more.
    pub async fn end(&self) {
        self.inner.desk.flush((self.inner.clock)()).await;
    }
}

/// The conversations that a gateway had before, and the sessions in which tools were left out; none where the ledger cannot
/// be read.
async fn remembered(file: &Path, now_ms: u64) -> (Vec<Lineage>, Vec<String>) {
    let since_ms = now_ms.saturating_sub(REMEMBERED_MS);
    let read = async {
        let mut ledger = Ledger::open(file).await.ok()??;
        let lineages = ledger.lineages(since_ms, MOST_REMEMBERED).await.ok()?;
        let pruned = ledger.sessions_edited_by(Lever::PruneTools.name(), since_ms).await.ok()?;
        Some((lineages, pruned))
    };
    read.await.unwrap_or_default()
}

impl Editor for Editing {
    fn wants(&self, asked: &Asked) -> bool {
        if asked.signed {
            return false;
        }
        let settings = self.inner.settings();
        let policy = settings.policy(asked.provider);
        let decides = settings::may_decide(policy) && (!asked.subscription || policy.edit_subscription);
        // What was changed once is that conversation's original.
        decides || self.inner.desk.is_living()
    }

    fn edit(&self, asked: Asked, body: Bytes) -> Work<'static, Edit> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            let turn = Arc::new(Turn::default());
            let mut task = tokio::spawn(inner.edit(asked, body, Arc::clone(&turn)));
            match tokio::time::timeout(PLANNING, &mut task).await {
                Ok(done) => return done.unwrap_or_default(),
                Err(_) if turn.abandon() => return Edit::default(),
                Err(_) => {}
            }
            // It is being written: whether it is must be known, for what is written is done again.
            match tokio::time::timeout(WRITING, task).await {
                Ok(done) => done.unwrap_or_default(),
                Err(_) => {
                    turn.give_up();
                    Edit::default()
                }
            }
        })
    }
}
