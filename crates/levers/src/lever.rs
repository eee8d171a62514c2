//! The levers by name, and why each may do nothing.

use crate::policy::Profile;
use std::fmt;

/// What a lever may do to what the model knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The model has the same information.
    Lossless,
    /// Something is left out; a guard keeps what is being worked with, and the original can be had back.
    Bounded,
    /// It reaches further, and is on for nobody who did not ask for it.
    OptIn,
}

impl Class {
    /// The name used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lossless => "lossless",
            Self::Bounded => "bounded",
            Self::OptIn => "opt-in",
        }
    }
}

/// When a lever decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timing {
    /// When a block is sent for the first time, and at a cold start.
    FirstSend,
    /// When what the provider has cached of the conversation is known to be gone.
    ColdStart,
    /// At a conversation's first request, for all of it.
    Conversation,
    /// At every request anew: it changes nothing that the provider compares.
    EveryRequest,
    /// When the provider has refused a request.
    Refusal,
}

impl Timing {
    /// The name used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirstSend => "first-send",
            Self::ColdStart => "cold-start",
            Self::Conversation => "conversation",
            Self::EveryRequest => "every-request",
            Self::Refusal => "refusal",
        }
    }
}

/// One way to send less, or to pay less for what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lever {
    /// A body that nobody edits goes as it is, so that the provider's cache holds.
    Passthrough,
    /// Definitions are left out that the user's tool policy could never allow.
    PruneTools,
    /// Tools that are hardly used wait until the provider's own search finds them.
    DeferTools,
    /// Tools that only changed their order go out in the order that is cached.
    SteadyPrefix,
    /// The provider is asked to clear old results itself.
    ServerEdit,
    /// A conversation whose thinking the provider refused goes on without that thinking.
    RecoverBound,
    /// What stands earlier in the same request becomes a pointer to it; a long run of equal lines becomes one line.
    Dedup,
    /// Large results that have scrolled past are cut to head and tail; reads of a file that changed since go first.
    ElideResults,
    /// A long history gives way to a planned view of it: whole rounds are left out, and a note says so.
    CompactHistory,
    /// Cache breakpoints, where the client set none.
    PlaceBreakpoints,
}

impl Lever {
    /// Every lever, in the order in which the planner asks them. A later one never touches what an earlier one put in
    /// place or points to.
    pub const ALL: [Self; 10] = [
        Self::Passthrough,
        Self::PruneTools,
        Self::DeferTools,
        Self::SteadyPrefix,
        Self::ServerEdit,
        Self::RecoverBound,
        Self::Dedup,
        Self::ElideResults,
        Self::CompactHistory,
        Self::PlaceBreakpoints,
    ];

