//! Names that a server may take for another one.

use super::names::safe;
use unicode_normalization::UnicodeNormalization;

/// What stands between what a client puts before a name and the name.
const BETWEEN: [&str; 7] = ["__", "_", ".", "/", ":", "-", " "];

/// A name without what some servers do not look at: case, white space around it, characters that do not show, and other
/// characters for the same letters.
pub(crate) fn folded(name: &str) -> String {
    let shows = |letter: &char| {
        !letter.is_control()
            && !matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
            && !matches!(letter, '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
    };
    let text: String =
        name.nfkc().filter(shows).flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    text.trim().to_owned()
}

/// All that a name may be read as: folded, and without what a client or a proxy puts before it.
pub(crate) fn readings(name: &str, label: &str, entry: &str) -> Vec<String> {
    let heads = ["mcp".to_owned(), folded(label), folded(&safe(label)), folded(entry)];
    let mut out = vec![folded(name)];
    let mut at = 0;
    while let Some(reading) = out.get(at).cloned() {
        at += 1;
        let mut add = |rest: &str| {
            let rest = rest.trim();
            if !rest.is_empty() && out.len() < 64 && !out.iter().any(|known| known == rest) {
                out.push(rest.to_owned());
            }
        };
        for rest in
            heads.iter().filter(|head| !head.is_empty()).filter_map(|head| reading.strip_prefix(&**head))
        {
            BETWEEN.iter().filter_map(|between| rest.strip_prefix(between)).for_each(&mut add);
        }
        // A client may know the entry under a name that was never told here.
        if let Some((_, rest)) = reading.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            add(rest);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_servers_might() {
        for name in [
            "destroy",
            " destroy",
            "Destroy\n",
            "destroy\0",
            "de\u{200b}stroy",
            "\u{ff44}estroy",
            "de\u{17f}troy",
            "mcp__fake__destroy",
            "mcp__other__destroy",
            "fake__destroy",
            "FAKE.destroy",
            "deadweight__fake__destroy",
        ] {
            assert!(readings(name, "fake", "deadweight").contains(&"destroy".to_owned()), "{name:?}");
        }
        for name in ["undestroy", "destroy_all", "", "soft_destroy", "fakedestroy"] {
            assert!(!readings(name, "fake", "deadweight").contains(&"destroy".to_owned()), "{name:?}");
        }
    }
}
