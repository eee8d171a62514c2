//! The protocol as a scripted server plays it, whatever carries the messages.

use super::script::{Act, Era, Generate, Page, Script};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

pub(super) const MODERN: &str = "2026-07-28";

/// Where messages go, and where replies come from.
pub(super) trait Out {
    /// Sends a line as it is.
    fn line(&mut self, line: &[u8]) -> io::Result<()>;
    /// Sends bytes as they are.
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Waits for the reply to a request of the server's own.
    fn reply(&mut self, id: &str) -> io::Result<Value>;
    /// Closes standard output.
    fn close(&mut self) -> io::Result<()>;
}

/// A script being played.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) script: Script,
    initialized: AtomicBool,
    asked: AtomicU64,
    /// Which list is served.
    list: AtomicUsize,
    held: Mutex<Vec<Vec<u8>>>,
}

impl Player {
    pub(super) const fn new(script: Script) -> Self {
        Self {
            script,
            initialized: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            list: AtomicUsize::new(0),
            held: Mutex::new(Vec::new()),
        }
    }

    /// Does what the script wants at a point that is no request.
    pub(super) fn at(&self, point: &str, out: &mut dyn Out) -> io::Result<()> {
        self.acts(point, None, out).map(drop)
    }

    /// Takes in a message and answers it.
    pub(super) fn handle(&self, message: &Value, out: &mut dyn Out) -> io::Result<()> {
        if let Some(file) = &self.script.record {
            let mut file = OpenOptions::new().create(true).append(true).open(file)?;
            file.write_all(format!("{message}\n").as_bytes())?;
        }
        let Some(method) = message["method"].as_str() else { return Ok(()) };
        if method == "notifications/initialized" {
            self.initialized.store(true, Ordering::SeqCst);
        }
        if message["id"].is_null() {
            return self.at(method, out);
        }
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        let own = format!("{method}:{tool}");
        let point = if self.script.on.contains_key(&own) { &own } else { method };
        if !self.acts(point, Some(message), out)? {
            out.line(&self.answer(message))?;
        }
        Ok(())
    }

    /// Whether the acts have answered the request.
    fn acts(&self, point: &str, request: Option<&Value>, out: &mut dyn Out) -> io::Result<bool> {
        let acts = self.script.on.get(point).map(Vec::as_slice).unwrap_or_default();
        self.do_all(acts, request, out)
    }

