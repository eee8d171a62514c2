//! A made-up fortnight: the same every time. Agents of several kinds, servers that nobody calls, prefixes that are lost,
//! refusals, an edited body, names that want to be markup.
#![allow(unreachable_pub, clippy::print_stderr, reason = "shared by tests of several crates")]

use deadweight_store::{
    Asked, CacheWatch, Call, Cost, Ended, Exchange, Footprint, Kind, LeverAction, Listing, Observed, Origin,
    Outcome, Receipt, Recorder, Segment, Slice, Splice, StandingPart, ToolLine, ToolSet,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// When the fortnight ends: 2026-12-01 00:41:07 UTC.
pub const NOW: u64 = 1_796_085_667_000;
/// The session that has everything.
pub const LONG: &str = "5c1e0f2a-77aa-4d1f-9a52-1c2f8a0b6d3e";
const DAY: u64 = 86_400_000;

/// Numbers that look like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

fn tool(name: &str, origin: Origin, server: &str, own: &str, tokens: u64, deferred: bool) -> ToolLine {
    ToolLine {
        name: name.to_owned(),
        namespace: String::new(),
        origin,
        server: server.to_owned(),
        own_name: own.to_owned(),
        bytes: tokens * 9 / 2,
        tokens,
        description_tokens: tokens / 3,
        deferred,
    }
}

/// The tools of Claude Code as it might be, with some servers.
pub fn tools(with_github: bool) -> Arc<ToolSet> {
    let own = [
        ("Agent", 1_910),
        ("Bash", 2_740),
        ("Edit", 690),
        ("Glob", 310),
        ("Grep", 820),
        ("NotebookEdit", 560),
        ("Read", 640),
        ("Skill", 470),
        ("TodoWrite", 2_330),
        ("WebFetch", 520),
        ("WebSearch", 480),
        ("Write", 410),
        ("ExitPlanMode", 610),
        ("KillShell", 150),
        ("AskUserQuestion", 930),
    ];
    let mut all: Vec<ToolLine> =
        own.iter().map(|(name, tokens)| tool(name, Origin::Builtin, "", "", *tokens, false)).collect();
    if with_github {
        let names = [
            "create_issue",
            "create_pull_request",
            "list_commits",
            "search_code",
            "get_file_contents",
            "push_files",
            "merge_pull_request",
            "add_issue_comment",
            "list_issues",
            "get_pull_request_files",
            "create_or_update_file",
            "fork_repository",
            "search_repositories",
        ];
        for (at, name) in names.iter().enumerate() {
            let tokens = 640 - 37 * at as u64;
            all.push(tool(&format!("mcp__github__{name}"), Origin::Mcp, "github", "", tokens, false));
        }
    }
    for (name, tokens) in [("query", 420), ("list_tables", 130), ("describe_table", 160)] {
        all.push(tool(&format!("mcp__postgres__{name}"), Origin::Mcp, "postgres", "", tokens, false));
    }
    for (name, tokens) in [
        ("browser_click", 44),
        ("browser_navigate", 42),
        ("browser_snapshot", 40),
        ("browser_type", 46),
        ("load_tools", 130),
    ] {
        all.push(tool(&format!("mcp__playwright__{name}"), Origin::Mcp, "playwright", name, tokens, false));
    }
    all.push(tool(
        "mcp__<script>alert(1)</script>__x\u{202e}y",
        Origin::Mcp,
        "<script>alert(1)</script>",
        "",
        24,
        true,
    ));
    ToolSet::new(all)
}

fn few(agent: &str) -> Arc<ToolSet> {
    let own: &[(&str, u64)] = match agent {
        "codex" => &[
            ("exec_command", 620),
            ("apply_patch", 940),
            ("update_plan", 310),
            ("view_image", 140),
            ("web_search", 90),
        ],
        _ => &[
            ("read_file", 210),
            ("write_file", 230),
            ("run_shell_command", 820),
            ("glob", 260),
            ("search_file_content", 350),
            ("save_memory", 480),
            ("google_web_search", 120),
        ],
    };
    ToolSet::new(
        own.iter().map(|(name, tokens)| tool(name, Origin::Builtin, "", "", *tokens, false)).collect(),
    )
}

fn slice(tokens: u64) -> Slice {
    Slice { wire_bytes: tokens * 41 / 10, content_bytes: tokens * 15 / 4, tokens }
}

fn segment(slice: &str, kind: &str, count: u64, tokens: u64, breakpoint: Option<&str>) -> Segment {
    Segment {
        slice: slice.to_owned(),
        kind: kind.to_owned(),
        count,
        content_bytes: tokens * 4,
        tokens,
        breakpoint: breakpoint.map(str::to_owned),
    }
}

/// One agent's way.
struct Agent {
    name: &'static str,
    provider: &'static str,
    dialect: &'static str,
    path: &'static str,
    model: &'static str,
    system: u64,
    /// Nano-USD a token of input.
    price: u64,
}

const AGENTS: [Agent; 3] = [
    Agent {
        name: "claude-code",
        provider: "anthropic",
        dialect: "anthropic-messages",
        path: "/v1/messages",
        model: "claude-opus-5",
        system: 1_930,
        price: 5_000,
    },
    Agent {
        name: "codex",
        provider: "openai",
        dialect: "openai-responses",
        path: "/v1/responses",
        model: "gpt-5.5",
        system: 5_360,
        price: 2_500,
    },
    Agent {
        name: "gemini-cli",
        provider: "gemini",
        dialect: "gemini-generate",
        path: "/v1beta/models/gemini-3-pro:streamGenerateContent",
        model: "gemini-3-pro",
        system: 6_750,
        price: 1_250,
    },
];

struct Turn<'a> {
    agent: &'a Agent,
    session: &'a str,
    conversation: &'a str,
    turn: u64,
    at_ms: u64,
    history: u64,
    tail: u64,
    tools: Arc<ToolSet>,
    /// Class and tokens lost.
    class: &'a str,
    lost: u64,
    gap_ms: Option<u64>,
    calls: Vec<(String, u64)>,
}

