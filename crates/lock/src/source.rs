//! What a server is, in words that hold no secret: a package and its version, or scheme, host and path.
//! Arguments, environment, user info, query and fragment never get in.

/// The source of a server that is started by a command: `npm:PACKAGE@VERSION`, `pypi:PACKAGE@VERSION`, or
/// the program's file name. Nothing else of the command is kept.
pub fn source_of_command(command: &str, args: &[String]) -> String {
    let program = command.rsplit(['/', '\\']).next().unwrap_or_default();
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
            return is_package(spec).then(|| format!("{registry}:{}", spec.replace("==", "@")));
        }
        None
    });
    package.unwrap_or_else(|| {
        let clean: String =
            program.chars().filter(|c| c.is_ascii_alphanumeric() || "._-+".contains(*c)).collect();
        format!("command:{}", if clean.is_empty() { "unnamed" } else { &clean })
    })
}

/// The source of a server that is reached by a URL: scheme, host and path.
pub fn source_of_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let keep = |text: &str, more: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric() || more.contains(*c)).collect()
    };
    format!("{}://{}{}", keep(scheme, "+-."), keep(host, ".-:[]"), keep(path, "/._-~%"))
}

/// Whether a source is one that the functions above can have made.
pub fn is_clean_source(source: &str) -> bool {
    if let Some((_, _)) = source.split_once("://") {
        return source_of_url(source) == source;
    }
    match source.split_once(':') {
        Some(("npm" | "pypi", package)) => is_package(package),
        Some(("command", program)) => {
            program.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c))
        }
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
    starts && secretless && plain(scope, "._-") && plain(rest, "._-@=+[],~^")
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
            ("", "command:unnamed"),
        ] {
            assert_eq!(command(line), expected, "{line}");
            assert!(is_clean_source(expected), "{expected}");
        }
    }

    #[test]
    fn urls_lose_user_info_query_and_fragment() {
        for (url, expected) in [
            ("https://user:pw@mcp.example.com:8443/v1/mcp?key=s#f", "https://mcp.example.com:8443/v1/mcp"),
            ("http://[::1]:9/", "http://[::1]:9/"),
            ("https://h?token=s", "https://h"),
            ("https://a@b@c/p", "https://c/p"),
        ] {
            assert_eq!(source_of_url(url), expected, "{url}");
            assert!(is_clean_source(expected), "{expected}");
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
            "",
        ] {
            assert!(!is_clean_source(source), "{source}");
        }
    }
}
