//! `[levers.routes.PROVIDER]`: what holds for one provider in the place of what holds for all of them.
//!
//! ```toml
//! [levers.routes]
//! openai = "faithful"              # a profile alone
//!
//! [levers.routes.anthropic]
//! profile = "lean"
//! elide-results = "off"            # any lever, by its name
//! compact_when_full = true         # any switch of [levers]
//! ```

use super::known::Key;
use super::proxy::{Merge, Raw, Told, Warning, unreadable};
use deadweight_gateway::Provider;
use deadweight_levers::{Lever, Policy, Profile};

/// The name of a route's profile, which may stand alone too.
pub(super) const PROFILE: &str = "profile";

/// Where a switch stands in a policy.
type Switch = fn(&mut Policy) -> &mut bool;

/// The switches of a policy, by their names in the file.
const SWITCHES: [(&str, Switch); 7] = [
    ("thinking_bound", |policy| &mut policy.edit_bound),
    ("edit_subscription", |policy| &mut policy.edit_subscription),
    ("accept_loss", |policy| &mut policy.accept_loss),
    ("elide_first_send", |policy| &mut policy.elide_at_first_send),
    ("compact_when_full", |policy| &mut policy.compact_when_full),
    ("hour_breakpoints", |policy| &mut policy.hour_breakpoints),
    ("late_tools", |policy| &mut policy.late_tools),
];

/// One thing that is said of one provider.
enum Said {
    Profile(Profile),
    Lever(Lever, bool),
    Switch(Switch, bool),
}

/// What holds for single providers: `general`, and what was said of them over it. The first thing said of each counts.
pub(super) fn routes(merge: &mut Merge, general: &Policy) -> Vec<(Provider, Policy)> {
    let mut own: Vec<(Provider, Policy)> = Vec::new();
    let mut known: Vec<(Provider, String)> = Vec::new();
    let mut warnings = Vec::new();
    for told in merge.told.iter().filter(|told| told.key == Key::LeverRoute) {
        let (provider, name, said) = match read(told) {
            Ok(read) => read,
            Err(warning) => {
                warnings.push(warning);
                continue;
            }
        };
        if known.contains(&(provider, name.clone())) {
            continue;
        }
        known.push((provider, name));
        let at = own.iter().position(|(known, _)| *known == provider).unwrap_or_else(|| {
            own.push((provider, general.clone()));
            own.len() - 1
        });
        let Some((_, policy)) = own.get_mut(at) else { continue };
        match said {
            Said::Profile(profile) => policy.profile = profile,
            Said::Lever(lever, on) => {
                policy.switches.insert(lever, on);
            }
            Said::Switch(of, on) => *of(policy) = on,
        }
    }
    merge.warnings.extend(warnings);
    own
}

/// Reads provider, setting and value.
fn read(told: &Told) -> Result<(Provider, String, Said), Warning> {
    let Raw::List(parts) = &told.raw else { return Err(unreadable(Key::LeverRoute, told)) };
    let [route, name, value] = parts.as_slice() else { return Err(unreadable(Key::LeverRoute, told)) };
    let provider = Provider::of_name(route.trim()).ok_or_else(|| {
        let names: Vec<&str> = Provider::ALL.iter().map(|provider| provider.name()).collect();
        unknown(told, &format!("levers.routes.{route}"), "no provider", route, &names)
    })?;
    let place = format!("levers.routes.{route}.{name}");
    let wrong = |what: String, attempt: String| {
        Warning::new(format!("`{place}`: `{value}` is {what}, and is passed over ({})", told.from), attempt)
    };
    let switch = || {
        super::levers::on_off(value.trim()).ok_or_else(|| {
            wrong("neither on nor off".to_owned(), "write \"on\" or \"off\", or true or false".to_owned())
        })
    };
    let (plain, dashed) = (name.replace('-', "_"), name.replace('_', "-"));
    let said = if plain == PROFILE {
        Said::Profile(Profile::of_name(value.trim()).ok_or_else(|| {
            let names = Profile::ALL.map(Profile::name).join(", ");
            wrong("no profile".to_owned(), format!("the profiles are {names}"))
        })?)
    } else if let Some(lever) = Lever::of_name(&dashed) {
        Said::Lever(lever, switch()?)
    } else if let Some((_, of)) = SWITCHES.iter().find(|(own, _)| *own == plain) {
        Said::Switch(*of, switch()?)
    } else {
        let levers = Lever::ALL.into_iter().map(Lever::name);
        let switches = SWITCHES.iter().map(|(own, _)| *own);
        let names: Vec<&str> = std::iter::once(PROFILE).chain(levers).chain(switches).collect();
        return Err(unknown(told, &place, "no setting of a route", name, &names));
    };
    Ok((provider, plain, said))
}

