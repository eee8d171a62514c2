//! What a server is, in words that hold no secret: a package and its version, or scheme, host and path.
//! Arguments, environment, user info, query and fragment never get in.

/// The source of a server that is started by a command: `npm:PACKAGE@VERSION`, `pypi:PACKAGE@VERSION`, or
/// the program's file name. Nothing else of the command is kept.
pub fn source_of_command(command: &str, args: &[String]) -> String {
    // What follows the first odd character may be an argument (a whole command line in one word) or a value
    // (`NAME=value`).
    let path = command.split(|c: char| !is_program(c) && !matches!(c, '/' | '\\' | ':')).next();
    let program = path.unwrap_or_default().rsplit(['/', '\\']).next().unwrap_or_default();
    let program = program.strip_suffix(".cmd").or(program.strip_suffix(".exe")).unwrap_or(program);
    let runner = match program {
        "npx" | "bunx" => {
            Some(("npm", &["-p", "--package"][..], &["-y", "--yes", "-q", "--quiet", "--prefer-offline"][..]))
        }
        "pnpx" | "dlx" => Some(("npm", &["--package"][..], &[][..])),
        "uvx" => Some(("pypi", &["--from"][..], &["-q", "--quiet", "--offline", "--isolated"][..])),
        "pipx" => Some(("pypi", &["--spec"][..], &["run"][..])),
        _ => None,
    };
    let package = runner.and_then(|(registry, named, flags)| {
        let mut rest = args.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            let spec = if named.contains(&word) {
                rest.next()?
            } else if let Some(spec) =
                named.iter().find_map(|flag| word.strip_prefix(flag)?.strip_prefix('='))
            {
                spec
            } else if flags.contains(&word) {
                continue;
            } else {
                word
            };
            let spec = spec.replace("==", "@");
            return is_package(&spec).then(|| format!("{registry}:{spec}"));
        }
        None
    });
    package.unwrap_or_else(|| {
        let clean = program.split(|c: char| !is_program(c)).next().unwrap_or_default();
        format!("command:{}", if clean.is_empty() || is_key(clean) { "unnamed" } else { clean })
    })
}

const fn is_program(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+')
}

/// The source of a server that is reached by a URL: scheme, host and path. A part of the path that may be a
/// key, as some services put it there, is `…`.
pub fn source_of_url(url: &str) -> String {
    // What is left of a text that is no URL can look like another one: it is cleaned until nothing more goes.
    let mut source = cleaned(url);
    for _ in 0..MOST_CLEANINGS {
        let again = cleaned(&source);
        if again == source {
            return source;
        }
        source = again;
    }
    "https://unnamed".to_owned()
}

/// How often a text is cleaned before it counts as no URL at all.
const MOST_CLEANINGS: usize = 8;

/// One cleaning: scheme, host and path of a URL.
fn cleaned(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    // A port is a number; anything else behind the colon is a password whose `@` got lost.
    let (host, path) = match host.rsplit_once(':') {
        Some((name, port)) if !port.bytes().all(|b| b.is_ascii_digit()) && !host.ends_with(']') => (name, ""),
        _ => (host, path),
    };
    let keep = |text: &str, more: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric() || more.contains(*c)).collect()
    };
    let parts: Vec<String> = keep(path, "/._-~%…")
        .split('/')
        .map(|part| if is_key(part) { "…".to_owned() } else { part.to_owned() })
        .collect();
    format!("{}://{}{}", keep(scheme, "+-."), keep(host, ".-:[]"), parts.join("/"))
}

/// Bytes from which on a word without spaces can be a key.
const SHORTEST_KEY: usize = 16;

/// Whether a word may be a key: long, and letters and digits mixed in it as no name mixes them.
fn is_key(word: &str) -> bool {
    let known = ["sk-", "pk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "eyJ"];
    if known.iter().any(|prefix| word.starts_with(prefix)) {
        return true;
    }
    // Words of a name stand apart; a key's own separators do not help it, as its pieces are still mixed.
    let pieces = || word.split(|c: char| !c.is_alphanumeric());
    let mixed = |piece: &str| {
        let turns = piece
            .as_bytes()
            .windows(2)
            .filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()))
            .count();
        turns >= 2 || (piece.len() >= SHORTEST_KEY && piece.bytes().any(|byte| byte.is_ascii_digit()))
    };
    word.len() >= SHORTEST_KEY && pieces().any(mixed)
}

/// Whether a source is one that the functions above can have made.
pub fn is_clean_source(source: &str) -> bool {
    if let Some((_, _)) = source.split_once("://") {
        return cleaned(source) == source;
    }
    match source.split_once(':') {
        Some(("npm" | "pypi", package)) => is_package(package),
        Some(("command", program)) => program.chars().all(is_program) && !is_key(program),
        _ => false,
    }
}