fn exchange(of: Turn<'_>, chance: &mut Chance) -> Exchange {
    let paid: u64 = of.tools.tools().iter().filter(|tool| !tool.deferred).map(|tool| tool.tokens).sum();
    let layout = vec![
        segment("tools", "tools", of.tools.tools().len() as u64, paid, None),
        segment("system", "text", 1, 60, None),
        segment("system", "text", 1, of.agent.system - 60, Some("1h")),
        segment("history", "text", 1, of.history / 6, None),
        segment("history", "tool_use", of.turn, of.history / 8, None),
        segment("history", "tool_result", of.turn, of.history / 2, None),
        segment("history", "thinking", of.turn, of.history / 6, None),
        segment("history", "tool_result", 1, of.history / 24, Some("5m")),
        segment("tail", "tool_result", 1, of.tail, Some("5m")),
    ];
    let sent = paid + of.agent.system + of.history + of.tail;
    let prompt = sent * 104 / 100;
    let read = if of.turn == 1 { 0 } else { (prompt - of.tail).saturating_sub(of.lost * 104 / 100) };
    let uncached = 3 + chance.below(4);
    let written = prompt.saturating_sub(read).saturating_sub(uncached);
    let output = 80 + chance.below(700);
    let price = of.agent.price;
    let id: String = (0..4).map(|_| format!("{:08x}", chance.below(1 << 31))).collect();
    let sha: String = (0..8).map(|_| format!("{:08x}", chance.below(1 << 31))).collect();
    let bytes = sent * 4 + 300;
    Exchange {
        id,
        at_ms: of.at_ms,
        provider: of.agent.provider.to_owned(),
        asked: Asked::Generate,
        dialect: Some(of.agent.dialect.to_owned()),
        method: "POST".to_owned(),
        path: of.agent.path.to_owned(),
        model: Some(of.agent.model.to_owned()),
        agent: Some(of.agent.name.to_owned()),
        session: of.session.to_owned(),
        conversation: of.conversation.to_owned(),
        turn: Some(of.turn),
        ended: Ended {
            how: "complete".to_owned(),
            status: Some(200),
            error: None,
            request_id: Some("req_011CVKd9sXmLq".to_owned()),
            streamed: true,
            first_byte_us: Some(300_000 + chance.below(900_000)),
            took_us: 1_500_000 + chance.below(9_000_000),
            answer_bytes: output * 30,
        },
        receipt: Receipt {
            received_bytes: bytes,
            received_sha256: Some(sha.clone()),
            sent_bytes: bytes,
            sent_sha256: Some(sha),
            splices: Vec::new(),
        },
        footprint: Some(Footprint {
            estimator: "calibrated/1".to_owned(),
            system: slice(of.agent.system),
            tools: slice(paid),
            history: slice(of.history),
            tail: slice(of.tail),
            envelope_bytes: 212,
            standing: vec![
                StandingPart { kind: "memory_file".to_owned(), content_bytes: 2_775, tokens: 740 },
                StandingPart { kind: "skills".to_owned(), content_bytes: 1_200, tokens: 320 },
            ],
            delta: None,
            tool_count: of.tools.tools().iter().filter(|tool| !tool.deferred).count() as u64,
            deferred_count: of.tools.tools().iter().filter(|tool| tool.deferred).count() as u64,
            layout,
        }),
        unmeasured: None,
        usage: Observed {
            uncached: Some(uncached),
            cache_read: Some(read),
            cache_write_5m: Some(written),
            output: Some(output),
            prompt: Some(prompt),
            ..Observed::default()
        },
        cost: Some(Cost {
            uncached: uncached * price,
            cache_read: read * price / 10,
            cache_write_5m: written * price * 5 / 4,
            cache_write_1h: 0,
            output: output * price * 5,
            equivalent_tokens: Some(uncached + read / 10 + written * 5 / 4),
            price_date: "2026-11-20".to_owned(),
        }),
        cache: Some(CacheWatch {
            class: of.class.to_owned(),
            also: Vec::new(),
            kept_tokens: (sent - of.tail).saturating_sub(of.lost),
            lost_tokens: of.lost,
            lost_nano: Some(of.lost * price * 23 / 20),
            gap_ms: of.gap_ms,
            miss_reason: (of.class == "tool_set").then(|| "tools_changed".to_owned()),
            agrees: Some(true),
            received: None,
        }),
        tools: Some(of.tools),
        calls: of.calls,
        levers: Vec::new(),
    }
}