    /// The name used in settings and output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passthrough => "passthrough",
            Self::PruneTools => "prune-tools",
            Self::DeferTools => "defer-tools",
            Self::SteadyPrefix => "steady-prefix",
            Self::ServerEdit => "server-edit",
            Self::RecoverBound => "recover-bound",
            Self::Dedup => "dedup",
            Self::ElideResults => "elide-results",
            Self::CompactHistory => "compact-history",
            Self::PlaceBreakpoints => "place-breakpoints",
        }
    }

    /// The lever of that [`name`](Self::name).
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lever| lever.name() == name)
    }

    /// Its version: another one decides otherwise. What an older version decided is replayed as it was.
    #[must_use]
    pub const fn version(self) -> u16 {
        1
    }

    /// Its number in the journal; never given to another lever.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Passthrough => 0,
            Self::PruneTools => 1,
            Self::SteadyPrefix => 2,
            Self::Dedup => 3,
            Self::ElideResults => 4,
            Self::PlaceBreakpoints => 5,
            Self::CompactHistory => 6,
            Self::DeferTools => 7,
            Self::ServerEdit => 8,
            Self::RecoverBound => 9,
        }
    }

    pub(crate) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|lever| lever.number() == number)
    }

    /// What it may do to what the model knows.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::ElideResults | Self::CompactHistory => Class::Bounded,
            Self::DeferTools | Self::ServerEdit | Self::RecoverBound => Class::OptIn,
            _ => Class::Lossless,
        }
    }

    /// When it decides.
    #[must_use]
    pub const fn timing(self) -> Timing {
        match self {
            Self::Passthrough | Self::PlaceBreakpoints => Timing::EveryRequest,
            Self::PruneTools | Self::DeferTools | Self::SteadyPrefix | Self::ServerEdit => {
                Timing::Conversation
            }
            Self::RecoverBound => Timing::Refusal,
            Self::Dedup => Timing::FirstSend,
            Self::ElideResults | Self::CompactHistory => Timing::ColdStart,
        }
    }

    /// Whether it is on in this profile, if nobody says otherwise.
    #[must_use]
    pub const fn on(self, profile: Profile) -> bool {
        match profile {
            Profile::Faithful => matches!(self, Self::Passthrough),
            Profile::Default => !matches!(self.class(), Class::OptIn),
            Profile::Lean => true,
        }
    }

    /// The part of a request that it makes smaller or cheaper.
    #[must_use]
    pub const fn attacks(self) -> &'static str {
        match self {
            Self::Passthrough => "cache reads of the whole request",
            Self::PruneTools | Self::DeferTools => "tools",
            Self::SteadyPrefix => "cache writes of tools, system and history",
            Self::Dedup => "history and tail",
            Self::ElideResults | Self::CompactHistory | Self::ServerEdit => "history",
            Self::RecoverBound => "refusals of bound thinking",
            Self::PlaceBreakpoints => "cache reads of floor and history",
        }
    }

    /// What the user is told before it acts on anything of theirs.
    #[must_use]
    pub const fn note(self) -> &'static str {
        match self {
            Self::Passthrough => "Nothing is changed.",
            Self::PruneTools => {
                "Tools that your policy denies are not offered to the model. The names that were left out are recorded."
            }
            Self::DeferTools => {
                "Tools that you hardly use are found by the provider's own tool search and not listed in each prompt. The \
                 requests do not get smaller: what is saved shows in the provider's counters. Agents that do not know the \
                 provider's search may not show, or repeat, what it answers."
            }
            Self::ServerEdit => {
                "The provider clears old tool results itself when a conversation gets long. What it clears cannot be had \
                 back, and each time it does so a part of the prompt is written to the cache anew."
            }
            Self::RecoverBound => {
                "Where the provider refuses a conversation because its thinking is bound to another one (so it may be when the \
                 decision journal was lost), that refusal goes to your agent, and from the next request on the provider is asked \
                 to drop such thinking for the rest of the conversation. The model then no longer has what it had thought."
            }
            Self::SteadyPrefix => {
                "When an agent lists the same tools in another order, they are sent in the order in which the provider has \
                 them cached. Where you ask for it, tools that arrive later are told of where they arrive, and wait behind the list."
            }
            Self::Dedup => {
                "A tool result that already stands in the same request is sent as a pointer to it, and a long run of equal \
                 lines as one line and their number."
            }
            Self::ElideResults => {
                "After an idle time, large tool results that lie further back than four messages are sent with their \
                 beginning and end only, and reads of files that changed since are left out. The model is told so in their \
                 place, and can ask for the original, which is kept on this machine."
            }
            Self::CompactHistory => {
                "After an idle time, a conversation of more than 48,000 tokens is sent as a view of itself: what you said first \
                 and last, what the model is at, and as much of the rest as matters most to it. What is left out is listed \
                 in a note that the model can read, and can be asked for; it is kept on this machine."
            }
            Self::PlaceBreakpoints => {
                "The provider is asked to cache what an agent would have it read again each time."
            }
        }
    }

    /// All the reasons for which it may do nothing.
    pub fn reasons(self) -> impl Iterator<Item = StandDown> {
        let common: &[StandDown] = if self == Self::Passthrough { &[] } else { COMMON };
        let decides = !matches!(self, Self::Passthrough | Self::PlaceBreakpoints);
        let journal = decides.then_some(StandDown::JournalUnavailable);
        common.iter().chain(self.own_reasons()).copied().chain(journal)
    }

    /// Those that not every lever has.
    const fn own_reasons(self) -> &'static [StandDown] {
        use StandDown as S;
        match self {
            Self::Passthrough => &[S::Edited],
            Self::PruneTools => &[
                S::Joined,
                S::ThinkingBound,
                S::NoPolicy,
                S::NoTools,
                S::NothingFound,
                S::WouldEmpty,
                S::NotCold,
                S::Pinned,
            ],
            Self::DeferTools => &[
                S::Counting,
                S::NoTools,
                S::UnsupportedDialect,
                S::UnknownModel,
                S::ClientDefers,
                S::NoUse,
                S::Joined,
                S::NothingNew,
                S::WouldEmpty,
                S::UnderThreshold,
            ],
            Self::ServerEdit => &[
                S::ClientEdits,
                S::NoBetas,
                S::UnsupportedDialect,
                S::UnknownModel,
                S::NoTools,
                S::Joined,
                S::NothingNew,
            ],
            Self::RecoverBound => &[
                S::UnsupportedDialect,
                S::NoBetas,
                S::FreeThinking,
                S::NothingRefused,
                S::NotAdaptive,
                S::ClientBinds,
                S::NothingNew,
            ],
            Self::SteadyPrefix => &[
                S::NoTools,
                S::FirstRequest,
                S::SetChanged,
                S::AlreadySteady,
                S::NotCold,
                S::Joined,
                S::ThinkingBound,
            ],
            Self::Dedup => &[
                S::Joined,
                S::ThinkingBound,
                S::ClientEdits,
                S::ServerEdits,
                S::NothingNew,
                S::UnderThreshold,
                S::NothingFound,
            ],
            Self::ElideResults => &[
                S::ReRead,
                S::Joined,
                S::ThinkingBound,
                S::ClientEdits,
                S::ServerEdits,
                S::NotCold,
                S::NoRestorePath,
                S::OriginalsOff,
                S::NothingNew,
                S::UnderThreshold,
                S::NothingFound,
            ],
            Self::CompactHistory => &[
                S::ReRead,
                S::Joined,
                S::ThinkingBound,
                S::ClientEdits,
                S::ServerEdits,
                S::Summarised,
                S::NotCold,
                S::NoRestorePath,
                S::OriginalsOff,
                S::UnknownModel,
                S::NotWorthIt,
                S::NothingNew,
                S::UnderThreshold,
                S::NothingFound,
            ],
            Self::PlaceBreakpoints => &[
                S::UnsupportedDialect,
                S::UnknownModel,
                S::ClientMarks,
                S::OneRequest,
                S::VolatileHead,
                S::UnderThreshold,
                S::NothingFound,
            ],
        }
    }
}

