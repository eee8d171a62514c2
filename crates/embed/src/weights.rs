//! Weights in a safetensors file: a header that says where each tensor lies, then the numbers.
//!
//! Tensors are read one by one and only as they are asked for, so that a file is never held beside the numbers made of it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ndarray::{Array1, Array2};
use serde::Deserialize;

use crate::error::ModelError;
use crate::folder;

/// A header longer than this is none.
const HEADER: u64 = 16 << 20;

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

/// An open file of weights.
pub(crate) struct Weights {
    path: PathBuf,
    file: File,
    /// Where the numbers begin, and how many bytes of them there are.
    start: u64,
    length: u64,
    tensors: HashMap<String, Tensor>,
    /// What every name begins with.
    prefix: &'static str,
}

impl Weights {
    pub(crate) fn open(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("model.safetensors");
        let unreadable = |source| ModelError::Unreadable { path: path.clone(), source };
        let broken = |what: String| ModelError::broken(&path, what);
        let mut file = folder::open(&path).map_err(unreadable)?;
        let whole = file.metadata().map_err(unreadable)?.len();
        let mut size = [0; 8];
        file.read_exact(&mut size).map_err(|_| broken("it has no header".to_owned()))?;
        let size = u64::from_le_bytes(size);
        let length = whole.checked_sub(8).and_then(|rest| rest.checked_sub(size));
        let (true, Some(length)) = (size <= HEADER, length) else {
            return Err(broken(format!("its header would have {size} bytes, of {whole} in all")));
        };
        let mut header = vec![0; usize::try_from(size).unwrap_or_default()];
        file.read_exact(&mut header).map_err(unreadable)?;
        let mut entries: HashMap<String, serde_json::Value> = folder::parse(&path, &header)?;
        entries.remove("__metadata__");
        let mut tensors = HashMap::with_capacity(entries.len());
        for (name, entry) in entries {
            let tensor = serde_json::from_value(entry)
                .map_err(|error| broken(format!("its header's entry {name:?}: {error}")))?;
            tensors.insert(name, tensor);
        }
        let prefix =
            if tensors.contains_key("bert.embeddings.word_embeddings.weight") { "bert." } else { "" };
        Ok(Self { path, file, start: 8 + size, length, tensors, prefix })
    }

    /// A matrix of this many rows and columns.
    pub(crate) fn matrix(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Array2<f32>, ModelError> {
        let numbers = self.numbers(name, &[rows, columns])?;
        Array2::from_shape_vec((rows, columns), numbers)
            .map_err(|error| ModelError::broken(&self.path, error))
    }

    /// A row of this many numbers.
    pub(crate) fn row(&mut self, name: &str, length: usize) -> Result<Array1<f32>, ModelError> {
        self.numbers(name, &[length]).map(Array1::from_vec)
    }

    fn numbers(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let name = format!("{}{name}", self.prefix);
        let broken = |what: String| ModelError::broken(&self.path, what);
        let tensor = self.tensors.get(&name).ok_or_else(|| broken(format!("it has no tensor {name:?}")))?;
        if tensor.shape != shape {
            return Err(broken(format!(
                "its tensor {name:?} has the shape {:?}, and `config.json` asks for {shape:?}",
                tensor.shape
            )));
        }
        let decode: fn(&[u8]) -> f32 = match tensor.dtype.as_str() {
            "F32" => |bytes| f32::from_le_bytes(bytes.try_into().unwrap_or_default()),
            "F16" => |bytes| half(u16::from_le_bytes(bytes.try_into().unwrap_or_default())),
            "BF16" => |bytes| {
                f32::from_bits(u32::from(u16::from_le_bytes(bytes.try_into().unwrap_or_default())) << 16)
            },
            other => {
                return Err(ModelError::unsupported(
                    &self.path,
                    format!("has numbers of type {other:?} in {name:?}, and F32, F16 and BF16 are read"),
                ));
            }
        };
        let width = if tensor.dtype == "F32" { 4 } else { 2 };
        // Shapes come from bounded numbers, so that this cannot overflow.
        let bytes = shape.iter().product::<usize>() * width;
        let (from, to) = tensor.data_offsets;
        if to > self.length || to.checked_sub(from) != Some(bytes as u64) {
            return Err(broken(format!("its tensor {name:?} lies at bytes {from} to {to}, and has {bytes}")));
        }
        let unreadable = |source| ModelError::Unreadable { path: self.path.clone(), source };
        self.file.seek(SeekFrom::Start(self.start + from)).map_err(unreadable)?;
        let mut numbers = Vec::with_capacity(bytes / width);
        let mut piece = vec![0; (1 << 20).min(bytes)];
        let mut left = bytes;
        while left > 0 {
            let now = left.min(piece.len());
            let piece = &mut piece[..now];
            self.file.read_exact(piece).map_err(unreadable)?;
            numbers.extend(piece.chunks_exact(width).map(decode));
            left -= now;
        }
        if numbers.iter().all(|number| number.is_finite()) {
            Ok(numbers)
        } else {
            Err(broken(format!("its tensor {name:?} holds what is no number")))
        }
    }
}

/// A number of 16 bits as one of 32.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let (exponent, fraction) = (u32::from(bits >> 10 & 31), u32::from(bits & 0x3ff));
    match exponent {
        // Below the normal ones: an integer times 2 to the -24th.
        0 => f32::from_bits(sign | (fraction as f32 * 2.0_f32.powi(-24)).to_bits()),
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::float_cmp, reason = "these numbers are exact")]
    fn halves_become_what_they_stand_for() {
        let known: [(u16, f32); 6] = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
        ];
        for (bits, number) in known {
            assert_eq!(half(bits), number, "{bits:04x}");
        }
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
    }
}
