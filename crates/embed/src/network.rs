//! The network: an encoder of the BERT family.
//!
//! Several texts go through it at once, their tokens one below the other: products with weights do not care whose a row
//! is, and only attention is done text by text. No row's numbers depend on what other rows there are.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, s};

use crate::arithmetic::{gelu, normalise, softmax};
use crate::error::ModelError;
use crate::folder::{Pooling, Shape};
use crate::tokens::Token;
use crate::weights::Weights;

pub(crate) struct Network {
    heads: usize,
    epsilon: f32,
    pooling: Pooling,
    words: Array2<f32>,
    /// Positions, the first kind of text already added: there is no other.
    positions: Array2<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Dense,
    key: Dense,
    value: Dense,
    attended: Dense,
    attended_norm: Norm,
    widen: Dense,
    narrow: Dense,
    norm: Norm,
}

/// A product with a matrix, and something added.
struct Dense {
    weight: Array2<f32>,
    bias: Array1<f32>,
}

struct Norm {
    scale: Array1<f32>,
    shift: Array1<f32>,
}

impl Network {
    pub(crate) fn read(weights: &mut Weights, shape: &Shape) -> Result<Self, ModelError> {
        let hidden = shape.hidden;
        let words = weights.matrix("embeddings.word_embeddings.weight", shape.words, hidden)?;
        let mut positions =
            weights.matrix("embeddings.position_embeddings.weight", shape.positions, hidden)?;
        let kinds = weights.matrix("embeddings.token_type_embeddings.weight", shape.kinds, hidden)?;
        positions += &kinds.row(0);
        let norm = Norm::read(weights, "embeddings.LayerNorm", hidden)?;
        let layers =
            (0..shape.layers).map(|layer| Layer::read(weights, layer, shape)).collect::<Result<_, _>>()?;
        Ok(Self {
            heads: shape.heads,
            epsilon: shape.epsilon,
            pooling: shape.pooling,
            words,
            positions,
            norm,
            layers,
        })
    }

    /// The numbers of a vector.
    pub(crate) fn dimensions(&self) -> usize {
        self.words.ncols()
    }

    /// A vector for each text, not yet of length 1. Tokens are ones that the network knows, and no text has more of
    /// them than there are positions.
    pub(crate) fn run(&self, texts: &[Vec<Token>]) -> Vec<Vec<f32>> {
        let rows = texts.iter().map(Vec::len).sum();
        let mut state = Array2::zeros((rows, self.dimensions()));
        let placed = texts.iter().flat_map(|tokens| tokens.iter().enumerate());
        for (mut row, (position, token)) in state.rows_mut().into_iter().zip(placed) {
            row += &self.words.row(*token as usize);
            row += &self.positions.row(position);
        }
        self.norm.apply(&mut state, self.epsilon);
        let mut scratch = Scratch::default();
        for layer in &self.layers {
            layer.apply(&mut state, texts, self.heads, self.epsilon, &mut scratch);
        }
        let mut start = 0;
        let pooled = texts.iter().map(|tokens| {
            let own = state.slice(s![start..start + tokens.len(), ..]);
            start += tokens.len();
            match self.pooling {
                Pooling::Mean => own.mean_axis(Axis(0)).map_or_else(Vec::new, |mean| mean.to_vec()),
                Pooling::First => own.row(0).to_vec(),
            }
        });
        pooled.collect()
    }
}

/// Room that layers use one after the other.
#[derive(Default)]
struct Scratch {
    query: Array2<f32>,
    key: Array2<f32>,
    value: Array2<f32>,
    mixed: Array2<f32>,
    wide: Array2<f32>,
    out: Array2<f32>,
}

