//! Command lines as a person writes them in one argument.

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
}
