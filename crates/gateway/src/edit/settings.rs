//! What an editor is told to do.

use crate::provider::Provider;
use deadweight_levers::{Lever, Policy, Profile};
use sha2::{Digest, Sha256};

/// What an editor is told to do. It can change while it works.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// What the user wants.
    pub policy: Policy,
    /// What the user wants for single providers, in the place of that.
    pub routes: Vec<(Provider, Policy)>,
    /// How many sessions of 10,000 are left as they are, to be held against the others.
    pub holdout: u16,
    /// Whether new decisions are written down. If not, nothing new is decided that would have to be; what was decided
    /// before is still done, until it has not been used for long.
    pub keeps_decisions: bool,
}

impl Settings {
    /// A policy for everything, with decisions.
    #[must_use]
    pub fn of(policy: Policy) -> Self {
        Self { policy, keeps_decisions: true, ..Self::default() }
    }

    /// What holds for a provider.
    #[must_use]
    pub fn policy(&self, provider: Provider) -> &Policy {
        let own = self.routes.iter().find(|(own, _)| *own == provider);
        own.map_or(&self.policy, |(_, policy)| policy)
    }

    /// Whether a session is one of those that are left as they are. The same sessions are, everywhere and always.
    #[must_use]
    pub fn holds_out(&self, session: &str) -> bool {
        let hash = Sha256::digest(session.as_bytes());
        let number = hash.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        number % 10_000 < u64::from(self.holdout)
    }
}

/// The policy that decides nothing.
pub(super) fn faithful() -> Policy {
    Policy { profile: Profile::Faithful, ..Policy::default() }
}

/// Whether some lever may decide something new.
pub(super) fn may_decide(policy: &Policy) -> bool {
    Lever::ALL.into_iter().any(|lever| lever != Lever::Passthrough && policy.on(lever))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_sessions_is_held_out() {
        let of = |holdout| Settings { holdout, ..Settings::default() };
        let held = |holdout| (0..2_000).filter(|n| of(holdout).holds_out(&format!("session-{n}"))).count();
        assert_eq!((held(0), held(10_000)), (0, 2_000));
        assert!((150..250).contains(&held(1_000)), "{}", held(1_000));
        assert!(may_decide(&Policy::default()) && !may_decide(&faithful()));
    }
}