/// The reasons that every lever has which changes anything: what was switched off, what may not or cannot be changed, and what
/// was refused. Whatever a lever decides besides has to be written down; of that only `place-breakpoints` is free.
const COMMON: &[StandDown] = &[
    StandDown::Off,
    StandDown::Signed,
    StandDown::Partial,
    StandDown::TooLarge,
    StandDown::NotJson,
    StandDown::OddShape,
    StandDown::Unproven,
    StandDown::Subscription,
    StandDown::Resting,
];

impl fmt::Display for Lever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal;)+) => {
        /// Why a lever does nothing new.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum StandDown {
            $($(#[doc = $doc])+ $name,)+
        }

        impl StandDown {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The word for it in the ledger and in output.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// What it means, in one sentence.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc,)+).trim_ascii(),)+ }
            }
        }
    };
}

reasons! {
    /// It is switched off.
    Off = "off";
    /// Another lever, or an earlier decision, changed the request.
    Edited = "edited";
    /// The body is signed by the client.
    Signed = "signed_body";
    /// The body only follows on what the provider keeps.
    Partial = "partial_body";
    /// The request has more parts than are looked at.
    TooLarge = "too_large";
    /// The body is not JSON.
    NotJson = "not_json";
    /// The request has something in it that its format does not allow, or a key twice.
    OddShape = "odd_shape";
    /// The format does not have what this works on.
    UnsupportedDialect = "unsupported_dialect";
    /// Nobody has told us of this model.
    UnknownModel = "unknown_model";
    /// The edit could not be proven right; the original was sent.
    Unproven = "unproven";
    /// What would be decided cannot be written down, so it is not done.
    JournalUnavailable = "journal_unavailable";
    /// The traffic is that of a subscription, and nobody allowed it to be changed.
    Subscription = "subscription";
    /// The provider refused an edit of this lever for this account and model.
    Resting = "resting";
    /// Too much of what it cut was asked for again.
    ReRead = "re_read";
    /// The conversation was met in the middle, or what was decided about it is lost.
    Joined = "joined";
    /// The model checks thinking against what stands before it, or it is not known whether it does.
    ThinkingBound = "thinking_bound";
    /// The client has the provider edit or compact the conversation.
    ClientEdits = "client_edits";
    /// The provider edits the conversation, as it was asked to by server-edit.
    ServerEdits = "server_edits";
    /// The header in which it would have to be announced cannot be written.
    NoBetas = "no_betas";
    /// The model does not check thinking against what stands before it.
    FreeThinking = "free_thinking";
    /// The provider has refused no thinking of this conversation.
    NothingRefused = "nothing_refused";
    /// The request turns thinking off or sets it by hand, and nobody has written down how old thinking is dropped then.
    NotAdaptive = "not_adaptive";
    /// The client says itself what becomes of thinking that is bound to something else.
    ClientBinds = "client_binds";
    /// The client keeps tools out of the prompt itself.
    ClientDefers = "client_defers";
    /// Nothing is known of which tools are used.
    NoUse = "no_use";
    /// Tokens are only counted, and the provider counts none of a request that has this.
    Counting = "counting";
    /// The client sums the conversation up, or it was summed up just before.
    Summarised = "summarised";
    /// It would cost more than it saves, or not pay soon enough.
    NotWorthIt = "not_worth_it";
    /// What it would change is cached, and not known to be gone.
    NotCold = "not_cold";
    /// The model has no way to ask for what would be cut.
    NoRestorePath = "no_restore_path";
    /// The keeping of originals is turned off.
    OriginalsOff = "originals_off";
    /// The user has no tool policy.
    NoPolicy = "no_policy";
    /// The request has no tools that it could look at.
    NoTools = "no_tools";
    /// No tool would be left.
    WouldEmpty = "would_empty";
    /// What the policy denies is needed: it was called, or the request names it.
    Pinned = "pinned";
    /// It is the first request, so there is nothing yet to hold it against.
    FirstRequest = "first_request";
    /// Tools came, went or changed: no order helps.
    SetChanged = "set_changed";
    /// They stand as they stood.
    AlreadySteady = "already_steady";
    /// Everything was decided before.
    NothingNew = "nothing_new";
    /// What there is is smaller than the threshold.
    UnderThreshold = "under_threshold";
    /// Large enough things are there, and none of them is one to act on.
    NothingFound = "nothing_found";
    /// The client sets its own breakpoints.
    ClientMarks = "client_marks";
    /// It looks like a conversation of one request.
    OneRequest = "one_request";
    /// The system prompt changes from request to request.
    VolatileHead = "volatile_head";
}

impl fmt::Display for StandDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
