//! The bodies that are measured: made here, from templates and a fixed sequence of numbers, so that every
//! run on every machine measures the same bytes.

use std::fmt::Write;

/// A linear congruential generator (Knuth's constants). Fixed: the bodies follow from it.
pub(crate) struct Lcg(u64);

impl Lcg {
    /// The sequence that a seed gives.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }
}

const WORDS: [&str; 24] = [
    "account", "batch", "cache", "cursor", "delta", "entry", "frame", "group", "handle", "index", "journal",
    "key", "ledger", "message", "node", "offset", "page", "queue", "record", "session", "token", "update",
    "value", "window",
];

const RUST: [&str; 10] = [
    "    let A = self.B.get(&C)?;",
    "    if A.is_empty() {\n        return Err(Error::new(\"no B for C\"));\n    }",
    "    for (A, B) in C.iter().enumerate() {",
    "        tracing::debug!(A = %B, \"C has moved on\");",
    "    }",
    "    /// How many times a A was written to its B since the last C.",
    "    pub fn A(&mut self, B: &str) -> Result<C, Error> {",
    "        self.A.push(format!(\"{B}/{}\", C.id));",
    "    // Der Übergang von A nach B ist größer als C – siehe oben.",
    "",
];

const GO: [&str; 8] = [
    "func (a *A) B(ctx context.Context, C string) (int, error) {",
    "\tif err := a.B.Check(ctx, C); err != nil {",
    "\t\treturn 0, fmt.Errorf(\"A %q: %w\", C, err)",
    "\t}",
    "\tfor i, B := range a.C {\n\t\ttotal += B.Size * i",
    "\treturn len(a.B), nil",
    "}",
    "",
];

const TYPESCRIPT: [&str; 8] = [
    "export async function A(B: Map<string, C>): Promise<void> {",
    "  const A = await fetch(`${base}/B/${C}`, { headers: { \"content-type\": \"application/json\" } });",
    "  if (!A.ok) throw new Error(\"could not read the B: \" + A.status);",
    "  return B.filter((C) => C.A !== undefined).map((C) => ({ ...C, seen: true }));",
    "  // tidy up the A before the next B starts",
    "  <A className=\"B-list\" onClick={() => setC(null)}>",
    "}",
    "",
];

const PYTHON: [&str; 7] = [
    "def A(self, B: dict[str, int]) -> list[str]:",
    "    \"\"\"Give back every A whose B is older than its C.\"\"\"",
    "    return [A.name for A in self.B if A.C > self.limit]",
    "    with open(path, \"rb\") as A:\n        B = A.read(C)",
    "    raise ValueError(f\"A {B!r} is not a C\")",
    "    logger.info(\"read %d A in %.2f s\", B, C)",
    "",
];

const PROSE: [&str; 6] = [
    "I will look at how the A is filled before I change the B.",
    "The C is written twice: once by the A and once when the B closes.",
    "Run the tests again and tell me whether `A` still fails.",
    "That’s done — the A now keeps its B, and C is gone.",
    "Please keep the names of A and B as they are.",
    "Where does \"C\" come from?",
];

/// Puts names in the place of A, B and C where they stand alone.
fn fill(out: &mut String, template: &str, lcg: &mut Lcg) {
    let names = [lcg.pick(&WORDS), lcg.pick(&WORDS), lcg.pick(&WORDS)];
    let bytes = template.as_bytes();
    for (at, character) in template.char_indices() {
        let alone = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let name = matches!(character, 'A'..='C')
            && alone(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && alone(bytes.get(at + 1));
        if name {
            out.push_str(names[usize::from(bytes[at] - b'A')]);
        } else {
            out.push(character);
        }
    }
}

/// Source code of one language; some of it with the numbers that tools which read files put before lines.
fn source(lcg: &mut Lcg, bytes: usize) -> String {
    let language: &[&str] = match lcg.below(4) {
        0 => &RUST,
        1 => &GO,
        2 => &TYPESCRIPT,
        _ => &PYTHON,
    };
    let numbered = lcg.below(3) == 0;
    let mut text = String::with_capacity(bytes + 200);
    let mut line = 1;
    while text.len() < bytes {
        if numbered {
            let _ = write!(text, "{line:6}\t");
        }
        let template = lcg.pick(language);
        fill(&mut text, template, lcg);
        text.push('\n');
        line += 1;
    }
    text
}

fn prose(lcg: &mut Lcg, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 200);
    while text.len() < bytes {
        let template = lcg.pick(&PROSE);
        fill(&mut text, template, lcg);
        text.push_str(if lcg.below(5) == 0 { "\n\n" } else { " " });
    }
    text
}

