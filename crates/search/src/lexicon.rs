//! The few words that are treated specially: those that carry nothing, those that only carry politeness, and those
//! that name the same kind of action or thing. All of it is general; nothing is here for one tool's sake.

/// Words that say nothing about what is wanted.
const EMPTY: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at",
    "be", "been", "before", "being", "between", "both", "but", "by", "can", "could", "did", "do", "does",
    "doing", "down", "during", "each", "either", "else", "etc", "ever", "every", "few", "for", "from",
    "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if",
    "in", "into", "is", "it", "its", "just", "let", "ll", "may", "me", "might", "more", "most", "must", "my",
    "no", "nor", "not", "now", "of", "off", "on", "once", "only", "onto", "or", "other", "our", "ours",
    "out", "over", "own", "per", "re", "same", "shall", "she", "should", "so", "some", "such", "than",
    "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "through",
    "to", "too", "under", "until", "up", "upon", "us", "ve", "very", "via", "was", "we", "were", "what",
    "when", "where", "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "within",
    "without", "would", "you", "your", "yours", "don", "doesn", "didn", "isn", "aren", "wasn", "won", "s",
    "t", "d", "m", "и", "в", "во", "не", "на", "я", "с", "со", "как", "а", "то", "по", "за", "из", "к", "ко",
    "у", "же", "от", "о", "об", "для", "мне", "мои", "моя", "мой", "это", "все", "ли", "бы", "что", "или",
    "при", "до", "его", "ее", "их", "的", "了", "和", "是", "在", "我", "请",
];

/// Words with which people wrap a request, and that tools use of anything.
const COURTESY: &[&str] = &[
    "please",
    "help",
    "need",
    "want",
    "like",
    "provide",
    "give",
    "know",
    "interested",
    "looking",
    "look",
    "tell",
    "thank",
    "thanks",
    "assist",
    "assistance",
    "able",
    "love",
    "hope",
    "hoping",
    "wondering",
    "curious",
    "currently",
    "plan",
    "planning",
    "additionally",
    "furthermore",
    "moreover",
    "lastly",
    "finally",
    "first",
    "next",
    "specific",
    "certain",
    "various",
    "use",
    "using",
    "used",
    "tool",
    "api",
    "endpoint",
    "hi",
    "hello",
    "hey",
    "kindly",
    "ensure",
    "important",
    "great",
    "suggest",
    "try",
    "trying",
    "make",
    "sure",
    "ask",
    "way",
    "new",
    "return",
    "returns",
    "given",
    "based",
    "one",
    "пожалуйста",
    "помоги",
    "нужно",
    "хочу",
    "покажи",
];

/// Words that tools of every kind use: however few of a small catalogue have one, it tells little.
const COMMON: &[&str] = &[
    "get",
    "fetch",
    "retrieve",
    "obtain",
    "list",
    "find",
    "search",
    "lookup",
    "query",
    "show",
    "view",
    "read",
    "return",
    "create",
    "add",
    "make",
    "set",
    "update",
    "change",
    "check",
    "send",
    "run",
    "start",
    "select",
    "include",
    "contain",
    "data",
    "information",
    "info",
    "detail",
    "details",
    "result",
    "response",
    "request",
    "parameter",
    "argument",
    "input",
    "output",
    "value",
    "type",
    "name",
    "id",
    "identifier",
    "key",
    "field",
    "item",
    "object",
    "string",
    "number",
    "count",
    "list",
    "format",
    "json",
    "option",
    "default",
    "example",
    "available",
    "specific",
    "specified",
    "multiple",
    "single",
    "different",
    "current",
    "full",
    "complete",
    "detailed",
    "optional",
    "required",
    "related",
    "content",
    "resource",
    "service",
    "system",
    "call",
    "function",
    "method",
    "access",
    "support",
    "work",
    "good",
    "page",
    "limit",
    "time",
    "day",
    "top",
    "latest",
    "two",
    "set",
    "group",
    "kind",
    "thing",
    "part",
    "point",
    "case",
];

/// Words of one action or thing, the plainest first.
const KIN: &[&[&str]] = &[
    &["get", "fetch", "retrieve", "obtain", "read", "show", "view", "display", "load", "lookup", "query"],
    &["search", "find", "lookup", "query", "discover", "locate", "explore", "browse", "seek"],
    &["list", "enumerate", "show", "browse"],
    &["create", "add", "new", "make", "generate", "insert", "build", "produce", "define", "start"],
    &["delete", "remove", "drop", "erase", "clear", "destroy", "strip", "uninstall"],
    &["update", "edit", "modify", "change", "set", "alter", "patch", "adjust", "revise"],
    &["write", "save", "store", "record", "export"],
    &["send", "post", "publish", "submit", "share", "deliver"],
    &["convert", "transform", "translate", "turn", "change"],
    &["calculate", "compute", "evaluate", "count"],
    &["run", "execute", "launch", "invoke", "perform", "start"],
    &["stop", "cancel", "end", "kill", "terminate", "abort"],
    &["check", "verify", "validate", "test", "confirm"],
    &["compare", "diff", "difference"],
    &["merge", "combine", "join"],
    &["move", "rename", "relocate"],
    &["describe", "explain", "detail", "info", "information", "metadata", "about", "summary"],
    &["recommend", "suggest", "recommendation", "suggestion"],
    &["directory", "folder"],
    &["image", "picture", "photo", "photograph"],
    &["movie", "film"],
    &["repository", "repo"],
    &["mail", "email"],
    &["document", "doc", "docx", "word"],
    &["presentation", "ppt", "pptx", "powerpoint", "slide"],
    &["spreadsheet", "excel", "xlsx", "sheet", "workbook"],
    &["history", "log"],
    &["website", "site", "webpage", "url", "web"],
];

/// The lists above, by stem.
#[derive(Debug, Default)]
pub(crate) struct Lexicon {
    empty: std::collections::HashSet<&'static str>,
    courtesy: std::collections::HashSet<String>,
    common: std::collections::HashSet<String>,
    kin: std::collections::HashMap<String, Vec<String>>,
}

impl Lexicon {
    pub(crate) fn new(stem: impl Fn(&str) -> String) -> Self {
        let mut kin: std::collections::HashMap<String, Vec<String>> = std::collections::HashMap::new();
        for group in KIN {
            let stems: Vec<String> = group.iter().map(|word| stem(word)).collect();
            for one in &stems {
                let known = kin.entry(one.clone()).or_default();
                for other in &stems {
                    if other != one && !known.contains(other) {
                        known.push(other.clone());
                    }
                }
            }
        }
        Self {
            empty: EMPTY.iter().copied().collect(),
            courtesy: COURTESY.iter().map(|word| stem(word)).collect(),
            common: COMMON.iter().map(|word| stem(word)).collect(),
            kin,
        }
    }

    /// Whether a word, as written in lower case, says nothing.
    pub(crate) fn is_empty(&self, written: &str) -> bool {
        self.empty.contains(written)
    }

    /// Whether a stem only wraps requests.
    pub(crate) fn is_courtesy(&self, stem: &str) -> bool {
        self.courtesy.contains(stem)
    }

    /// Whether tools of every kind use a stem.
    pub(crate) fn is_common(&self, stem: &str) -> bool {
        self.common.contains(stem)
    }

    /// Stems of the same action or thing.
    pub(crate) fn kin(&self, stem: &str) -> &[String] {
        self.kin.get(stem).map_or(&[], Vec::as_slice)
    }
}