    fn do_all(&self, acts: &[Act], request: Option<&Value>, out: &mut dyn Out) -> io::Result<bool> {
        let id = request.map_or_else(|| "null".to_owned(), |request| request["id"].to_string());
        let mut answered = false;
        for act in acts {
            match act {
                Act::Sleep(milliseconds) => thread::sleep(Duration::from_millis(*milliseconds)),
                Act::Stdout(line) => out.line(line.as_bytes())?,
                Act::StdoutHex(hex) => out.bytes(&unhex(hex))?,
                Act::Stderr(line) => err(line.as_bytes()),
                Act::StderrFlood(bytes) => {
                    for index in 0..bytes / 80 {
                        err(format!("{index:079}").as_bytes());
                    }
                }
                Act::StderrEnv(name) => err(std::env::var(name).unwrap_or_default().as_bytes()),
                Act::Ask { method, reply } => self.ask(method, reply, out)?,
                Act::Pings(count) => {
                    for index in 0..*count {
                        let ping = json!({"jsonrpc": "2.0", "id": format!("ping-{index}"), "method": "ping"});
                        out.line(ping.to_string().as_bytes())?;
                    }
                }
                Act::Notify(method) => {
                    let notification = json!({"jsonrpc": "2.0", "method": method, "params": {}});
                    out.line(notification.to_string().as_bytes())?;
                }
                Act::Answer(text) => {
                    answered = true;
                    out.line(text.replace("$ID", &id).as_bytes())?;
                }
                Act::AnswerHex(hex) => {
                    answered = true;
                    out.line(&unhex(hex))?;
                }
                Act::Error { code, message } => {
                    answered = true;
                    out.line(&error(&id, *code, message))?;
                }
                Act::Proceed => {
                    answered = true;
                    if let Some(request) = request {
                        out.line(&self.answer(request))?;
                    }
                }
                Act::AnswerText(bytes) => {
                    answered = true;
                    let text = "All work and no play. ".repeat(bytes / 22 + 1);
                    let text = text.get(..*bytes).unwrap_or_default();
                    out.line(&said(&id, text, request.is_some_and(is_modern)))?;
                }
                Act::Hold => {
                    answered = true;
                    let answer = request.map(|request| self.answer(request));
                    self.held.lock().unwrap_or_else(PoisonError::into_inner).extend(answer);
                }
                Act::Release => {
                    for line in self.held.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                        out.line(&line)?;
                    }
                }
                Act::List(number) => self.list.store(*number, Ordering::SeqCst),
                Act::Once { file, acts } => {
                    if OpenOptions::new().write(true).create_new(true).open(file).is_ok() {
                        answered |= self.do_all(acts, request, out)?;
                    }
                }
                Act::Silence => answered = true,
                Act::Exit(code) => std::process::exit(*code),
                Act::Signal(number) => signal(*number),
                Act::CloseStdout => out.close()?,
                Act::Grandchild => self.grandchild()?,
            }
        }
        Ok(answered)
    }

    /// Asks the client and checks its reply; a wrong one ends the server with exit code 97.
    fn ask(&self, method: &str, expected: &Value, out: &mut dyn Out) -> io::Result<()> {
        let id = format!("ask-{}", self.asked.fetch_add(1, Ordering::SeqCst));
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}});
        out.line(request.to_string().as_bytes())?;
        let reply = out.reply(&id)?;
        let given = reply.get("result").or_else(|| reply.get("error"));
        if given != Some(expected) {
            return Err(io::Error::other(format!("wrong reply to {method}: {reply}")));
        }
        Ok(())
    }

    /// A process that outlives this one unless somebody ends it.
    fn grandchild(&self) -> io::Result<()> {
        let own = std::env::current_exe()?;
        Command::new(own).arg("--for-ever").arg(&self.script.name).stdin(Stdio::null()).spawn().map(drop)
    }

    fn answer(&self, message: &Value) -> Vec<u8> {
        let id = message["id"].to_string();
        let meta = &message["params"]["_meta"];
        let version = &meta["io.modelcontextprotocol/protocolVersion"];
        let is_modern = !version.is_null();
        match message["method"].as_str().unwrap_or_default() {
            "initialize" if self.script.era != Era::Modern => {
                let asked = message["params"]["protocolVersion"].as_str().unwrap_or_default();
                let version = self.script.protocol_version.as_deref().unwrap_or(asked);
                let mut result = self.introduction();
                result["protocolVersion"] = version.into();
                result["serverInfo"] = self.info();
                answer(&id, &result.to_string())
            }
            _ if is_modern && self.script.era == Era::Legacy => error(&id, -32601, "Method not found"),
            _ if is_modern && version != MODERN => unsupported(&id),
            _ if is_modern && !meta["io.modelcontextprotocol/clientCapabilities"].is_object() => {
                error(&id, -32602, "no clientCapabilities")
            }
            "server/discover" if is_modern => {
                let mut result = self.introduction();
                result["resultType"] = "complete".into();
                result["supportedVersions"] = json!([MODERN]);
                result["ttlMs"] = 0.into();
                result["cacheScope"] = "public".into();
                result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": self.info()});
                answer(&id, &result.to_string())
            }
            _ if !is_modern && self.script.era == Era::Modern => unsupported(&id),
            "tools/list" if self.script.no_tools => error(&id, -32601, "Method not found"),
            "tools/list" if !is_modern && !self.initialized.load(Ordering::SeqCst) => {
                error(&id, -32600, "tools/list before notifications/initialized")
            }
            "tools/list" => self.page(&id, message["params"].get("cursor"), is_modern),
            "tools/call" if self.offers(&message["params"]["name"]) => {
                let params = &message["params"];
                let words =
                    format!("{} {}", params["name"].as_str().unwrap_or_default(), params["arguments"]);
                said(&id, &words, is_modern)
            }
            "tools/call" => error(&id, -32602, "there is no such tool"),
            "ping" => answer(&id, "{}"),
            _ => error(&id, -32601, "Method not found"),
        }
    }

    fn info(&self) -> Value {
        let mut info = json!({"name": self.script.name});
        if let Some(version) = &self.script.version {
            info["version"] = version.as_str().into();
        }
        info
    }

    fn introduction(&self) -> Value {
        let capabilities = match (self.script.no_tools, self.script.later.is_empty()) {
            (true, _) => json!({}),
            (_, true) => json!({"tools": {}}),
            (_, false) => json!({"tools": {"listChanged": true}}),
        };
        let mut result = json!({"capabilities": capabilities});
        if let Some(instructions) = &self.script.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        result
    }

    /// The list that is served now.
    fn pages(&self) -> &[Page] {
        let number = self.list.load(Ordering::SeqCst);
        let later = number.checked_sub(1).and_then(|index| self.script.later.get(index));
        later.unwrap_or(&self.script.pages)
    }

    /// Whether a tool of this name is in the list.
    fn offers(&self, name: &Value) -> bool {
        let raw = |text: &String| serde_json::from_str::<Value>(text).is_ok_and(|tool| tool["name"] == *name);
        let made_up = name.as_str().is_some_and(|name| name.starts_with("made_up_"));
        self.pages().iter().any(|page| {
            page.tools.iter().any(|tool| tool["name"] == *name)
                || page.raw.iter().any(raw)
                || (made_up && page.generate.is_some())
        })
    }

    fn page(&self, id: &str, cursor: Option<&Value>, modern: bool) -> Vec<u8> {
        if let Some(endless) = self.script.endless {
            let number = cursor.and_then(Value::as_str).and_then(|text| text.parse().ok()).unwrap_or(0usize);
            let names: Vec<String> = match endless.new_tools {
                0 => vec!["same".to_owned()],
                count => (0..count).map(|index| format!("tool-{number}-{index}")).collect(),
            };
            let tools = names.iter().map(|name| json!({"name": name, "inputSchema": {}}).to_string());
            return list(id, &tools.collect::<Vec<_>>(), Some(&json!((number + 1).to_string())), modern);
        }
        let pages = self.pages();
        let next_of = |index: usize| {
            let plain = (index + 1 < pages.len()).then(|| json!(format!("page-{}", index + 1)));
            pages.get(index).and_then(|page| page.next.clone()).or(plain)
        };
        let index = match cursor {
            None => Some(0),
            Some(cursor) => {
                (0..pages.len()).find(|index| next_of(*index).as_ref() == Some(cursor)).map(|at| at + 1)
            }
        };
        let Some(index) = index else { return error(id, -32602, "unknown cursor") };
        let mut tools = Vec::new();
        if let Some(page) = pages.get(index) {
            tools.extend(page.tools.iter().map(Value::to_string));
            tools.extend(page.raw.iter().cloned());
            if let Some(Generate { tools: count, description }) = page.generate {
                let text = "All work and no play. ".repeat(description / 22 + 1);
                let text = text.get(..description).unwrap_or_default();
                tools.extend((0..count).map(|index| {
                    format!(
                        r#"{{"name":"made_up_{index}","description":"{text}","inputSchema":{{"type":"object"}}}}"#
                    )
                }));
            }
        }
        list(id, &tools, next_of(index).as_ref(), modern)
    }
}

