//! Provenance: who counted a number.

use std::fmt;
use std::hash::Hash;
use std::iter::Sum;
use std::marker::PhantomData;
use std::ops::{Add, AddAssign};

use serde::{Serialize, Serializer};

use crate::estimator::{Estimator, EstimatorId};

mod sealed {
    pub trait Sealed {}
}

/// Who counted a number; the parameter of [`Tokens`]. Closed: the four markers of this module are all there are.
pub trait Provenance:
    sealed::Sealed + Copy + Default + Ord + Hash + fmt::Debug + Send + Sync + 'static
{
    /// The same fact as a value, for output.
    const KIND: ProvenanceKind;
}

macro_rules! markers {
    ($($(#[$doc:meta])* $name:ident => $kind:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Provenance for $name {
            const KIND: ProvenanceKind = ProvenanceKind::$kind;
        }
    )*};
}

markers! {
    /// Counted by an estimator of this crate, from bytes or text.
    Estimated => Estimated,
    /// Counted by the provider: its usage counters.
    Observed => Observed,
    /// Counted by ourselves about our own action, such as the bytes an edit took out.
    Witnessed => Witnessed,
    /// Said about what has not happened yet.
    Forecast => Forecast,
}

/// The name of a provenance, as it stands in output: `ESTIMATED`, `OBSERVED`, `WITNESSED`, `FORECAST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProvenanceKind {
    /// See [`Estimated`].
    Estimated,
    /// See [`Observed`].
    Observed,
    /// See [`Witnessed`].
    Witnessed,
    /// See [`Forecast`].
    Forecast,
}

impl ProvenanceKind {
    /// The name in capitals, the same one that is serialised.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Estimated => "ESTIMATED",
            Self::Observed => "OBSERVED",
            Self::Witnessed => "WITNESSED",
            Self::Forecast => "FORECAST",
        }
    }
}

impl fmt::Display for ProvenanceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A number of tokens, with who counted it in its type.
///
/// Numbers of one provenance add up (saturating at [`u64::MAX`]):
///
/// ```
/// use deadweight_estimate::{Estimated, Tokens};
/// let estimated = Tokens::<Estimated>::new(40);
/// let other = Tokens::<Estimated>::new(2);
/// assert_eq!((estimated + other).get(), 42);
/// ```
///
/// Numbers of different provenance do not:
///
/// ```compile_fail,E0308
/// use deadweight_estimate::{Estimated, Observed, Tokens};
/// let estimated = Tokens::<Estimated>::new(40);
/// let other = Tokens::<Observed>::new(2);
/// assert_eq!((estimated + other).get(), 42);
/// ```
///
/// Nor are they summed or compared; this compiles,
///
/// ```
/// use deadweight_estimate::{Estimated, Tokens};
/// let (first, second) = (Tokens::<Estimated>::new(40), Tokens::<Estimated>::new(2));
/// assert!([first, second].into_iter().sum::<Tokens<Estimated>>() > first);
/// ```
///
/// and neither of these does:
///
/// ```compile_fail,E0308
/// use deadweight_estimate::{Estimated, Forecast, Tokens};
/// let (first, second) = (Tokens::<Estimated>::new(40), Tokens::<Forecast>::new(2));
/// assert!(second > first);
/// ```
///
/// ```compile_fail,E0277
/// use deadweight_estimate::{Estimated, Tokens, Witnessed};
/// let (first, second) = (Tokens::<Estimated>::new(40), Tokens::<Estimated>::new(2));
/// assert!([first, second].into_iter().sum::<Tokens<Witnessed>>().get() > 40);
/// ```
///
/// Serialised, it is the bare number; the document around it says the provenance once ([`Stamp`]).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tokens<P: Provenance>(u64, PhantomData<P>);

impl<P: Provenance> Tokens<P> {
    /// No tokens.
    pub const ZERO: Self = Self::new(0);

    /// States that `count` tokens were counted by `P`.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count, PhantomData)
    }

    /// The bare number. What leaves this type has lost its provenance: show it next to [`Self::kind`].
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Who counted.
    #[must_use]
    pub const fn kind(self) -> ProvenanceKind {
        P::KIND
    }

    /// What is left when `other`, of the same provenance, is taken away; `None` if that is less than nothing.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(left) => Some(Self::new(left)),
            None => None,
        }
    }

    /// `self - before` as a signed number of tokens, for a change between two counts of the same provenance.
    /// Saturates at the bounds of `i64`.
    #[must_use]
    pub fn change_from(self, before: Self) -> i64 {
        let change = i128::from(self.0) - i128::from(before.0);
        i64::try_from(change).unwrap_or(if change < 0 { i64::MIN } else { i64::MAX })
    }
}

impl<P: Provenance> Add for Tokens<P> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.0.saturating_add(other.0))
    }
}

impl<P: Provenance> AddAssign for Tokens<P> {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<P: Provenance> Sum for Tokens<P> {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl<'a, P: Provenance> Sum<&'a Self> for Tokens<P> {
    fn sum<I: Iterator<Item = &'a Self>>(iter: I) -> Self {
        iter.copied().sum()
    }
}

impl<P: Provenance> fmt::Debug for Tokens<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, P::KIND)
    }
}

impl<P: Provenance> Serialize for Tokens<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

/// The provenance of a report's numbers as it is written beside them:
/// `{"kind":"ESTIMATED","estimator":"calibrated/1"}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Stamp {
    /// Who counted.
    pub kind: ProvenanceKind,
    /// Which estimator, where one counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimator: Option<EstimatorId>,
}

impl Stamp {
    /// The stamp of numbers counted by `estimator`.
    #[must_use]
    pub fn estimated(estimator: &dyn Estimator) -> Self {
        Self { kind: ProvenanceKind::Estimated, estimator: Some(estimator.id()) }
    }

    /// The stamp of numbers no estimator took part in.
    #[must_use]
    pub const fn of<P: Provenance>() -> Self {
        Self { kind: P::KIND, estimator: None }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.estimator {
            Some(estimator) => write!(f, "{} ({estimator})", self.kind),
            None => write!(f, "{}", self.kind),
        }
    }
}