fn unknown(told: &Told, place: &str, what: &str, name: &str, known: &[&str]) -> Warning {
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(known, name), known)).min();
    let attempt = match near {
        Some((distance, near)) if distance <= 2 => format!("did you mean `{near}`?"),
        _ => format!("known here: {}", known.join(", ")),
    };
    Warning::new(format!("`{place}` is {what}, and is passed over ({})", told.from), attempt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::proxy::Flags;

    /// What a user's file makes of the routes, and what it is warned about.
    fn read(user: &str) -> (Vec<(Provider, Policy)>, String) {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("deadweight");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("deadweight.toml"), user).unwrap();
        let home = folder.path().to_string_lossy().into_owned();
        let env = |name: &str| (name == "XDG_CONFIG_HOME").then(|| home.clone());
        let mut merge = Merge::of(&Flags::default(), &env, &folder.path().join("project"));
        let routes = routes(&mut merge, &Policy { accept_loss: true, ..Policy::default() });
        let told: Vec<String> = merge.warnings.iter().map(ToString::to_string).collect();
        (routes, told.join("\n").replace(&home, "~"))
    }

    #[test]
    fn a_route_says_anything_that_can_be_said_of_all() {
        let (routes, warnings) = read(
            "[levers.routes]\nopenai = \"faithful\"\n[levers.routes.anthropic]\nprofile = \"lean\"\nelide-results = \"off\"\n\
             compact_history = false\nthinking_bound = true\nedit-subscription = \"on\"\naccept_loss = false\n\
             elide_first_send = true\ncompact_when_full = true\nhour_breakpoints = true\nlate_tools = true\n",
        );
        assert_eq!(warnings, "");
        let of = |provider| &routes.iter().find(|(own, _)| *own == provider).unwrap().1;
        let openai = of(Provider::OpenAi);
        assert!(openai.profile == Profile::Faithful && openai.accept_loss && !openai.on(Lever::Dedup));
        let own = of(Provider::Anthropic);
        assert_eq!(own.profile, Profile::Lean);
        assert!(own.on(Lever::ServerEdit) && own.on(Lever::Dedup));
        assert!(!own.on(Lever::ElideResults) && !own.on(Lever::CompactHistory));
        assert!(own.edit_bound && own.edit_subscription && own.elide_at_first_send && own.compact_when_full);
        assert!(own.hour_breakpoints && own.late_tools);
        assert!(!own.accept_loss);
        assert_eq!(routes.len(), 2);
    }

    #[test]
    fn levers_of_a_route_can_stand_as_those_of_all_do() {
        for file in [
            "[levers.routes.gemini.lever]\ndedup = \"off\"\n",
            "[levers.routes.gemini]\nlever = [\"dedup=off\"]\n",
            "[levers.route.gemini]\nlever = \"dedup=off\"\n",
            "[levers.route]\ngemini = { dedup = false }\n",
        ] {
            let (routes, warnings) = read(file);
            assert_eq!((routes.len(), warnings.as_str()), (1, ""), "{file}");
            assert!(!routes[0].1.on(Lever::Dedup) && routes[0].1.on(Lever::PruneTools), "{file}");
        }
    }

    #[test]
    fn what_cannot_be_taken_is_told_of_with_its_place_and_the_rest_holds() {
        let (routes, warnings) = read(
            "[levers.routes]\nantropic = \"lean\"\nsomebody = \"lean\"\nopenai = \"lien\"\nvertex = 7\n\
             [levers.routes.gemini]\nprofile = \"faithful\"\ndedupe = \"on\"\nelide-results = \"maybe\"\nwhatever = 1\n\
             accept_loss = \"yes\"\nlever = [\"dedup\"]\n",
        );
        assert_eq!(routes.len(), 1);
        assert_eq!(routes[0].1.profile, Profile::Faithful);
        insta::assert_snapshot!(warnings, @r#"
        `levers.routes.antropic` is no provider, and is passed over (~/deadweight/deadweight.toml:2); did you mean `anthropic`?
        `levers.routes.somebody` is no provider, and is passed over (~/deadweight/deadweight.toml:3); known here: anthropic, openai, gemini, bedrock, vertex
        `levers.routes.openai.profile`: `lien` is no profile, and is passed over (~/deadweight/deadweight.toml:4); the profiles are faithful, default, lean
        `levers.routes.vertex.profile`: `7` is no profile, and is passed over (~/deadweight/deadweight.toml:5); the profiles are faithful, default, lean
        `levers.routes.gemini.dedupe` is no setting of a route, and is passed over (~/deadweight/deadweight.toml:8); did you mean `dedup`?
        `levers.routes.gemini.elide-results`: `maybe` is neither on nor off, and is passed over (~/deadweight/deadweight.toml:9); write "on" or "off", or true or false
        `levers.routes.gemini.whatever` is no setting of a route, and is passed over (~/deadweight/deadweight.toml:10); known here: profile, passthrough, prune-tools, defer-tools, steady-prefix, server-edit, recover-bound, dedup, elide-results, compact-history, place-breakpoints, thinking_bound, edit_subscription, accept_loss, elide_first_send, compact_when_full, hour_breakpoints, late_tools
        `levers.routes.gemini.accept_loss`: `yes` is neither on nor off, and is passed over (~/deadweight/deadweight.toml:11); write "on" or "off", or true or false
        `levers.routes.gemini.dedup`: `` is neither on nor off, and is passed over (~/deadweight/deadweight.toml:12); write "on" or "off", or true or false
        "#);
    }
}