/// A session of `turns` turns that begins at `at_ms`.
fn session(agent: &Agent, key: &str, at_ms: u64, turns: u64, chance: &mut Chance) -> Vec<Exchange> {
    let claude = agent.name == "claude-code";
    let mut out = Vec::new();
    let (mut at, mut history) = (at_ms, 0);
    for turn in 1..=turns {
        let set = if claude { tools(turn >= 4 || key != LONG) } else { few(agent.name) };
        let tail = 60 + chance.below(1_800);
        let floor: u64 = set.tools().iter().map(|tool| tool.tokens).sum::<u64>() + agent.system;
        let mut gap = 8_000 + chance.below(70_000);
        let all = floor + history;
        let (class, lost) = match turn {
            1 => ("first", 0),
            4 if key == LONG => ("tool_set", all),
            19 if claude => ("system", agent.system + history),
            31 if claude => {
                gap = 1_320_000;
                ("ttl_lapse", all)
            }
            _ if history > 120_000 => {
                history = 6_200;
                ("compaction", 0)
            }
            _ => ("append", 0),
        };
        at += gap;
        let names: &[&str] = if claude {
            &[
                "Bash",
                "Read",
                "Edit",
                "Grep",
                "TodoWrite",
                "Write",
                "Glob",
                "mcp__postgres__query",
                "mcp__playwright__browser_snapshot",
            ]
        } else if agent.name == "codex" {
            &["exec_command", "apply_patch", "update_plan"]
        } else {
            &["read_file", "run_shell_command", "write_file"]
        };
        let calls = if turn == 1 {
            Vec::new()
        } else {
            let name = names[chance.below(names.len() as u64 * 2) as usize % names.len()];
            vec![(name.to_owned(), 1 + chance.below(2))]
        };
        let of = Turn {
            agent,
            session: key,
            conversation: "main",
            turn,
            at_ms: at,
            history,
            tail,
            tools: set,
            class,
            lost,
            gap_ms: (turn > 1).then_some(gap),
            calls,
        };
        let mut one = exchange(of, chance);
        if key == LONG {
            special(&mut one, turn);
        }
        history += tail + one.usage.output.unwrap_or(0);
        out.push(one);
    }
    out
}