fn list(id: &str, tools: &[String], next: Option<&Value>, modern: bool) -> Vec<u8> {
    let next = next.map(|next| format!(r#","nextCursor":{next}"#)).unwrap_or_default();
    let kind = if modern { r#","resultType":"complete","ttlMs":0,"cacheScope":"public""# } else { "" };
    answer(id, &format!(r#"{{"tools":[{}]{next}{kind}}}"#, tools.join(",")))
}

/// The result of a tool that says this.
fn said(id: &str, text: &str, modern: bool) -> Vec<u8> {
    let kind = if modern { r#","resultType":"complete""# } else { "" };
    answer(id, &format!(r#"{{"content":[{{"type":"text","text":{}}}]{kind}}}"#, Value::from(text)))
}

fn is_modern(message: &Value) -> bool {
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string()
}

fn answer(id: &str, result: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

pub(super) fn error(id: &str, code: i64, message: &str) -> Vec<u8> {
    let message = Value::from(message);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#).into_bytes()
}

fn unsupported(id: &str) -> Vec<u8> {
    let error =
        json!({"code": -32022, "message": "Unsupported protocol version", "data": {"supported": [MODERN]}});
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

fn unhex(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    digits
        .chunks(2)
        .filter_map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).ok())
        .collect()
}

/// A line to standard error; nobody may be there to read it.
fn err(line: &[u8]) {
    use std::io::Write;
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(line).and_then(|()| stderr.write_all(b"\n"));
}

fn signal(number: i32) {
    let _ = Command::new("kill").arg(format!("-{number}")).arg(std::process::id().to_string()).status();
    // The signal may take a moment, and must not be overtaken by an answer.
    thread::sleep(Duration::from_secs(60));
}
