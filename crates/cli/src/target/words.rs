//! Command lines and variables as a person writes them in one argument.

use crate::exit::Trouble;

/// A command line as a shell would split it: at spaces, with quotes and backslashes.
pub(crate) fn split(line: &str) -> Result<Vec<String>, Trouble> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some('\''), other) => word.get_or_insert_default().push(other),
            (_, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some(_), other) => word.get_or_insert_default().push(other),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (None, other) => word.get_or_insert_default().push(other),
        }
    }
    if quote.is_some() {
        return Err(Trouble::usage("a quote in the command line is not closed").at("command", line));
    }
    words.extend(word);
    Ok(words)
}

/// `text` with `${VAR}` and `${VAR:-default}` replaced by what `environment` holds.
///
/// # Errors
///
/// The name of the first variable that is not set and has no default.
pub(crate) fn expand(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let Some(end) = from.find('}') else {
            out.push_str(from);
            return Ok(out);
        };
        let inside = &from[2..end];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let value = environment(name).filter(|value| default.is_none() || !value.is_empty());
        out.push_str(&value.or_else(|| default.map(str::to_owned)).ok_or_else(|| name.to_owned())?);
        rest = &from[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_split_like_a_shell_does() {
        let words = |line| split(line).unwrap();
        assert_eq!(words("npx -y  pkg@1.0"), ["npx", "-y", "pkg@1.0"]);
        assert_eq!(words(r#"sh -c 'echo "a b"' "" x\ y"#), ["sh", "-c", r#"echo "a b""#, "", "x y"]);
        assert_eq!(words(r#""a\"b" '\'"#), [r#"a"b"#, "\\"]);
        assert!(words("  ").is_empty());
        assert!(split("node 'x").is_err());
    }

    #[test]
    fn variables_are_expanded_or_named() {
        let environment = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let expanded = |text| expand(text, &environment);
        assert_eq!(expanded("Bearer ${A}${A}!"), Ok("Bearer 11!".to_owned()));
        assert_eq!(expanded("${B:-x}${A:-y}${EMPTY:-z}${EMPTY}"), Ok("x1z".to_owned()));
        assert_eq!(expanded("a ${B} ${C}"), Err("B".to_owned()));
        assert_eq!(expanded("$A ${unclosed"), Ok("$A ${unclosed".to_owned()));
    }
}
