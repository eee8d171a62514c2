//! Which file belongs to what: hashes over everything that an answer may depend on.

use super::manifest::Manifest;
use crate::listing::Era;
use crate::spec::{ServerSpec, Transport};
use crate::surface::{Client, Settings};
use crate::text::Text;
use deadweight_lock::{Hash, Lock, Marks};

/// The 64 hexadecimal digits of a text's hash.
pub(super) fn digits(text: &str) -> String {
    Hash::of_text(text).to_string().rsplit(':').next().unwrap_or_default().to_owned()
}

/// What is hashed: parts, each with its length before it, so that no two lists of parts are one text.
#[derive(Default)]
struct Parts(String);

impl Parts {
    fn add(&mut self, part: &str) -> &mut Self {
        self.0.push_str(&part.len().to_string());
        self.0.push(':');
        self.0.push_str(part);
        self
    }

    fn key(&self) -> String {
        digits(&self.0)
    }
}

/// All that a server's list may depend on, as far as it is known before it is asked.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// How it is reached.
    pub spec: &'a ServerSpec,
    /// The era that is spoken.
    pub era: Era,
    /// The protocol version that is asked for.
    pub version: &'a str,
    /// Who asks.
    pub client: &'a Client,
    /// What the client is capable of, as raw JSON text.
    pub capabilities: &'a [u8],
}

/// The key of a server's manifest: 64 hexadecimal digits. What the server is started with is in it, the values of
/// environment variables and headers too; none of it can be read from it.
pub fn manifest_key(circumstances: &Circumstances<'_>) -> String {
    let Circumstances { spec, era, version, client, capabilities } = *circumstances;
    let mut parts = Parts::default();
    parts.add("manifest/1");
    fn pairs(parts: &mut Parts, pairs: &[(String, Text)]) {
        parts.add(&pairs.len().to_string());
        for (name, value) in pairs {
            parts.add(name).add(value.reveal());
        }
    }
    match &spec.transport {
        Transport::Stdio { command, args, env, cwd } => {
            let cwd = cwd.as_ref().map(|cwd| cwd.reveal().to_string_lossy()).unwrap_or_default();
            parts.add("stdio").add(command.reveal()).add(&cwd).add(&args.len().to_string());
            for arg in args {
                parts.add(arg.reveal());
            }
            pairs(&mut parts, env);
        }
        Transport::Http { url, headers } => {
            parts.add("http").add(url.reveal());
            pairs(&mut parts, headers);
        }
        Transport::Sse { url, headers } => {
            parts.add("sse").add(url.reveal());
            pairs(&mut parts, headers);
        }
    }
    parts.add(&client.name).add(&client.version).add(&String::from_utf8_lossy(capabilities));
    parts.add(version).add(match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    });
    parts.key()
}

/// The key of what was decided: over all settings in effect, the lock's policy, the client with its version, and what every
/// server said, `None` where that is not known.
pub fn decision_key(
    settings: &Settings,
    lock: Option<&Lock>,
    client: &Client,
    labels: &[String],
    manifests: &[Option<&Manifest>],
    aggregate: bool,
) -> String {
    let mut parts = Parts::default();
    parts.add("decisions/1").add(if aggregate { "aggregate" } else { "single" });
    let Settings { surface, lazy, eager, budget, optimistic, max_result, reveal, trust, awake, entry } =
        settings;
    parts.add(surface.name()).add(&lazy.to_string()).add(&budget.to_string()).add(optimistic.name());
    parts.add(&max_result.map_or_else(String::new, |max| max.to_string())).add(&reveal.to_string());
    parts.add(trust.name()).add(awake.unwrap_or_default()).add(entry).add(&eager.all().len().to_string());
    for pin in eager.all() {
        parts.add(&pin.text);
    }
    parts.add(client.id()).add(&client.name).add(&client.version).add(client.placeholder());
    policy(&mut parts, lock);
    parts.add(&labels.len().to_string());
    for (index, label) in labels.iter().enumerate() {
        parts.add(label);
        match manifests.get(index).copied().flatten() {
            None => parts.add("unknown"),
            Some(manifest) => {
                parts
                    .add(&String::from_utf8_lossy(&manifest.opening))
                    .add(&String::from_utf8_lossy(&manifest.frame));
                parts.add(&manifest.tools.len().to_string());
                manifest
                    .tools
                    .iter()
                    .fold(&mut parts, |parts, tool| parts.add(&String::from_utf8_lossy(tool)))
            }
        };
    }
    parts.key()
}

