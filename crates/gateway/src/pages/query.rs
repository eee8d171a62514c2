//! What stands behind a path: the filters, which live in the address so that a view can be kept and sent.

/// The query of an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

/// How long a value may be; longer ones are passed over.
const LONGEST: usize = 512;
/// How many are read.
const MOST: usize = 32;

impl Query {
    /// Reads what stands behind the `?`.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text
            .split('&')
            .filter(|pair| !pair.is_empty())
            .take(MOST)
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (decode(&name.replace('+', " ")), decode(&value.replace('+', " "))))
            .filter(|(name, value)| !name.is_empty() && value.len() <= LONGEST)
            .collect();
        Self { pairs }
    }

    /// The value of a name; nothing for an empty one.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// The value of a name, as text of its own.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// A number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// The same query with one value changed, or taken out, as it stands in an address: `?a=b`, or nothing. The page
    /// within a list begins anew.
    pub(crate) fn with(&self, name: &str, value: Option<&str>) -> String {
        let mut pairs: Vec<(&str, &str)> = self
            .pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(own, value)| *own != name && (*own != "page" || name == "page") && !value.is_empty())
            .collect();
        pairs.extend(value.map(|value| (name, value)));
        address("", &pairs)
    }
}

/// A path with a query.
pub(crate) fn address(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut out = path.to_owned();
    for (at, (name, value)) in pairs.iter().enumerate() {
        out.push(if at == 0 { '?' } else { '&' });
        out.push_str(&encode(name));
        out.push('=');
        out.push_str(&encode(value));
    }
    out
}

/// A text as a part of a path or a query.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The opposite of [`encode`]; what cannot be read stays as it is.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(decoded.unwrap_or(byte));
        at += if decoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let query = Query::parse("agent=claude%20code&model=a+b&x&page=2&empty=&n=7");
        assert_eq!((query.get("agent"), query.get("model")), (Some("claude code"), Some("a b")));
        assert_eq!(
            (query.get("x"), query.get("empty"), query.number("n"), query.number("agent")),
            (None, None, Some(7), None)
        );
        assert_eq!(query.with("agent", Some("é&=")), "?model=a%20b&n=7&agent=%C3%A9%26%3D");
        assert_eq!(query.with("page", Some("3")), "?agent=claude%20code&model=a%20b&n=7&page=3");
        assert_eq!(Query::parse("a=1").with("a", None), "");
        for text in ["%", "%2", "%zz", "a%", "", "ü/..%"] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(decode("%zz%4"), "%zz%4");
    }

    #[test]
    fn any_query_is_read() {
        assert_eq!(Query::parse(&"a=b&".repeat(10_000)).pairs.len(), MOST);
        assert_eq!(Query::parse(&format!("a={}", "x".repeat(10_000))).get("a"), None);
        assert_eq!(Query::parse("=x&&==&%00=%ff").get(""), None);
    }
}