/// What happens in the session that has everything.
fn special(one: &mut Exchange, turn: u64) {
    match turn {
        12 => {
            one.ended.status = Some(529);
            one.ended.error = Some("overloaded_error".to_owned());
            one.usage = Observed::default();
            one.cost = None;
        }
        23 => {
            one.ended.how = "upstream_cut".to_owned();
            one.ended.error = Some("connection reset".to_owned());
        }
        27 => {
            one.receipt.sent_bytes -= 7_820;
            one.receipt.sent_sha256 = Some("cd34".repeat(16));
            one.receipt.splices =
                vec![Splice { at: 90_480, removed: 7_900, inserted: 80, lever: "dedup".to_owned() }];
            one.levers = vec![
                LeverAction {
                    lever: "dedup".to_owned(),
                    edited: true,
                    splices: 1,
                    bytes: 7_820,
                    tokens: 2_085,
                    ..LeverAction::default()
                },
                LeverAction {
                    lever: "compact-history".to_owned(),
                    reason: "thinking_bound".to_owned(),
                    ..LeverAction::default()
                },
            ];
        }
        33 => {
            one.footprint = None;
            one.tools = None;
            one.cache = None;
            one.unmeasured = Some("the body was larger than 48 MiB".to_owned());
        }
        _ => {}
    }
}

/// Fills the ledger in `file`.
pub fn fill(file: &Path) {
    let recorder = Recorder::start(file.to_owned(), |error| eprintln!("{error}"));
    let mut sent = 0;
    let mut put = |one: Exchange| {
        while recorder.recorded().written + 2_000 < sent {
            std::thread::sleep(Duration::from_millis(1));
        }
        sent += 1;
        recorder.exchange(one);
    };
    let mut chance = Chance(20_261_201);
    for day in 0..14 {
        for at in 0..2 + chance.below(3) {
            let agent = &AGENTS[(chance.below(5) as usize).saturating_sub(2)];
            let key: String =
                (0..4).map(|_| format!("{:08x}", chance.below(1 << 31))).collect::<Vec<_>>().join("-");
            let start = NOW - (14 - day) * DAY + at * 9_000_000 + chance.below(3_000_000);
            let turns = 4 + chance.below(40);
            session(agent, &key, start, turns, &mut chance).into_iter().for_each(&mut put);
        }
    }
    let long = session(&AGENTS[0], LONG, NOW - 6_400_000, 64, &mut chance);
    let first = long.first().cloned().unwrap_or_default();
    long.into_iter().for_each(&mut put);
    // A title request and a sub-agent under the same name, a count, and a list of models.
    let aside = |id: &str, conversation: &str| Exchange {
        id: id.repeat(16),
        conversation: conversation.to_owned(),
        at_ms: first.at_ms + 1_000,
        tools: None,
        calls: Vec::new(),
        ..first.clone()
    };
    put(Exchange { model: Some("claude-haiku-5".to_owned()), ..aside("a1", "title") });
    put(aside("a2", "sub"));
    put(Exchange {
        asked: Asked::Count,
        turn: None,
        cache: None,
        usage: Observed::default(),
        cost: None,
        path: "/v1/messages/count_tokens".to_owned(),
        ..aside("a3", "")
    });
    put(Exchange {
        id: "a4".repeat(16),
        at_ms: NOW - 60_000,
        provider: "openai".to_owned(),
        method: "GET".to_owned(),
        path: "/v1/models/<img src=x>".to_owned(),
        ended: Ended { how: "client_left".to_owned(), ..Ended::default() },
        ..Exchange::default()
    });
    for at in 0..9 {
        recorder.record(Call {
            at_ms: NOW - 900_000 + at * 60_000,
            kind: Kind::Call,
            server: "playwright".to_owned(),
            tool: "browser_snapshot".to_owned(),
            client: "claude-code".to_owned(),
            session: "p".to_owned(),
            bytes_in: 12,
            bytes_out: 4_000,
            duration_us: 90_000,
            outcome: Outcome::Ok,
            loaded: true,
            surface: "stubs".to_owned(),
        });
    }
    recorder.listed(Listing {
        entry: "playwright".to_owned(),
        server: "playwright".to_owned(),
        client: "claude-code".to_owned(),
        at_ms: NOW - 7_000_000,
        surface: "stubs".to_owned(),
        deferred: true,
        why: "larger than its schema budget of 4,096 B".to_owned(),
        tools: 22,
        estimator: "calibrated/1".to_owned(),
        before_tokens: 4_120,
        after_tokens: 860,
        own_tokens: 130,
        gross_tokens: 3_260,
        net_tokens: 3_130,
        load_tokens: 210,
        break_even: Some(15),
    });
    recorder.flush(Duration::from_secs(60));
}
