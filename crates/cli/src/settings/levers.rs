//! The settings of the levers, from all the places where they can be written.

use super::known::Key;
use super::proxy::{Env, Flags, Merge, Raw, switch, text, unreadable};
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Lever, Policy, Profile, ToolRule};
use deadweight_lock::{LOCK_FILE, Lock, PolicyKind};
use std::path::Path;

/// Takes the settings together: flags before the environment before the project's file before the user's.
pub(crate) fn resolve(flags: &Flags, env: Env<'_>, directory: &Path) -> Settings {
    of(&mut Merge::of(flags, env, directory), directory)
}

/// The same from what was said.
pub(super) fn of(merge: &mut Merge, directory: &Path) -> Settings {
    let profile = merge.first(Key::Profile, |raw, _| Profile::of_name(text(raw)?.trim()));
    let mut policy = Policy { profile: profile.unwrap_or_default(), ..Policy::default() };
    // The first thing said about each lever counts.
    for (lever, on) in pairs(merge, Key::Lever, |name, value| Some((Lever::of_name(name)?, on_off(value)?))) {
        policy.switches.entry(lever).or_insert(on);
    }
    let mut flag = |key| merge.first(key, |raw, _| switch(raw)).unwrap_or(false);
    policy.edit_bound = flag(Key::ThinkingBound);
    policy.edit_subscription = flag(Key::EditSubscription);
    policy.accept_loss = flag(Key::AcceptLoss);
    policy.elide_at_first_send = flag(Key::ElideFirstSend);
    policy.compact_when_full = flag(Key::CompactWhenFull);
    policy.hour_breakpoints = flag(Key::HourBreakpoints);
    policy.late_tools = flag(Key::LateTools);
    policy.tools = ToolRule { deny: names(merge, Key::Deny), allow: names(merge, Key::Allow) };
    policy.tools.deny.extend(of_lock(&directory.join(LOCK_FILE)));
    let own = super::routes::routes(merge, &policy);
    let holdout = merge.first(Key::Holdout, |raw, _| share(raw)).unwrap_or(0);
    let keeps_decisions = merge.first(Key::Decisions, |raw, _| kept(raw)).unwrap_or(true);
    Settings { policy, routes: own, holdout, keeps_decisions }
}

/// `NAME=VALUE`, with commas or in a list, of all places.
fn pairs<T>(merge: &mut Merge, key: Key, read: impl Fn(&str, &str) -> Option<T>) -> Vec<T> {
    let mut found = Vec::new();
    for told in merge.told.iter().filter(|told| told.key == key) {
        let parts: Option<Vec<&str>> = match &told.raw {
            Raw::Text(text) => Some(text.split(',').collect()),
            Raw::List(texts) => Some(texts.iter().map(String::as_str).collect()),
            _ => None,
        };
        let one = |part: &str| {
            let (name, value) = part.split_once('=')?;
            read(name.trim(), value.trim())
        };
        let all = parts.map(|parts| {
            parts.into_iter().filter(|part| !part.trim().is_empty()).map(one).collect::<Option<Vec<_>>>()
        });
        match all.flatten() {
            Some(all) => found.extend(all),
            None => merge.warnings.push(unreadable(key, told)),
        }
    }
    found
}

