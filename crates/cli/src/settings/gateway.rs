//! The settings of the gateway, from all the places where they can be written.

use super::known::Key;
use super::ledger;
use super::proxy::{Env, Flags, Merge, Raw, Warning, Weight, number, switch, text, token, unreadable};
use crate::exit::{self, Trouble};
use deadweight_gateway::Provider;
use deadweight_gateway::edit::Settings as Levers;
use deadweight_gateway::relay::{Config, Secret, Target};
use deadweight_store::{Place, bodies_beside};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the gateway listens when nobody says otherwise.
pub(crate) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);

/// The variables that hold keys, in the order in which they are asked.
const KEYS: [(Provider, &str); 4] = [
    (Provider::Anthropic, "ANTHROPIC_API_KEY"),
    (Provider::OpenAi, "OPENAI_API_KEY"),
    (Provider::Gemini, "GEMINI_API_KEY"),
    (Provider::Gemini, "GOOGLE_API_KEY"),
];

/// The settings that hold.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) config: Config,
    /// How many characters the token has, where there is one.
    pub(crate) token: Option<usize>,
    pub(crate) drain: Duration,
    pub(crate) ledger: Place,
    /// How long the ledger keeps what it records; none for ever.
    pub(crate) retention: Option<Duration>,
    /// Whether bodies are kept.
    pub(crate) keeps_bodies: bool,
    /// What levers may do.
    pub(crate) levers: Levers,
    /// The collector that is told, if one is.
    pub(crate) otlp: Option<String>,
    /// Whether keys were to be held and there is none.
    pub(crate) no_key: bool,
    warnings: Vec<Warning>,
}

impl Gateway {
    /// Takes the settings together: flags before the environment before the project's file before the user's.
    pub(crate) fn resolve(flags: &Flags, env: Env<'_>, directory: &Path) -> Self {
        let mut merge = Merge::of(flags, env, directory);
        let listen = merge.first(Key::Listen, |raw, _| address(raw)).unwrap_or(LISTEN);
        let mut config = Config::new(listen);
        upstreams(&mut merge, &mut config);
        let said = merge.first(Key::GatewayToken, |raw, _| token(raw).map(str::to_owned));
        let token = said.as_deref().map(|token| token.chars().count());
        config.token = said.map(Secret::new);
        config.hosts = merge.first(Key::AllowHost, |raw, _| names(raw)).unwrap_or_default();
        config.origins = merge.first(Key::AllowOrigin, |raw, _| names(raw)).unwrap_or_default();
        let holds = merge.first(Key::HoldKeys, |raw, _| switch(raw)).unwrap_or(false);
        if holds {
            for (provider, variable) in KEYS {
                let known = config.keys.iter().any(|(own, _)| *own == provider);
                if let Some(key) = env(variable).filter(|key| !known && !key.trim().is_empty()) {
                    config.keys.push((provider, Secret::new(key.trim())));
                }
            }
        }
        let drain = merge
            .first(Key::Drain, |raw, _| number(raw))
            .map_or(Duration::from_secs(30), Duration::from_secs);
        let ledger = ledger::place(&mut merge, env);
        let retention = ledger::days(&mut merge).map(ledger::of_days);
        let otlp =
            merge.first(Key::Otlp, |raw, _| text(raw).map(str::to_owned)).filter(|url| !url.is_empty());
        let keeps_bodies = merge.first(Key::KeepBodies, |raw, _| switch(raw)).unwrap_or(false);
        let levers = super::levers::of(&mut merge, directory);
        let no_key = holds && config.keys.is_empty();
        Self {
            config,
            token,
            drain,
            ledger,
            retention,
            keeps_bodies,
            levers,
            otlp,
            no_key,
            warnings: merge.warnings,
        }
    }

    /// The folder that bodies are kept in, if they are.
    pub(crate) fn bodies(&self) -> Option<PathBuf> {
        match &self.ledger {
            Place::File(file) if self.keeps_bodies => Some(bodies_beside(file)),
            _ => None,
        }
    }

    /// Tells a person what is not as they may think, and ends nothing.
    pub(crate) fn warn(&self) {
        let told = self.warnings.iter().filter(|warning| warning.weight < Weight::Ends);
        told.for_each(|warning| exit::warn(&warning.to_string()));
    }

    /// Whether a gateway may start with this.
    pub(crate) fn check(&self) -> Result<(), Trouble> {
        if let Some(ends) = self.warnings.iter().find(|warning| warning.weight == Weight::Ends) {
            return Err(ends.trouble());
        }
        if self.no_key {
            return Err(Trouble::usage("keys are to be held, and there is none")
                .attempt("set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY where the gateway runs"));
        }
        Ok(())
    }

    /// Why a gateway that runs takes nothing of this.
    pub(crate) fn unheard(&self) -> Option<String> {
        let holds = self.warnings.iter().find(|warning| warning.weight >= Weight::Holds);
        holds.map(ToString::to_string).or_else(|| Some(self.check().err()?.reason()))
    }
}

