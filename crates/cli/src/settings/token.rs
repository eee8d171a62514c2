//! Tokens that are too short to keep anybody out.

use crate::exit::{self, Trouble};
use std::net::SocketAddr;

/// The fewest characters of a token that cannot be guessed.
const SHORTEST: usize = 16;

/// Whether a token of so many characters may be used: where other machines may ask, a short one is refused; on this machine
/// alone it is told of.
pub(crate) fn check(characters: usize, mut listens: impl Iterator<Item = SocketAddr>) -> Result<(), Trouble> {
    if characters >= SHORTEST {
        return Ok(());
    }
    let what = format!("the token has {characters} characters: it can be guessed");
    let attempt = format!("take one of at least {SHORTEST}, such as `openssl rand -hex 16` prints");
    match listens.find(|address| !address.ip().is_loopback()) {
        Some(open) => Err(Trouble::usage(what).at("listen", open.to_string()).attempt(attempt)),
        None => {
            exit::warn(&format!("{what}; {attempt}"));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_token_is_for_this_machine_alone() {
        let at =
            |text: &str| -> Vec<SocketAddr> { vec!["127.0.0.1:1".parse().unwrap(), text.parse().unwrap()] };
        assert!(check(16, at("0.0.0.0:1").into_iter()).is_ok());
        assert!(check(15, at("[::1]:1").into_iter()).is_ok());
        for open in ["0.0.0.0:1", "192.168.1.2:1", "[::]:1"] {
            let trouble = check(15, at(open).into_iter()).unwrap_err();
            assert!(trouble.what.contains("15 characters"));
        }
    }
}
