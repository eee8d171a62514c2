//! The file in which logins are kept: JSON, for its owner only, written as a whole.

use crate::text::Text;
use async_trait::async_trait;
use reqwest::header::HeaderValue;
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Most bytes of the file that are read.
const MOST: u64 = 16 << 20;

/// A login as it is kept.
#[derive(Debug, Clone)]
pub(super) struct Login {
    pub(super) issuer: Option<String>,
    pub(super) client: String,
    pub(super) secret: Option<Text>,
    pub(super) token: Text,
    /// When it came and how long it lives, in seconds.
    life: Option<(u64, u64)>,
}

impl Login {
    fn of(entry: &Value) -> Option<Self> {
        let credentials = &entry["credentials"];
        let tokens = &credentials["token_response"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            issuer: text(&entry["issuer"]),
            client: text(&credentials["client_id"])?,
            secret: text(&entry["client_secret"]).map(Text::secret),
            token: Text::secret(text(&tokens["access_token"])?),
            life: credentials["token_received_at"].as_u64().zip(tokens["expires_in"].as_u64()),
        })
    }

    /// Whether its time is nearly over.
    pub(super) fn ends_soon(&self, now: u64) -> bool {
        let Some((since, life)) = self.life else { return false };
        let left = life.saturating_sub(now.saturating_sub(since));
        left < super::BEFORE_END.min(life / 2).max(1)
    }

    /// The value of the header `Authorization`.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.token.reveal())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// The logins of one server in the file.
#[derive(Debug, Clone)]
pub(super) struct Store {
    file: PathBuf,
    resource: String,
    /// Which authorization server's, once that is known.
    issuer: Option<String>,
    secret: Option<Text>,
}

impl Store {
    pub(super) fn new(file: &Path, resource: &str) -> Self {
        Self { file: file.to_owned(), resource: resource.to_owned(), issuer: None, secret: None }
    }

    /// The same, for the authorization server and with the client's secret of a login.
    pub(super) fn with(mut self, login: &Login) -> Self {
        self.issuer.clone_from(&login.issuer);
        self.secret.clone_from(&login.secret);
        self
    }

    /// The same, with a secret that the client was given.
    pub(super) fn with_secret(mut self, secret: Option<String>) -> Self {
        self.secret = secret.map(Text::secret);
        self
    }

    /// The login that was stored last.
    pub(super) fn newest(&self) -> io::Result<Option<Login>> {
        let logins = read(&self.file)?;
        Ok(logins.iter().rev().filter(|entry| self.is_ours(entry)).find_map(Login::of))
    }

    fn is_ours(&self, entry: &Value) -> bool {
        entry["resource"] == self.resource.as_str()
            && self.issuer.as_ref().is_none_or(|issuer| entry["issuer"] == issuer.as_str())
    }

    /// Changes the file while no other process does.
    fn change(&self, change: impl FnOnce(&mut Vec<Value>)) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        private_folder(folder)?;
        let lock = private(&beside(&self.file, ".lock"), false)?;
        lock.lock()?;
        let mut logins = read(&self.file)?;
        change(&mut logins);
        let text = serde_json::to_vec_pretty(&json!({"version": 1, "logins": logins}))?;
        let new = beside(&self.file, &format!(".{}.new", std::process::id()));
        let written = private(&new, true).and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        });
        let done = written.and_then(|()| std::fs::rename(&new, &self.file));
        if done.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        done
    }

    /// Waits until no other process renews this server's login; until the guard is dropped, none will.
    pub(super) async fn lock_for_renewal(&self) -> io::Result<File> {
        // A name for the server that can stand in a file's: it only has to differ.
        let name = self.resource.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let path = beside(&self.file, &format!(".{name:016x}.lock"));
        let folder = self.file.parent().unwrap_or(Path::new(".")).to_owned();
        let wait = move || {
            private_folder(&folder)?;
            let file = private(&path, false)?;
            file.lock()?;
            Ok(file)
        };
        tokio::task::spawn_blocking(wait).await.map_err(io::Error::other)?
    }

    async fn blocking<R: Send + 'static>(
        &self,
        work: impl FnOnce(Self) -> io::Result<R> + Send + 'static,
    ) -> Result<R, AuthError> {
        let store = self.clone();
        let failed = |error: io::Error| AuthError::CredentialStoreError(error.to_string());
        tokio::task::spawn_blocking(move || work(store))
            .await
            .map_err(|error| failed(io::Error::other(error)))?
            .map_err(failed)
    }
}

#[async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.blocking(|store| {
            let logins = read(&store.file)?;
            let entry = logins.iter().rev().find(|entry| store.is_ours(entry));
            Ok(entry.and_then(|entry| serde_json::from_value(entry["credentials"].clone()).ok()))
        })
        .await
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.blocking(move |store| {
            let mut entry = json!({
                "resource": store.resource,
                "issuer": credentials.issuer,
                "credentials": credentials,
            });
            if let Some(secret) = &store.secret {
                entry["client_secret"] = secret.reveal().into();
            }
            store.change(|logins| {
                let same = |other: &Value| {
                    other["resource"] == entry["resource"] && other["issuer"] == entry["issuer"]
                };
                logins.retain(|other| !same(other));
                logins.push(entry.clone());
            })
        })
        .await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.blocking(|store| store.change(|logins| logins.retain(|entry| !store.is_ours(entry)))).await
    }
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    file.with_file_name(name)
}

/// What is in the file; nothing where there is none.
fn read(file: &Path) -> io::Result<Vec<Value>> {
    let text = match crate::file::read(file, MOST) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    // A file that is not understood is not overwritten.
    let mut whole: Value = serde_json::from_slice(&text).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("it is broken at line {}", error.line()))
    })?;
    if whole["version"] != 1 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is of another version"));
    }
    match whole["logins"].take() {
        Value::Array(logins) => Ok(logins),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it has no list of logins")),
    }
}

/// A file for its owner only.
fn private(path: &Path, empty: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(empty);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