/// The first thing said about each provider counts.
fn upstreams(merge: &mut Merge, config: &mut Config) {
    let mut set: Vec<Provider> = Vec::new();
    for told in merge.told.iter().filter(|told| told.key == Key::Upstream) {
        let named = text(&told.raw).and_then(|text| upstream(text).ok());
        match named {
            Some((provider, target)) if !set.contains(&provider) => {
                config.set_upstream(provider, target);
                set.push(provider);
            }
            Some(_) => {}
            None => merge.warnings.push(unreadable(Key::Upstream, told)),
        }
    }
}

/// `PROVIDER=URL`.
pub(crate) fn upstream(text: &str) -> Result<(Provider, Target), String> {
    let (name, url) = text.split_once('=').ok_or_else(|| "write it as PROVIDER=URL".to_owned())?;
    let provider = Provider::of_name(name.trim()).ok_or_else(|| {
        let names: Vec<&str> = Provider::ALL.iter().map(|provider| provider.name()).collect();
        format!("`{}` is no provider; these are: {}", name.trim(), names.join(", "))
    })?;
    let target = Target::parse(url).map_err(|error| error.to_string())?;
    Ok((provider, target))
}

/// An address as a person writes it: `8787`, `127.0.0.1:8787`, `[::1]:8787`, `localhost:8787`.
pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let plain = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    plain.as_deref().unwrap_or(text).parse().map_err(|_| {
        format!("`{text}` is no address; write a port (8787) or an address with one (127.0.0.1:8787)")
    })
}

fn address(raw: &Raw) -> Option<SocketAddr> {
    match raw {
        Raw::Number(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, u16::try_from(*port).ok()?))),
        _ => parse_listen(text(raw)?).ok(),
    }
}

fn names(raw: &Raw) -> Option<Vec<String>> {
    match raw {
        Raw::List(names) => Some(names.clone()),
        Raw::Text(text) => {
            Some(text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(flags: &[(Key, &str)], env: &'static [(&str, &str)], user: &str) -> Gateway {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("deadweight");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("deadweight.toml"), user).unwrap();
        let flags = Flags { told: flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect() };
        let home = folder.path().to_string_lossy().into_owned();
        let env = move |name: &str| match name {
            "XDG_CONFIG_HOME" => Some(home.clone()),
            _ => env.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned()),
        };
        Gateway::resolve(&flags, &env, &folder.path().join("project"))
    }

    fn asked(gateway: &Gateway, provider: Provider) -> Option<String> {
        let mut all = gateway.config.upstreams.iter();
        all.find(|(own, _)| *own == provider).map(|(_, target)| target.shown().to_owned())
    }

    #[test]
    fn flags_come_before_files_provider_by_provider() {
        let file = "[gateway]\nlisten = 9000\nallow_host = [\"a\", \"b\"]\ndrain = 5\n\
                    [gateway.upstream]\nanthropic = \"https://a.example\"\nopenai = \"https://o.example\"\nbad = \"x\"\n";
        let gateway = resolved(&[(Key::Upstream, "anthropic=http://127.0.0.1:1")], &[], file);
        assert_eq!(gateway.config.listen[0].address, ([127, 0, 0, 1], 9000).into());
        assert_eq!(asked(&gateway, Provider::Anthropic).as_deref(), Some("http://127.0.0.1:1"));
        assert_eq!(asked(&gateway, Provider::OpenAi).as_deref(), Some("https://o.example"));
        assert_eq!(
            asked(&gateway, Provider::Gemini).as_deref(),
            Some("https://generativelanguage.googleapis.com")
        );
        assert_eq!(asked(&gateway, Provider::Bedrock), None);
        assert_eq!((gateway.config.hosts.len(), gateway.drain), (2, Duration::from_secs(5)));
        assert_eq!(gateway.warnings.len(), 1, "{:?}", gateway.warnings);
    }

    #[test]
    fn keys_are_held_only_where_it_is_said() {
        let env = &[
            ("ANTHROPIC_API_KEY", "sk-ant-1"),
            ("GOOGLE_API_KEY", "AIza"),
            ("DEADWEIGHT_TOKEN", "hunter22"),
        ];
        let gateway = resolved(&[], env, "");
        assert!(gateway.config.keys.is_empty() && gateway.config.token.is_some());
        let gateway = resolved(&[(Key::HoldKeys, "1")], env, "");
        let providers: Vec<_> = gateway.config.keys.iter().map(|(provider, _)| *provider).collect();
        assert_eq!(providers, [Provider::Anthropic, Provider::Gemini]);
        assert!(!format!("{gateway:?}").contains("sk-ant-1"));
    }

    #[test]
    fn addresses_are_what_people_write() {
        for (text, expected) in [
            ("8787", "127.0.0.1:8787"),
            ("0", "127.0.0.1:0"),
            ("localhost:1", "127.0.0.1:1"),
            ("[::1]:2", "[::1]:2"),
            ("0.0.0.0:3", "0.0.0.0:3"),
        ] {
            assert_eq!(parse_listen(text).unwrap().to_string(), expected);
        }
        assert!(parse_listen("example.com:80").is_err() && parse_listen("99999").is_err());
    }
}
