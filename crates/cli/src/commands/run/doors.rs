//! The addresses that the agent is given in place of its providers', before the gateway's ports are known.

use deadweight_gateway::Provider;
use deadweight_gateway::relay::{Target, TargetError};
use std::net::SocketAddr;

/// What stands for the port of a door until it is open: no real host has such a name.
pub(super) const HOST: &str = "deadweight-door.invalid";

/// The doors of a run: each is a port of the gateway, with one upstream a provider. A second one is there only where the
/// agent knows two addresses of the same kind of provider.
#[derive(Debug, Default)]
pub(super) struct Doors {
    all: Vec<Vec<(Provider, Target)>>,
}

impl Doors {
    /// The address to give an agent that asks the provider at `base` so far. What the agent puts behind it comes to the
    /// same place as before.
    ///
    /// # Errors
    ///
    /// When that address cannot be asked by the gateway.
    pub(super) fn to(&mut self, provider: Provider, base: &str) -> Result<String, TargetError> {
        // Some clients look whether an address ends in its version.
        let plain = base.trim().trim_end_matches('/');
        let version = ["/v1", "/v1beta"].into_iter().find(|version| plain.ends_with(version));
        let version = version.unwrap_or_default();
        let target = Target::parse(&plain[..plain.len() - version.len()])?;
        let fits =
            |door: &Vec<(Provider, Target)>| door.iter().all(|(own, at)| *own != provider || *at == target);
        let number = self.all.iter().position(fits).unwrap_or_else(|| {
            self.all.push(Vec::new());
            self.all.len() - 1
        });
        if let Some(door) = self.all.get_mut(number)
            && !door.iter().any(|(own, _)| *own == provider)
        {
            door.push((provider, target));
        }
        Ok(format!("{}/{provider}{version}", Self::address(number)))
    }

    /// What stands for the address of a door.
    pub(super) fn address(number: usize) -> String {
        format!("http://{number}.{HOST}")
    }

    /// Where each door leads.
    pub(super) fn all(&self) -> &[Vec<(Provider, Target)>] {
        &self.all
    }
}

/// A text with the real addresses in it.
pub(super) fn opened(text: &str, addresses: &[SocketAddr]) -> String {
    let mut text = text.to_owned();
    if text.contains(HOST) {
        for (number, address) in addresses.iter().enumerate() {
            text = text.replace(&Doors::address(number), &format!("http://{address}"));
        }
    }
    text
}

/// A text for a person who is told what would be.
pub(super) fn foreseen(text: &str) -> String {
    let mut text = text.to_owned();
    for number in 0..16 {
        let port = if number == 0 { "PORT".to_owned() } else { format!("PORT{}", number + 1) };
        text = text.replace(&Doors::address(number), &format!("http://127.0.0.1:{port}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_versions_stay_and_two_upstreams_are_two_doors() {
        let mut doors = Doors::default();
        let mut to = |provider, base: &str| doors.to(provider, base).unwrap();
        assert_eq!(to(Provider::OpenAi, "https://api.openai.com/v1/"), format!("http://0.{HOST}/openai/v1"));
        assert_eq!(
            to(Provider::Anthropic, "https://api.anthropic.com"),
            format!("http://0.{HOST}/anthropic")
        );
        assert_eq!(
            to(Provider::OpenAi, "https://llm.example.com/a/v1"),
            format!("http://1.{HOST}/openai/v1")
        );
        assert_eq!(to(Provider::OpenAi, "https://api.openai.com"), format!("http://0.{HOST}/openai"));
        assert_eq!(doors.all().len(), 2);
        let addresses: Vec<SocketAddr> =
            ["127.0.0.1:1", "127.0.0.1:2"].map(|text| text.parse().unwrap()).into();
        assert_eq!(opened(&format!("x http://1.{HOST}/y"), &addresses), "x http://127.0.0.1:2/y");
        assert_eq!(foreseen(&format!("http://1.{HOST}/y")), "http://127.0.0.1:PORT2/y");
    }

    #[test]
    fn what_cannot_be_asked_is_no_door() {
        let mut doors = Doors::default();
        assert_eq!(doors.to(Provider::OpenAi, "http://llm.example.com/v1"), Err(TargetError::Clear));
        assert_eq!(doors.to(Provider::OpenAi, "https://u:p@llm.example.com"), Err(TargetError::UserInfo));
        assert!(doors.all().is_empty());
    }
}