/// Whether a word is a package's name, with or without its version: not a URL, not a path, not a flag.
fn is_package(spec: &str) -> bool {
    let (scope, rest) = match spec.strip_prefix('@').and_then(|spec| spec.split_once('/')) {
        Some((scope, rest)) => (scope, rest),
        None => ("x", spec),
    };
    let plain = |text: &str, more: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c)) && !text.is_empty()
    };
    let starts = rest.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    let secretless = !spec.contains("://") && rest.matches('@').count() <= 1;
    starts && secretless && plain(scope, "._-") && plain(rest, "._-@+[],~^")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        source_of_command(&words[0], &words[1..])
    }

    #[test]
    fn commands_keep_the_package_and_nothing_else() {
        for (line, expected) in [
            (
                "npx -y @modelcontextprotocol/server-github@2025.4.8 --token ghp_x",
                "npm:@modelcontextprotocol/server-github@2025.4.8",
            ),
            ("/usr/bin/npx.cmd some-server /home/me", "npm:some-server"),
            ("npx --package=left@1 left --key=s", "npm:left@1"),
            ("npx -p left@1 left", "npm:left@1"),
            ("uvx --from mcp-server-time==2026.10.19 mcp-server-time", "pypi:mcp-server-time@2026.10.19"),
            ("uvx mcp-server-git[extra]", "pypi:mcp-server-git[extra]"),
            ("npx https://user:pw@host/x.tgz", "command:npx"),
            ("npx ../secret/path", "command:npx"),
            ("npx -y", "command:npx"),
            ("npx --registry https://user:pw@host left", "command:npx"),
            ("node build/server.js --api-key sk-1", "command:node"),
            ("/opt/we ird/se|rver", "command:we"),
            ("C:\\bin\\node.exe server.js", "command:node"),
            ("API_KEY=sk-ant-1", "command:API_KEY"),
            ("npx API_KEY=sk-ant-1", "command:npx"),
            ("npx left@https://user:pw@host/x.tgz", "command:npx"),
            ("npx left@git+ssh://tok3n@host/x", "command:npx"),
            ("npx -y --token ghp_x left", "command:npx"),
            ("uvx --from git+https://tok3n@host/x tool", "command:uvx"),
            ("/opt/9f86d081884c7d659a2feaa0c55ad015", "command:unnamed"),
            ("", "command:unnamed"),
        ] {
            assert_eq!(command(line), expected, "{line}");
            assert!(is_clean_source(expected), "{expected}");
        }
    }

    #[test]
    fn a_whole_line_in_one_word_keeps_the_program_alone() {
        assert_eq!(source_of_command("npx -y server --token sk-1", &[]), "command:npx");
        assert_eq!(source_of_command("KEY=sk-1/x npx server", &[]), "command:KEY");
        assert_eq!(source_of_command("/bin/npx a --url https://u:p@h/s3cr3t", &[]), "command:npx");
    }

    #[test]
    fn urls_lose_user_info_query_and_fragment() {
        for (url, expected) in [
            ("https://user:pw@mcp.example.com:8443/v1/mcp?key=s#f", "https://mcp.example.com:8443/v1/mcp"),
            ("http://[::1]:9/", "http://[::1]:9/"),
            ("https://h?token=s", "https://h"),
            ("https://a@b@c/p", "https://c/p"),
            ("https://user:pa/ss@host/p", "https://user"),
            ("https://user:pa?ss@host/p", "https://user"),
            (
                "https://mcp.zapier.com/api/mcp/s/NjQ4YzQ5ZTAtMTIz/mcp",
                "https://mcp.zapier.com/api/mcp/s/…/mcp",
            ),
            ("https://h/0b9d5c1e-8a7f-4c3b-9e2d-1f0a6b5c4d3e/sse", "https://h/…/sse"),
            ("https://h/sk-short/sse", "https://h/…/sse"),
            (
                "https://h/v1beta/model-context-protocol-server/2025.4.8/sse2",
                "https://h/v1beta/model-context-protocol-server/2025.4.8/sse2",
            ),
        ] {
            assert_eq!(source_of_url(url), expected, "{url}");
            assert!(is_clean_source(expected), "{expected}");
        }
    }

    #[test]
    fn what_is_left_of_any_text_is_clean() {
        let found = "v\"[memo= \"sha256-1:ba7816bf8f0 1\nhash = \"sh 1\nes015ad\"[memory.\"CLAUDE.md\"]";
        for text in [found, "a:b]:c]", "::::]", "https://a:b:1:x", "//@:]/", "h:1:2:3x:4]"] {
            assert!(is_clean_source(&source_of_url(text)), "{text}: {}", source_of_url(text));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_becomes_a_clean_source(text in "([a-z0-9:/@\\[\\]?#.%=\" -]|\\PC){0,40}") {
            proptest::prop_assert!(is_clean_source(&source_of_url(&text)), "{}", source_of_url(&text));
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            proptest::prop_assert!(is_clean_source(&source_of_command(&text, &words)));
            proptest::prop_assert!(is_clean_source(&source_of_command("npx", &words)));
        }
    }

    #[test]
    fn what_may_be_a_secret_is_not_clean() {
        for source in [
            "https://u:p@h/",
            "https://h/?k=s",
            "https://h/#f",
            "npm:x --token s",
            "npm:https://u@h",
            "node server.js",
            "ghp_abcdef",
            "command:node x",
            "command:9f86d081884c7d659a2feaa0c55ad015",
            "https://h/NjQ4YzQ5ZTAtMTIz/mcp",
            "https://user:pw/",
            "npm:KEY=s",
            "",
        ] {
            assert!(!is_clean_source(source), "{source}");
        }
    }
}