impl Layer {
    fn read(weights: &mut Weights, number: usize, shape: &Shape) -> Result<Self, ModelError> {
        let (hidden, inner) = (shape.hidden, shape.inner);
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        Ok(Self {
            query: Dense::read(weights, &name("attention.self.query"), hidden, hidden)?,
            key: Dense::read(weights, &name("attention.self.key"), hidden, hidden)?,
            value: Dense::read(weights, &name("attention.self.value"), hidden, hidden)?,
            attended: Dense::read(weights, &name("attention.output.dense"), hidden, hidden)?,
            attended_norm: Norm::read(weights, &name("attention.output.LayerNorm"), hidden)?,
            widen: Dense::read(weights, &name("intermediate.dense"), inner, hidden)?,
            narrow: Dense::read(weights, &name("output.dense"), hidden, inner)?,
            norm: Norm::read(weights, &name("output.LayerNorm"), hidden)?,
        })
    }

    fn apply(
        &self,
        state: &mut Array2<f32>,
        texts: &[Vec<Token>],
        heads: usize,
        epsilon: f32,
        scratch: &mut Scratch,
    ) {
        let Scratch { query, key, value, mixed, wide, out } = scratch;
        self.query.apply(state, query);
        self.key.apply(state, key);
        self.value.apply(state, value);
        room(mixed, state.nrows(), state.ncols());
        let width = state.ncols() / heads;
        let mut start = 0;
        for tokens in texts {
            let rows = start..start + tokens.len();
            start = rows.end;
            for head in 0..heads {
                let place = s![rows.clone(), head * width..(head + 1) * width];
                attend(query.slice(place), key.slice(place), value.slice(place), mixed.slice_mut(place));
            }
        }
        self.attended.apply(mixed, out);
        *state += &*out;
        self.attended_norm.apply(state, epsilon);
        self.widen.apply(state, wide);
        if let Some(numbers) = wide.as_slice_mut() {
            gelu(numbers);
        }
        self.narrow.apply(wide, out);
        *state += &*out;
        self.norm.apply(state, epsilon);
    }
}

/// One head of one text: every token takes of all tokens' values, by how well their keys fit its query.
fn attend(
    query: ArrayView2<'_, f32>,
    key: ArrayView2<'_, f32>,
    value: ArrayView2<'_, f32>,
    mut mixed: ArrayViewMut2<'_, f32>,
) {
    let mut fit = Array2::zeros((query.nrows(), key.nrows()));
    general_mat_mul(1.0 / (query.ncols() as f32).sqrt(), &query, &key.t(), 0.0, &mut fit);
    for mut row in fit.rows_mut() {
        if let Some(numbers) = row.as_slice_mut() {
            softmax(numbers);
        }
    }
    general_mat_mul(1.0, &fit, &value, 0.0, &mut mixed);
}

impl Dense {
    fn read(weights: &mut Weights, name: &str, rows: usize, columns: usize) -> Result<Self, ModelError> {
        Ok(Self {
            weight: weights.matrix(&format!("{name}.weight"), rows, columns)?,
            bias: weights.row(&format!("{name}.bias"), rows)?,
        })
    }

    fn apply(&self, from: &Array2<f32>, to: &mut Array2<f32>) {
        room(to, from.nrows(), self.weight.nrows());
        for mut row in to.rows_mut() {
            row.assign(&self.bias);
        }
        general_mat_mul(1.0, from, &self.weight.t(), 1.0, to);
    }
}

/// Gives a matrix its size; what it holds is not defined.
fn room(matrix: &mut Array2<f32>, rows: usize, columns: usize) {
    if matrix.dim() != (rows, columns) {
        *matrix = Array2::zeros((rows, columns));
    }
}

impl Norm {
    fn read(weights: &mut Weights, name: &str, length: usize) -> Result<Self, ModelError> {
        Ok(Self {
            scale: weights.row(&format!("{name}.weight"), length)?,
            shift: weights.row(&format!("{name}.bias"), length)?,
        })
    }

    fn apply(&self, state: &mut Array2<f32>, epsilon: f32) {
        for row in state.rows_mut() {
            normalise(row, self.scale.view(), self.shift.view(), epsilon);
        }
    }
}