/// The names of all places.
fn names(merge: &Merge, key: Key) -> Vec<String> {
    let mut found = Vec::new();
    for told in merge.told.iter().filter(|told| told.key == key) {
        match &told.raw {
            Raw::Text(text) => found.extend(text.split(',').map(|name| name.trim().to_owned())),
            Raw::List(names) => found.extend(names.iter().cloned()),
            Raw::Flag(_) | Raw::Number(_) | Raw::Other => {}
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

pub(super) fn on_off(value: &str) -> Option<bool> {
    match value {
        "on" | "1" | "true" => Some(true),
        "off" | "0" | "false" => Some(false),
        _ => None,
    }
}

/// `NAME=on` or `NAME=off`.
pub(crate) fn parse_lever(text: &str) -> Result<String, String> {
    let known = text.split_once('=').and_then(|(name, value)| {
        Lever::of_name(name.trim())?;
        on_off(value.trim())
    });
    known.map(|_| text.to_owned()).ok_or_else(|| {
        let names: Vec<&str> = Lever::ALL.into_iter().map(Lever::name).collect();
        format!("write it as NAME=on or NAME=off; the levers are {}", names.join(", "))
    })
}

/// A share of sessions, as a person writes it: `10%`, `0.5%`; in 10,000.
pub(crate) fn parse_share(text: &str) -> Result<u16, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match number {
        Some(percent) if (0.0..=100.0).contains(&percent) => Ok((percent * 100.0).round() as u16),
        _ => Err(format!("`{text}` is no share; write it as 10%")),
    }
}

fn share(raw: &Raw) -> Option<u16> {
    match raw {
        Raw::Number(percent) => {
            u16::try_from(*percent).ok().filter(|percent| *percent <= 100).map(|own| own * 100)
        }
        _ => parse_share(text(raw)?).ok(),
    }
}

fn kept(raw: &Raw) -> Option<bool> {
    match raw {
        Raw::Flag(flag) => Some(*flag),
        _ => on_off(text(raw)?.trim()),
    }
}

/// What the project's lock denies, by the names under which agents show such tools (seen in November 2026). A lock that
/// cannot be read denies nothing here; `deadweight gate` tells of it.
fn of_lock(file: &Path) -> Vec<String> {
    let lock = std::fs::read_to_string(file).ok().and_then(|text| deadweight_lock::read(&text).ok());
    lock.map(|lock| denied(&lock)).unwrap_or_default()
}

fn denied(lock: &Lock) -> Vec<String> {
    let shown = |server: &str, tool: &str| {
        [format!("mcp__{server}__{tool}"), format!("mcp_{server}_{tool}"), format!("{server}_{tool}")]
    };
    let servers = lock.servers.iter().filter(|(_, own)| own.marks.deny.is_some());
    let servers = servers.flat_map(|(server, _)| shown(server, "*"));
    let tools = lock.tools.iter().filter(|(_, own)| own.marks.deny.is_some());
    let tools = tools.flat_map(|(key, _)| shown(&key.server, &key.name));
    // A rule without a server holds for the tools of servers, never for an agent's own.
    let rules = lock.rules.iter().filter(|rule| rule.kind == PolicyKind::Deny);
    let rules = rules.map(|rule| format!("mcp__*__{}", rule.tool));
    servers.chain(tools).chain(rules).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_gateway::Provider;

    fn resolved(flags: &[(Key, &str)], env: &'static [(&str, &str)], user: &str) -> Settings {
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
        resolve(&flags, &env, &folder.path().join("project"))
    }

    #[test]
    fn nothing_said_is_the_default_profile_with_decisions() {
        let own = resolved(&[], &[], "");
        assert_eq!(own, Settings::of(Policy::default()));
    }

    #[test]
    fn flags_come_before_variables_before_files_lever_by_lever() {
        let user = "[levers]\nprofile = \"lean\"\naccept_loss = true\nholdout = \"5%\"\ndecisions = \"off\"\n\
                    deny = [\"Web*\"]\nlever = [\"dedup=on\"]\n[levers.routes]\nopenai = \"faithful\"\n";
        let own = resolved(
            &[(Key::Lever, "elide-results=off")],
            &[("DEADWEIGHT_PROFILE", "default"), ("DEADWEIGHT_LEVERS", "elide-results=on, dedup=off")],
            user,
        );
        assert_eq!(own.policy.profile, Profile::Default);
        assert!(!own.policy.on(Lever::ElideResults) && !own.policy.on(Lever::Dedup));
        assert!(own.policy.on(Lever::PruneTools) && own.policy.accept_loss);
        assert_eq!((own.holdout, own.keeps_decisions), (500, false));
        assert_eq!(own.policy.tools.deny, ["Web*"]);
        assert_eq!(own.policy(Provider::OpenAi).profile, Profile::Faithful);
        assert_eq!(own.policy(Provider::Anthropic).profile, Profile::Default);
    }

    #[test]
    fn shares_and_levers_are_what_people_write() {
        assert_eq!(parse_share("10%"), Ok(1_000));
        assert_eq!(parse_share(" 0.5 %"), Ok(50));
        assert!(parse_share("10").is_err() && parse_share("101%").is_err() && parse_share("x%").is_err());
        assert!(
            parse_lever("dedup=off").is_ok() && parse_lever("dedup").is_err() && parse_lever("x=on").is_err()
        );
    }
}