/// A string as JSON, escaping what must be escaped.
fn string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// A tool definition of some 1.5 KB.
fn tool(out: &mut String, lcg: &mut Lcg, number: usize) {
    let name = lcg.pick(&WORDS);
    let _ = write!(out, "{{\"name\":\"mcp__{name}s__{}_{number}\",\"description\":", lcg.pick(&WORDS));
    let bytes = 80 + lcg.below(300);
    let description = prose(lcg, bytes);
    string(out, &description);
    out.push_str(",\"input_schema\":{\"type\":\"object\",\"properties\":{");
    let properties = 2 + lcg.below(7);
    for property in 0..properties {
        if property > 0 {
            out.push(',');
        }
        let _ = write!(out, "\"{}_{property}\":{{\"type\":", lcg.pick(&WORDS));
        match lcg.below(4) {
            0 => out.push_str("\"integer\",\"minimum\":0,\"maximum\":1000,\"default\":20"),
            1 => out.push_str("\"boolean\",\"default\":false"),
            2 => {
                out.push_str("\"string\",\"enum\":[");
                let entries = 2 + lcg.below(6);
                for entry in 0..entries {
                    let _ = write!(out, "{}\"{}\"", if entry > 0 { "," } else { "" }, lcg.pick(&WORDS));
                }
                out.push(']');
            }
            _ => out.push_str("\"array\",\"items\":{\"type\":\"string\",\"minLength\":1}"),
        }
        out.push_str(",\"description\":");
        let bytes = 20 + lcg.below(60);
        let description = prose(lcg, bytes);
        string(out, &description);
        out.push('}');
    }
    let required = lcg.pick(&WORDS);
    let _ = write!(
        out,
        "}},\"required\":[\"{required}_0\",\"{required}_1\"],\"additionalProperties\":false,\
         \"$schema\":\"http://json-schema.org/draft-07/schema#\"}}}}"
    );
}

/// A request of a coding agent in the Anthropic dialect: a system prompt, 20 tools, and turns in which files
/// are read and edited, until it has `bytes` bytes or a little more.
pub(crate) fn code_request(bytes: usize) -> Vec<u8> {
    let lcg = &mut Lcg(2);
    let mut out = String::with_capacity(bytes + 100_000);
    out.push_str("{\"model\":\"claude-fixed\",\"max_tokens\":32000,\"stream\":true,\"system\":[{\"type\":\"text\",\"text\":");
    let system = prose(lcg, 8_000);
    string(&mut out, &system);
    out.push_str(",\"cache_control\":{\"type\":\"ephemeral\"}}],\"tools\":[");
    for number in 0..20 {
        if number > 0 {
            out.push(',');
        }
        tool(&mut out, lcg, number);
    }
    out.push_str("],\"messages\":[{\"role\":\"user\",\"content\":");
    let ask = prose(lcg, 400);
    string(&mut out, &ask);
    out.push('}');
    let mut call = 0;
    while out.len() < bytes {
        call += 1;
        out.push_str(",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":");
        let say = prose(lcg, 120);
        string(&mut out, &say);
        let _ = write!(out, "}},{{\"type\":\"tool_use\",\"id\":\"toolu_{call:024}\",\"name\":");
        let size = 500 + lcg.below(12_000);
        if lcg.below(4) == 0 {
            out.push_str("\"Edit\",\"input\":{\"file_path\":\"/src/ledger/page.rs\",\"old_string\":");
            let old = source(lcg, size / 10);
            string(&mut out, &old);
            out.push_str(",\"new_string\":");
            let new = source(lcg, size / 8);
            string(&mut out, &new);
        } else {
            let _ = write!(out, "\"Read\",\"input\":{{\"file_path\":\"/src/{}.ts\"", lcg.pick(&WORDS));
        }
        let _ = write!(
            out,
            "}}}}]}},{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"toolu_{call:024}\",\
             \"type\":\"tool_result\",\"content\":"
        );
        let read = source(lcg, size);
        string(&mut out, &read);
        out.push_str("}]}");
    }
    out.push_str("]}");
    out.into_bytes()
}

/// A request that is all tool definitions.
pub(crate) fn schemas(bytes: usize) -> Vec<u8> {
    let lcg = &mut Lcg(3);
    let mut out = String::from("{\"model\":\"claude-fixed\",\"tools\":[");
    let mut number = 0;
    while out.len() < bytes {
        if number > 0 {
            out.push(',');
        }
        tool(&mut out, lcg, number);
        number += 1;
    }
    out.push_str("],\"messages\":[]}");
    out.into_bytes()
}

/// The same with the white space of a pretty printer, as dumps of tools often have it.
pub(crate) fn spaced(compact: &[u8]) -> Vec<u8> {
    let (mut out, mut depth, mut in_string, mut escaped) = (Vec::new(), 0, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    for &byte in compact {
        if in_string {
            out.push(byte);
            in_string = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                depth += 1;
                line(&mut out, depth);
            }
            b'}' | b']' => {
                depth -= 1;
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend(b": "),
            _ => {
                in_string = byte == b'"';
                out.push(byte);
            }
        }
    }
    out
}

/// A long talk in Greek, Japanese and emoji, as it is (`escaped` false) or with every character beyond
/// ASCII as `\u` escapes, which is what Python's encoder does.
pub(crate) fn beyond_ascii(bytes: usize, escaped: bool) -> Vec<u8> {
    const TEXT: [&str; 4] = [
        "Η κρυφή μνήμη γράφεται δύο φορές.",
        "索引を更新してから、もう一度テストを実行してください。",
        "完了しました 🎉🚀",
        "return Err(Error::new(\\\"σφάλμα\\\"));\\n",
    ];
    let lcg = &mut Lcg(4);
    let mut out = String::from("{\"messages\":[{\"role\":\"user\",\"content\":\"");
    while out.len() < bytes {
        for character in lcg.pick(&TEXT).chars() {
            if escaped && !character.is_ascii() {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            } else {
                out.push(character);
            }
        }
        if lcg.below(40) == 0 {
            out.push_str("\"},{\"role\":\"user\",\"content\":\"");
        }
    }
    out.push_str("\"}]}");
    out.into_bytes()
}
