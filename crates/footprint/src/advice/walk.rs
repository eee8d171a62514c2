//! Walks over a schema, without recursion: schemas come from strangers and may be nested as deep as they like.

use deadweight_wire::json::{Elements, Entries, Entry, Kind, Value};

/// Where a schema stands in the one around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The tool's input schema itself.
    Root,
    /// Under `properties`: the key names what it describes.
    Property,
    /// Under `$defs` or `definitions`: the key is its name.
    Definition,
    /// Anywhere else a schema may stand.
    Other,
}

/// One schema inside a schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'id, 'd> {
    pub(super) value: Value<'id, 'd>,
    pub(super) role: Role,
    /// The keyword it stands under; empty for the root.
    keyword: &'static str,
    /// Its key, where the keyword holds schemas by name.
    pub(super) key: Option<Value<'id, 'd>>,
    parent: usize,
}

/// Keywords that hold one schema (`items` may also hold a list).
const ONE: [&str; 11] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
    "not",
];
/// Keywords that hold a list of schemas.
const LIST: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords that hold schemas by name.
const MAP: [(&str, Role); 6] = [
    ("properties", Role::Property),
    ("patternProperties", Role::Other),
    ("$defs", Role::Definition),
    ("definitions", Role::Definition),
    ("dependentSchemas", Role::Other),
    ("dependencies", Role::Other),
];

/// The schemas inside a schema that are objects, itself first.
pub(super) struct Sites<'id, 'd> {
    sites: Vec<Site<'id, 'd>>,
}

/// How many steps of a path are written.
const MOST_STEPS: usize = 8;

impl<'id, 'd> Sites<'id, 'd> {
    pub(super) fn of(root: Value<'id, 'd>) -> Self {
        let site = Site { value: root, role: Role::Root, keyword: "", key: None, parent: 0 };
        let mut sites = Vec::new();
        let mut open = vec![site];
        while let Some(site) = open.pop() {
            if site.value.kind() != Kind::Object {
                continue;
            }
            let parent = sites.len();
            let before = open.len();
            for entry in site.value.entries() {
                children(entry, parent, &mut open);
            }
            // The last child pushed would be visited first.
            if let Some(added) = open.get_mut(before..) {
                added.reverse();
            }
            sites.push(site);
        }
        Self { sites }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Site<'id, 'd>)> {
        self.sites.iter().enumerate()
    }

    /// Where a schema stands, such as `properties.zone.items`; empty for the root. Of a deep one the last steps.
    pub(super) fn path(&self, mut at: usize) -> String {
        let mut steps = Vec::new();
        while let Some(site) = self.sites.get(at).filter(|site| site.role != Role::Root) {
            let key = site.key.and_then(|key| key.as_str());
            if steps.len() == MOST_STEPS {
                steps.push("…".to_owned());
                break;
            }
            steps.push(match key {
                Some(key) => format!("{}.{key}", site.keyword),
                None => site.keyword.to_owned(),
            });
            at = site.parent;
        }
        steps.reverse();
        steps.join(".")
    }
}

fn children<'id, 'd>(entry: Entry<'id, 'd>, parent: usize, open: &mut Vec<Site<'id, 'd>>) {
    let is = |keyword: &&&'static str| entry.key.is_str(keyword);
    let other = |value, keyword, key| Site { value, role: Role::Other, keyword, key, parent };
    match entry.value.kind() {
        Kind::Object => {
            if let Some((keyword, role)) = MAP.iter().find(|(keyword, _)| entry.key.is_str(keyword)) {
                let by_name = |inner: Entry<'id, 'd>| Site {
                    role: *role,
                    ..other(inner.value, keyword, Some(inner.key))
                };
                open.extend(entry.value.entries().map(by_name));
            } else if let Some(keyword) = ONE.iter().find(is) {
                open.push(other(entry.value, keyword, None));
            }
        }
        Kind::Array => {
            if let Some(keyword) = LIST.iter().find(is) {
                open.extend(entry.value.elements().map(|element| other(element, keyword, None)));
            }
        }
        _ => {}
    }
}

/// Every entry of every object inside a value, in the order of the text.
pub(super) struct AllEntries<'id, 'd> {
    open: Vec<Level<'id, 'd>>,
}

enum Level<'id, 'd> {
    Object(Entries<'id, 'd>),
    Array(Elements<'id, 'd>),
}

impl<'id, 'd> AllEntries<'id, 'd> {
    pub(super) fn of(value: Value<'id, 'd>) -> Self {
        let mut out = Self { open: Vec::new() };
        out.enter(value);
        out
    }

    fn enter(&mut self, value: Value<'id, 'd>) {
        match value.kind() {
            Kind::Object => self.open.push(Level::Object(value.entries())),
            Kind::Array => self.open.push(Level::Array(value.elements())),
            _ => {}
        }
    }
}

impl<'id, 'd> Iterator for AllEntries<'id, 'd> {
    type Item = Entry<'id, 'd>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.open.last_mut()? {
                Level::Object(entries) => {
                    if let Some(entry) = entries.next() {
                        self.enter(entry.value);
                        return Some(entry);
                    }
                    self.open.pop();
                }
                Level::Array(elements) => match elements.next() {
                    Some(element) => self.enter(element),
                    None => {
                        self.open.pop();
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_wire::json::Parser;

    #[test]
    fn schemas_are_found_where_schemas_stand_and_nowhere_else() {
        let text = r#"{"properties":{"title":{"type":"string"},"list":{"items":{"anyOf":[{"a":1},true]}}},
            "default":{"properties":{"not":{"a":1}}},"$defs":{"Zone":{"enum":[]}},"items":[{"b":1}]}"#;
        let paths = Parser::new().scope(text.as_bytes(), |document| {
            let sites = Sites::of(document.expect("valid").root());
            sites.iter().map(|(at, _)| sites.path(at)).collect::<Vec<_>>()
        });
        let expected = [
            "",
            "properties.title",
            "properties.list",
            "properties.list.items",
            "properties.list.items.anyOf",
            "$defs.Zone",
            "items",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn all_entries_are_seen_however_deep() {
        let deep = 50_000;
        let text = format!("{}{{\"$ref\":\"x\"}}{}", "[{\"a\":".repeat(deep), "}]".repeat(deep));
        let (count, last) = Parser::new().scope(text.as_bytes(), |document| {
            let root = document.expect("valid").root();
            let last = AllEntries::of(root).last().map(|entry| entry.key.raw().to_owned());
            (AllEntries::of(root).count(), last)
        });
        assert_eq!(count, deep + 1);
        assert_eq!(last.as_deref(), Some("\"$ref\""));
        let nested = format!("{}{{}}{}", "{\"items\":".repeat(deep), "}".repeat(deep));
        let sites = Parser::new().scope(nested.as_bytes(), |document| {
            let sites = Sites::of(document.expect("valid").root());
            (sites.iter().count(), sites.path(deep))
        });
        assert_eq!(sites, (deep + 1, format!("…{}", ".items".repeat(MOST_STEPS))));
    }
}
