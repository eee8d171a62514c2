//! What the small files of a model's folder say: its shape, how a text's vector is taken, how long a text may be.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::ModelError;

/// No small file is longer than this; a tokenizer's vocabulary is the longest.
const LONGEST: u64 = 32 << 20;

/// What a model looks like. Each number is within bounds, so that sizes made of them cannot overflow.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) layers: usize,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) inner: usize,
    pub(crate) words: usize,
    pub(crate) positions: usize,
    pub(crate) kinds: usize,
    pub(crate) epsilon: f32,
    /// The most tokens of a text, the two that enclose it counted.
    pub(crate) tokens: usize,
    pub(crate) pooling: Pooling,
}

/// How the vectors of a text's tokens become the text's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    Mean,
    First,
}

#[derive(Deserialize)]
struct Config {
    model_type: Option<String>,
    hidden_act: Option<String>,
    position_embedding_type: Option<String>,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    vocab_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: Option<f32>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    path: String,
    #[serde(default, rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
}

#[derive(Deserialize)]
#[serde(default)]
struct PoolingConfig {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
    pooling_mode_max_tokens: bool,
    pooling_mode_mean_sqrt_len_tokens: bool,
    pooling_mode_weightedmean_tokens: bool,
    pooling_mode_lasttoken: bool,
}

impl Default for PoolingConfig {
    fn default() -> Self {
        Self {
            pooling_mode_cls_token: false,
            pooling_mode_mean_tokens: true,
            pooling_mode_max_tokens: false,
            pooling_mode_mean_sqrt_len_tokens: false,
            pooling_mode_weightedmean_tokens: false,
            pooling_mode_lasttoken: false,
        }
    }
}

impl Shape {
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let config: Config = parse(&path, &read(&path)?)?;
        let refuse = |what: String| Err(ModelError::unsupported(&path, what));
        match config.model_type.as_deref() {
            Some("bert") => {}
            Some(other) => return refuse(format!("names a model of type {other:?}")),
            None => return refuse("names no `model_type`".to_owned()),
        }
        match config.hidden_act.as_deref() {
            None | Some("gelu") => {}
            Some(other) => return refuse(format!("asks for the activation {other:?}")),
        }
        match config.position_embedding_type.as_deref() {
            None | Some("absolute") => {}
            Some(other) => return refuse(format!("asks for {other:?} positions")),
        }
        for (name, value, most) in [
            ("num_hidden_layers", config.num_hidden_layers, 64),
            ("hidden_size", config.hidden_size, 4096),
            ("num_attention_heads", config.num_attention_heads, 256),
            ("intermediate_size", config.intermediate_size, 16_384),
            ("vocab_size", config.vocab_size, 1 << 20),
            ("max_position_embeddings", config.max_position_embeddings, 8192),
            ("type_vocab_size", config.type_vocab_size, 16),
        ] {
            if value == 0 || value > most {
                return refuse(format!("has a `{name}` of {value}, and 1 to {most} is supported"));
            }
        }
        if !config.hidden_size.is_multiple_of(config.num_attention_heads) {
            return Err(ModelError::broken(&path, "`hidden_size` is no multiple of `num_attention_heads`"));
        }
        let epsilon = config.layer_norm_eps.unwrap_or(1e-12);
        if !(0.0..1.0).contains(&epsilon) {
            return Err(ModelError::broken(&path, "`layer_norm_eps` is not within 0 and 1"));
        }
        let path = folder.join("sentence_bert_config.json");
        let sentence: Option<SentenceConfig> =
            read_if_there(&path)?.map(|text| parse(&path, &text)).transpose()?;
        let tokens = sentence.and_then(|sentence| sentence.max_seq_length).unwrap_or(usize::MAX);
        Ok(Self {
            layers: config.num_hidden_layers,
            hidden: config.hidden_size,
            heads: config.num_attention_heads,
            inner: config.intermediate_size,
            words: config.vocab_size,
            positions: config.max_position_embeddings,
            kinds: config.type_vocab_size,
            epsilon,
            tokens: tokens.max(3).min(config.max_position_embeddings).min(512),
            pooling: pooling(folder)?,
        })
    }
}

/// How vectors are pooled: what the folder's modules say, else the mean.
fn pooling(folder: &Path) -> Result<Pooling, ModelError> {
    let path = folder.join("modules.json");
    let Some(text) = read_if_there(&path)? else { return Ok(Pooling::Mean) };
    let modules: Vec<Module> = parse(&path, &text)?;
    let mut pooling = Pooling::Mean;
    for module in modules {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            // Vectors are brought to length 1 in any case.
            "Transformer" | "Normalize" => {}
            "Pooling" => pooling = read_pooling(folder, &module.path)?,
            other => return Err(ModelError::unsupported(&path, format!("asks for a module {other:?}"))),
        }
    }
    Ok(pooling)
}

fn read_pooling(folder: &Path, name: &str) -> Result<Pooling, ModelError> {
    // A name is taken, never a way: the folder is all that is read.
    if name.is_empty() || name.contains(['/', '\\', ':']) || name.starts_with('.') {
        let path = folder.join("modules.json");
        return Err(ModelError::broken(path, format!("{name:?} is no folder for a pooling module")));
    }
    let path = folder.join(name).join("config.json");
    let config: PoolingConfig = parse(&path, &read(&path)?)?;
    let other = config.pooling_mode_max_tokens
        || config.pooling_mode_mean_sqrt_len_tokens
        || config.pooling_mode_weightedmean_tokens
        || config.pooling_mode_lasttoken;
    match (config.pooling_mode_mean_tokens, config.pooling_mode_cls_token, other) {
        (true, false, false) => Ok(Pooling::Mean),
        (false, true, false) => Ok(Pooling::First),
        _ => Err(ModelError::unsupported(&path, "asks for a pooling other than mean or first token")),
    }
}

/// Reads a small file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ModelError> {
    read_if_there(path)?.ok_or_else(|| ModelError::Unreadable {
        path: path.to_owned(),
        source: io::ErrorKind::NotFound.into(),
    })
}

/// Reads a small file; `None` where there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, ModelError> {
    let unreadable = |source| ModelError::Unreadable { path: path.to_owned(), source };
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(ModelError::broken(path, format!("it is longer than {LONGEST} bytes")));
    }
    Ok(Some(bytes))
}

/// Opens a regular file; nothing else, because a pipe could wait for ever.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    File::open(path)
}

pub(crate) fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, ModelError> {
    serde_json::from_slice(text).map_err(|error| ModelError::broken(PathBuf::from(path), error))
}