/// What a lock says about how tools are shown: marks, rules and hashes; neither prices nor reasons.
fn policy(parts: &mut Parts, lock: Option<&Lock>) {
    let Some(lock) = lock else {
        parts.add("unlocked");
        return;
    };
    fn flags(marks: &Marks) -> String {
        [&marks.eager, &marks.defer, &marks.deny].map(|mark| if mark.is_some() { "1" } else { "0" }).concat()
    }
    parts.add("locked").add(&lock.rules.len().to_string());
    for rule in &lock.rules {
        parts.add(&format!("{:?}", rule.kind)).add(&rule.tool);
    }
    parts.add(&lock.servers.len().to_string());
    for (label, entry) in &lock.servers {
        parts.add(label).add(&flags(&entry.marks));
    }
    parts.add(&lock.tools.len().to_string());
    for (tool, entry) in &lock.tools {
        let hash = entry.price.map_or_else(String::new, |price| price.hash.to_string());
        parts.add(&tool.server).add(&tool.name).add(&flags(&entry.marks)).add(&hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::collections::BTreeSet;

    #[test]
    fn whatever_an_answer_depends_on_is_another_key_and_nothing_can_be_read_from_it() {
        let spec = |args: &[&str], env: &[(&str, &str)]| {
            let mut spec = ServerSpec::stdio("server", args.iter().copied());
            if let Transport::Stdio { env: own, .. } = &mut spec.transport {
                *own = env.iter().map(|(name, value)| ((*name).to_owned(), Text::secret(*value))).collect();
            }
            spec
        };
        let (client, newer) = (Client::new("c", "1"), Client::new("c", "2"));
        let plain = spec(&["a", "b"], &[("KEY", "s3cret")]);
        let circumstances = Circumstances {
            spec: &plain,
            era: Era::Legacy,
            version: "2025-06-18",
            client: &client,
            capabilities: b"{}",
        };
        let of = |spec: &ServerSpec| manifest_key(&Circumstances { spec, ..circumstances });
        let keys = [
            manifest_key(&circumstances),
            of(&spec(&["ab"], &[("KEY", "s3cret")])),
            of(&spec(&["a", "b"], &[("KEY", "other")])),
            of(&spec(&["a", "b", "KEY", "s3cret"], &[])),
            of(&ServerSpec::http("http://127.0.0.1/", [])),
            manifest_key(&Circumstances { client: &newer, ..circumstances }),
            manifest_key(&Circumstances { capabilities: br#"{"roots":{}}"#, ..circumstances }),
            manifest_key(&Circumstances { version: "2025-11-25", ..circumstances }),
            manifest_key(&Circumstances { era: Era::Modern, ..circumstances }),
        ];
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        assert!(keys.iter().all(|key| key.len() == 64 && !key.contains("s3cret")));
        assert_eq!(keys[0], of(&plain.clone().named("label")));
    }

    #[test]
    fn decisions_belong_to_settings_lock_client_and_lists() {
        let settings = Settings::default();
        let client = Client::new("codex-mcp-client", "1");
        let manifest = |tool: &'static str| Manifest {
            era: Era::Legacy,
            version: "2025-06-18".to_owned(),
            opening: Bytes::from_static(b"{}"),
            frame: Bytes::from_static(b"{}"),
            tools: vec![Bytes::from_static(tool.as_bytes())],
        };
        let (one, two) = (manifest("{}"), manifest("[]"));
        let labels = ["a".to_owned()];
        let lock = Lock::new("calibrated/1", "name");
        let other = Settings { budget: 1, ..Settings::default() };
        let key = |settings, lock, client: &Client, labels: &[String], manifest, aggregate| {
            decision_key(settings, lock, client, labels, &[manifest], aggregate)
        };
        let keys = [
            key(&settings, None, &client, &labels, Some(&one), false),
            key(&settings, None, &client, &labels, Some(&one), true),
            key(&other, None, &client, &labels, Some(&one), false),
            key(&settings, Some(&lock), &client, &labels, Some(&one), false),
            key(&settings, None, &Client::new("codex-mcp-client", "2"), &labels, Some(&one), false),
            key(&settings, None, &client, &labels, Some(&two), false),
            key(&settings, None, &client, &labels, None, false),
            key(&settings, None, &client, &["b".to_owned()], Some(&one), false),
        ];
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        assert_eq!(keys[0], key(&settings, None, &client, &labels, Some(&one), false));
    }
}
