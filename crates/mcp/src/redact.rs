//! Hides what looks like a key in command lines and URLs before anybody prints them.

use crate::text::Text;

/// Words in the name of an option, a variable or a header whose value is not for showing.
const TELLING: [&str; 9] =
    ["key", "token", "secret", "password", "passwd", "auth", "credential", "header", "cookie"];

/// Bytes from which on a text can be a key.
const SHORTEST_SECRET: usize = 6;

fn is_telling(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    TELLING.iter().any(|word| lower.contains(word))
}

/// The same arguments, with the values of telling options (`--api-key X`, `--token=X`), environment
/// assignments (`NAME=X`), headers (`Authorization: X`) and the keys inside URLs hidden. What is hidden
/// already stays as it is.
pub(crate) fn args(args: Vec<Text>) -> Vec<Text> {
    let mut value_of_telling = false;
    args.into_iter()
        .map(|arg| {
            let after_telling = std::mem::take(&mut value_of_telling);
            if arg.is_hidden() {
                return arg;
            }
            let text = arg.reveal();
            if text.starts_with('-') {
                return match text.split_once('=') {
                    Some((name, value)) if is_telling(name) || is_assignment(value) => {
                        let kept = value.split_once('=').filter(|_| !is_telling(name));
                        let shown = match kept {
                            Some((variable, _)) => format!("{name}={variable}=…"),
                            None => format!("{name}=…"),
                        };
                        Text::shown_as(text, shown)
                    }
                    Some(_) => arg,
                    None => {
                        value_of_telling = is_telling(text);
                        arg
                    }
                };
            }
            if after_telling {
                return Text::secret(text);
            }
            if let Some((name, _)) = text.split_once('=').filter(|_| is_assignment(text)) {
                return Text::shown_as(text, format!("{name}=…"));
            }
            if let Some((name, _)) = text.split_once(':').filter(|(name, _)| is_header(name)) {
                return Text::shown_as(text, format!("{name}: …"));
            }
            if text.contains("://") { url(arg) } else { arg }
        })
        .collect()
}

/// The value of an environment variable: hidden, unless it came as it is and can hold no key (a path, a flag,
/// a plain word). What is not hidden may show up in a server's own words.
pub(crate) fn variable(name: &str, value: Text) -> Text {
    let text = value.reveal();
    let is_plain = !is_telling(name)
        && (text.len() < SHORTEST_SECRET
            || text.starts_with(['/', '.', '~'])
            || text.bytes().all(|byte| byte.is_ascii_lowercase()));
    if value.is_hidden() || is_plain { value } else { Text::secret(text) }
}

/// `NAME=value` in the manner of environment variables.
fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, value)| {
        !value.is_empty()
            && name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    })
}

/// The name of a header that carries a key.
fn is_header(name: &str) -> bool {
    is_telling(name) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// The same URL; userinfo, query, fragment and what may be a key in its path are hidden.
pub(crate) fn url(url: Text) -> Text {
    let shown = hide_in_url(url.shown());
    if shown == url.shown() { url } else { Text::shown_as(url.reveal(), shown) }
}

/// A URL for showing: userinfo, query, fragment and what may be a key in its path as `…`.
pub(crate) fn hide_in_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (rest, tail) = match rest.find(['?', '#']) {
        Some(at) if at + 1 < rest.len() => (&rest[..at], format!("{}…", &rest[at..=at])),
        Some(at) => (&rest[..at], String::new()),
        None => (rest, String::new()),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => authority.to_owned(),
    };
    format!("{scheme}://{host}{}{tail}", hide_in_path(path))
}

