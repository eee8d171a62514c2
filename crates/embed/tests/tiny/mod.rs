//! A model of two layers with weights from a seed, and the same network once more, written as plainly as it can be.

#![allow(dead_code, unreachable_pub, reason = "each user needs its part")]
#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub const HIDDEN: usize = 12;
pub const HEADS: usize = 3;
pub const INNER: usize = 20;
pub const LAYERS: usize = 2;
pub const POSITIONS: usize = 16;
pub const EPSILON: f64 = 1e-6;

pub const PIECES: [&str; 28] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "read", "file", "a", "the", "send", "mail", "##s", "##er", "##ing",
    "to", ".", ",", "中", "文", "cafe", "##x", "e", "-", "m", "##ail", "un", "##read", "##able", "##e",
];

pub struct Tiny {
    pub tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn number(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    }
}

impl Tiny {
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let mut tensors = BTreeMap::new();
        let mut add = |name: String, shape: &[usize]| {
            let numbers = (0..shape.iter().product()).map(|_| 2.0 * dice.number()).collect();
            tensors.insert(name, (shape.to_vec(), numbers));
        };
        let norm = |add: &mut dyn FnMut(String, &[usize]), name: String| {
            add(format!("{name}.weight"), &[HIDDEN]);
            add(format!("{name}.bias"), &[HIDDEN]);
        };
        add("embeddings.word_embeddings.weight".to_owned(), &[PIECES.len(), HIDDEN]);
        add("embeddings.position_embeddings.weight".to_owned(), &[POSITIONS, HIDDEN]);
        add("embeddings.token_type_embeddings.weight".to_owned(), &[2, HIDDEN]);
        norm(&mut add, "embeddings.LayerNorm".to_owned());
        for layer in 0..LAYERS {
            for (part, rows, columns) in [
                ("attention.self.query", HIDDEN, HIDDEN),
                ("attention.self.key", HIDDEN, HIDDEN),
                ("attention.self.value", HIDDEN, HIDDEN),
                ("attention.output.dense", HIDDEN, HIDDEN),
                ("intermediate.dense", INNER, HIDDEN),
                ("output.dense", HIDDEN, INNER),
            ] {
                add(format!("encoder.layer.{layer}.{part}.weight"), &[rows, columns]);
                add(format!("encoder.layer.{layer}.{part}.bias"), &[rows]);
            }
            norm(&mut add, format!("encoder.layer.{layer}.attention.output.LayerNorm"));
            norm(&mut add, format!("encoder.layer.{layer}.output.LayerNorm"));
        }
        Self { tensors }
    }

    /// Writes the model's folder.
    pub fn write(&self, folder: &Path) {
        fs::write(folder.join("config.json"), config()).unwrap();
        fs::write(folder.join("model.safetensors"), self.safetensors("", "F32")).unwrap();
        fs::write(folder.join("vocab.txt"), PIECES.join("\n")).unwrap();
    }

    /// The weights in a file, under names that begin with `prefix`, as numbers of `dtype`.
    pub fn safetensors(&self, prefix: &str, dtype: &str) -> Vec<u8> {
        let (mut entries, mut data) = (Vec::new(), Vec::<u8>::new());
        for (name, (shape, numbers)) in &self.tensors {
            let start = data.len();
            for number in numbers {
                match dtype {
                    "F32" => data.extend(number.to_le_bytes()),
                    // The upper half of the bits: the number, cut.
                    "BF16" => data.extend(&number.to_le_bytes()[2..]),
                    _ => unreachable!(),
                }
            }
            entries.push(format!(
                "\"{prefix}{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{start},{}]}}",
                data.len()
            ));
        }
        let header = format!("{{\"__metadata__\":{{\"format\":\"pt\"}},{}}}", entries.join(","));
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        self.tensors[name].1.iter().map(|number| f64::from(*number)).collect()
    }

    /// The vector of a text of these tokens.
    pub fn vector(&self, tokens: &[u32]) -> Vec<f64> {
        let words = self.numbers("embeddings.word_embeddings.weight");
        let positions = self.numbers("embeddings.position_embeddings.weight");
        let kinds = self.numbers("embeddings.token_type_embeddings.weight");
        let mut state: Vec<Vec<f64>> = tokens
            .iter()
            .enumerate()
            .map(|(at, token)| {
                let row = (0..HIDDEN)
                    .map(|i| words[*token as usize * HIDDEN + i] + positions[at * HIDDEN + i] + kinds[i]);
                self.norm("embeddings.LayerNorm", &row.collect::<Vec<f64>>())
            })
            .collect();
        for layer in 0..LAYERS {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            let all = |part: &str| -> Vec<Vec<f64>> {
                state.iter().map(|row| self.dense(&name(part), row)).collect()
            };
            let (queries, keys, values) =
                (all("attention.self.query"), all("attention.self.key"), all("attention.self.value"));
            let width = HIDDEN / HEADS;
            let mixed = queries.iter().map(|query| {
                let mut mixed = vec![0.0; HIDDEN];
                for head in 0..HEADS {
                    let own = head * width..(head + 1) * width;
                    let fits = keys.iter().map(|key| {
                        let fit: f64 = own.clone().map(|i| query[i] * key[i]).sum();
                        (fit / (width as f64).sqrt()).exp()
                    });
                    let fits: Vec<f64> = fits.collect();
                    let sum: f64 = fits.iter().sum();
                    for (fit, value) in fits.iter().zip(&values) {
                        own.clone().for_each(|i| mixed[i] += fit / sum * value[i]);
                    }
                }
                mixed
            });
            let mixed: Vec<Vec<f64>> = mixed.collect();
            for (row, mixed) in state.iter_mut().zip(mixed) {
                let attended = self.dense(&name("attention.output.dense"), &mixed);
                *row = self.norm(&name("attention.output.LayerNorm"), &sum(row, &attended));
                let wide = self.dense(&name("intermediate.dense"), row);
                let wide: Vec<f64> =
                    wide.iter().map(|x| x * 0.5 * (1.0 + erf(x / std::f64::consts::SQRT_2))).collect();
                let narrow = self.dense(&name("output.dense"), &wide);
                *row = self.norm(&name("output.LayerNorm"), &sum(row, &narrow));
            }
        }
        let mut mean = [0.0; HIDDEN];
        for row in &state {
            for (mean, x) in mean.iter_mut().zip(row) {
                *mean += x / state.len() as f64;
            }
        }
        let length = mean.iter().map(|x| x * x).sum::<f64>().sqrt();
        mean.iter().map(|x| x / length).collect()
    }

    fn dense(&self, name: &str, row: &[f64]) -> Vec<f64> {
        let (weight, bias) = (self.numbers(&format!("{name}.weight")), self.numbers(&format!("{name}.bias")));
        let product = |weights: &[f64]| -> f64 { weights.iter().zip(row).map(|(a, b)| a * b).sum() };
        weight.chunks(row.len()).zip(bias).map(|(weights, bias)| product(weights) + bias).collect()
    }

    fn norm(&self, name: &str, row: &[f64]) -> Vec<f64> {
        let (scale, shift) = (self.numbers(&format!("{name}.weight")), self.numbers(&format!("{name}.bias")));
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
        let place = |i: usize| (row[i] - mean) / (variance + EPSILON).sqrt() * scale[i] + shift[i];
        (0..row.len()).map(place).collect()
    }
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// The error function by its series.
fn erf(x: f64) -> f64 {
    let x = x.clamp(-5.0, 5.0);
    let (mut term, mut sum) = (x, x);
    for n in 1..120 {
        let n = f64::from(n);
        term *= -x * x / n;
        sum += term / (2.0 * n + 1.0);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

pub fn config() -> String {
    format!(
        "{{\"model_type\":\"bert\",\"hidden_act\":\"gelu\",\"hidden_size\":{HIDDEN},\"num_hidden_layers\":{LAYERS},\
         \"num_attention_heads\":{HEADS},\"intermediate_size\":{INNER},\"vocab_size\":{},\
         \"max_position_embeddings\":{POSITIONS},\"type_vocab_size\":2,\"layer_norm_eps\":{EPSILON}}}",
        PIECES.len()
    )
}

/// A `tokenizer.json` with the same pieces.
pub fn tokenizer() -> String {
    let pieces: Vec<String> =
        PIECES.iter().zip(0..).map(|(piece, token)| format!("{piece:?}:{token}")).collect();
    format!(
        "{{\"normalizer\":{{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,\
         \"strip_accents\":null,\"lowercase\":true}},\"pre_tokenizer\":{{\"type\":\"BertPreTokenizer\"}},\
         \"model\":{{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"vocab\":{{{}}}}}}}",
        pieces.join(",")
    )
}