/// A path whose parts that may be keys are `…`.
fn hide_in_path(path: &str) -> String {
    let mut before = "";
    let parts = path.split('/').map(|part| {
        let named = NAMES.contains(&before.to_ascii_lowercase().as_str()) && digits(part) > 0;
        before = part;
        let assigned = part.split_once(['=', ':']).filter(|(name, _)| is_telling(name));
        match assigned {
            Some((name, value)) if !value.is_empty() => {
                format!("{name}{}…", &part[name.len()..part.len() - value.len()])
            }
            _ if named && part.len() >= SHORTEST_SECRET || is_key(part) => "…".to_owned(),
            _ => part.to_owned(),
        }
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Parts of a path behind which a key comes.
const NAMES: [&str; 8] =
    ["key", "token", "secret", "apikey", "api-key", "api_key", "access-token", "access_token"];
/// How keys of well-known services begin.
const BEGINNINGS: [&str; 10] =
    ["sk-", "sk_", "pk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "eyJ"];
/// Characters from which on a part of a path that is not all letters can be a key, where it is as mixed as no name is; with
/// digits amid its letters; and of letters alone.
const SHORTEST_MIXED: usize = 10;
const SHORTEST_KEY: usize = 16;
const SHORTEST_OF_LETTERS: usize = 20;

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

/// Whether a part of a URL's path may be a key: long, and with letters and digits, or small and capital letters, mixed in it
/// as no name mixes them. Whatever the lock takes for one is one here.
fn is_key(part: &str) -> bool {
    if BEGINNINGS.iter().any(|beginning| part.starts_with(beginning)) {
        return true;
    }
    // The separators of a key do not help it: its pieces are still mixed.
    let pieces = || part.split(|c: char| !c.is_alphanumeric()).filter(|piece| !piece.is_empty());
    let turns = |piece: &str, is_turn: fn(u8, u8) -> bool| {
        piece.as_bytes().windows(2).filter(|pair| matches!(pair, [a, b] if is_turn(*a, *b))).count()
    };
    let between_digits = |a: u8, b: u8| a.is_ascii_digit() != b.is_ascii_digit();
    let rises = |a: u8, b: u8| a.is_ascii_lowercase() && b.is_ascii_uppercase();
    let with_digits =
        |piece: &str| turns(piece, between_digits) >= 2 || (piece.len() >= SHORTEST_KEY && digits(piece) > 0);
    if part.len() >= SHORTEST_KEY && pieces().any(with_digits) {
        return true;
    }
    let strange =
        pieces().filter(|piece| digits(piece) > 0 && turns(piece, between_digits) + turns(piece, rises) >= 4);
    if part.len() >= SHORTEST_MIXED && strange.map(str::len).sum::<usize>() >= SHORTEST_SECRET {
        return true;
    }
    pieces().any(|piece| {
        let capitals = piece.bytes().filter(u8::is_ascii_uppercase).count();
        let half = capitals * 10 >= piece.len() * 3 && capitals * 10 <= piece.len() * 7;
        piece.len() >= SHORTEST_OF_LETTERS && half && turns(piece, rises) * 6 >= piece.len()
            || piece.len() >= 2 * SHORTEST_KEY && piece.is_ascii()
    })
}

/// The same text with every occurrence of one of `secrets` replaced by `…`. Short ones are left: hiding
/// each `1` of a text would hide the text. Where `…` says that the text was cut, what is left there of a secret
/// that the cut went through is hidden too.
#[cfg(feature = "client")]
pub(crate) fn scrub(text: &str, secrets: &[&str]) -> String {
    let mut out = text.to_owned();
    for secret in secrets.iter().filter(|secret| secret.len() >= SHORTEST_SECRET) {
        if out.contains(secret) {
            out = out.replace(secret, "…");
        }
    }
    if let Some(kept) = out.strip_suffix('…') {
        let begun = longest(secrets, |secret, at| kept.ends_with(&secret[..at]).then_some(at));
        out = format!("{}…", &kept[..kept.len() - begun]);
    }
    if let Some(kept) = out.strip_prefix('…') {
        let ended =
            longest(secrets, |secret, at| kept.starts_with(&secret[at..]).then_some(secret.len() - at));
        out = format!("…{}", &kept[ended..]);
    }
    out
}

/// The longest part of a secret that `part` finds, in bytes; it is asked with each place where one can be cut.
#[cfg(feature = "client")]
fn longest(secrets: &[&str], part: impl Fn(&str, usize) -> Option<usize>) -> usize {
    let long = secrets.iter().filter(|secret| secret.len() >= SHORTEST_SECRET);
    let parts = long.flat_map(|secret| {
        secret.char_indices().skip(1).filter_map(|(at, _)| part(secret, at)).collect::<Vec<_>>()
    });
    parts.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(list: &[&str]) -> Vec<String> {
        args(list.iter().map(|arg| Text::plain(*arg)).collect()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn keys_in_arguments_are_hidden() {
        assert_eq!(shown(&["-y", "pkg", "--api-key", "abc", "x"]), ["-y", "pkg", "--api-key", "…", "x"]);
        assert_eq!(shown(&["--access-token=abc", "--port=80"]), ["--access-token=…", "--port=80"]);
        assert_eq!(shown(&["run", "-e", "GITHUB_TOKEN=abc"]), ["run", "-e", "GITHUB_TOKEN=…"]);
        assert_eq!(shown(&["--env=A_B=abc"]), ["--env=A_B=…"]);
        assert_eq!(shown(&["--header", "X-Any: abc"]), ["--header", "…"]);
        assert_eq!(shown(&["Authorization: Bearer abc"]), ["Authorization: …"]);
        assert_eq!(shown(&["https://u:p@h/p?k=v"]), ["https://…@h/p?…"]);
        assert_eq!(shown(&["C:\\key\\x", "/tmp/token.json"]), ["C:\\key\\x", "/tmp/token.json"]);
    }

    #[test]
    fn urls_keep_scheme_host_and_path() {
        assert_eq!(hide_in_url("http://127.0.0.1:80/mcp"), "http://127.0.0.1:80/mcp");
        assert_eq!(hide_in_url("https://k@h?x=1#f"), "https://…@h?…");
        assert_eq!(hide_in_url("https://h/p#frag"), "https://h/p#…");
        assert_eq!(hide_in_url("h/p?x"), "h/p?x");
    }

    #[test]
    fn keys_in_paths_are_hidden_and_names_are_not() {
        for shown in [
            "/",
            "/api/v1/mcp",
            "/mcp/sse",
            "/github-server/mcp",
            "/v1beta1/model-context-protocol-server/2025.4.8/sse2",
            "/oauth2/authorize",
            "/x86_64-linux-gnu/k8s",
            "/s3/my-bucket-2024/utf8mb4",
            "/team/123456789012/mcp",
            "/MCPServerHTTPTransport/getUserById",
            "/modelContextProtocolServer/mcp",
            "/token/refresh",
            "/caf\u{e9}/\u{4e2d}\u{6587}",
        ] {
            assert_eq!(hide_in_path(shown), shown);
        }
        for key in [
            "0b9d5c1e-8a7f-4c3b-9e2d-1f0a6b5c4d3e",
            "d41d8cd98f00b204e9800998ecf8427e",
            "9F86D081884C7D659A2FEAA0C55AD015",
            "NjQ4YzQ5ZTAtMTIz",
            "a8F-kd_92jXq0Lm-3fGh_Zt",
            "sk-short",
            "sk-proj-abcdefgh",
            "ghp_abcdefghijkl",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
            "sEcr3tValP",
            "s3cr3t-Value-99L",
            "aBcDeFgHiJkLmNoPqRsTuV",
            "qwertyuiopasdfghjklzxcvbnmqwertyu",
        ] {
            assert_eq!(hide_in_path(&format!("/s/{key}/mcp")), "/s/…/mcp", "{key}");
            let url = url(Text::plain(format!("https://h/s/{key}/mcp?x")));
            assert!(url.is_hidden() && url.shown() == "https://h/s/…/mcp?…");
        }
        assert_eq!(hide_in_path("/token/hunter2/mcp"), "/token/…/mcp");
        assert_eq!(hide_in_path("/apikey=hunter/mcp;token:x/"), "/apikey=…/mcp;token:…/");
        assert_eq!(hide_in_path("/token=a=b"), "/token=…");
    }

    #[cfg(feature = "surface")]
    #[test]
    fn what_the_lock_hides_is_hidden() {
        for part in ["v1-0123456789abcdef", "a1b-something-long", "customermanagement2024", "pk-x"] {
            let lock = deadweight_lock::source_of_url(&format!("https://h/{part}"));
            assert!(!lock.ends_with('…') || hide_in_path(part) == "…", "{part}");
        }
    }

    #[test]
    fn secrets_are_scrubbed_from_foreign_text() {
        assert_eq!(scrub("bad key hunter22!", &["hunter22", "y"]), "bad key …!");
        for cut in 1.."hunter22".len() {
            let (begun, ended) = "hunter22".split_at(cut);
            assert_eq!(scrub(&format!("bad key {begun}…"), &["hunter22"]), "bad key …");
            assert_eq!(scrub(&format!("…{ended} is bad"), &["hunter22"]), "… is bad");
        }
        assert_eq!(scrub("…", &["hunter22"]), "…");
        assert_eq!(scrub("a whole line", &["hunter22"]), "a whole line");
    }
}
