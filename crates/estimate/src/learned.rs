//! Ratios fitted to what a provider counted.

use serde::{Deserialize, Serialize};

use crate::estimator::{Counting, Estimator, EstimatorId, Surface};
use crate::provenance::{Observed, Tokens};
use crate::ratio::{Ratio, SurfaceRatios, calibrated};

/// One request whose whole input the provider counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sample {
    /// Content bytes of everything but tool definitions.
    pub prose_bytes: u64,
    /// Content bytes of the tool definitions.
    pub tool_bytes: u64,
    /// All input tokens the provider counted, cached ones included. Leave out requests with images, and those
    /// whose tools the provider defers: their tokens do not come from these bytes.
    pub tokens: Tokens<Observed>,
}

/// How the ratios of a [`Learned`] were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// One ratio for each surface, by least squares.
    BySurface,
    /// The samples do not tell the surfaces apart (always the same mix, or ratios out of bounds): the ratios of
    /// `calibrated`, both times the same factor.
    Scaled,
}

/// `learned:MODEL`: an estimator whose ratios were fitted to one model's OBSERVED usage.
///
/// The same samples give the same ratios on every machine, in whatever order they come: all arithmetic is on
/// integers. The ratios are data, to be stored as the fractions they are ([`Ratio`]); the id does not pin them, so
/// what must be repeatable elsewhere cannot be priced with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Learned {
    model: String,
    samples: u32,
    fit: Fit,
    error_permille: u64,
    ratios: SurfaceRatios,
}

impl Learned {
    /// The fewest samples a fit is made from.
    pub const MIN_SAMPLES: usize = 20;

    /// Fits `model`'s ratios: the two that give the least squared error over the samples, or, where those cannot be
    /// told apart, one factor over `calibrated`. The ratios are rounded to millionths of a token per byte.
    ///
    /// # Errors
    /// Fewer than [`Self::MIN_SAMPLES`] samples with bytes and tokens in them, or tokens that do not go with bytes:
    /// less than a fiftieth token per byte, or more than one.
    pub fn fit(model: impl Into<String>, samples: &[Sample]) -> Result<Self, FitError> {
        let samples: Vec<Sample> = samples
            .iter()
            .copied()
            .filter(|sample| sample.tokens.get() > 0 && (sample.prose_bytes > 0 || sample.tool_bytes > 0))
            .collect();
        if samples.len() < Self::MIN_SAMPLES {
            return Err(FitError::TooFewSamples { have: samples.len() });
        }
        let (ratios, fit) = match by_surface(&samples) {
            Some(ratios) => (ratios, Fit::BySurface),
            None => (scaled(&samples).ok_or(FitError::Implausible)?, Fit::Scaled),
        };
        Ok(Self {
            model: model.into(),
            samples: u32::try_from(samples.len()).unwrap_or(u32::MAX),
            fit,
            error_permille: error_permille(&ratios, &samples),
            ratios,
        })
    }

    /// The model whose usage was observed.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// How many samples the fit is from.
    #[must_use]
    pub const fn samples(&self) -> u32 {
        self.samples
    }

    /// How the ratios were found.
    #[must_use]
    pub const fn how(&self) -> Fit {
        self.fit
    }

    /// The ratios.
    #[must_use]
    pub const fn ratios(&self) -> SurfaceRatios {
        self.ratios
    }

    /// How far the estimates are from the samples: the sum of the absolute errors in thousandths of the sum of the
    /// observed tokens.
    #[must_use]
    pub const fn error_permille(&self) -> u64 {
        self.error_permille
    }
}

impl Estimator for Learned {
    fn id(&self) -> EstimatorId {
        EstimatorId { name: format!("learned:{}", self.model).into(), version: 1 }
    }

    fn counting(&self) -> Counting<'_> {
        Counting::Ratio(&self.ratios)
    }
}

/// Why no estimator could be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// Too few samples.
    #[error("{have} usable samples are too few to fit an estimator; it takes {}", Learned::MIN_SAMPLES)]
    TooFewSamples {
        /// How many there were, without those that have no bytes or no tokens.
        have: usize,
    },
    /// Tokens and bytes do not belong together.
    #[error("the observed tokens do not go with the bytes: less than 1/50 token per byte, or more than 1")]
    Implausible,
}

/// Ratios are kept in millionths.
const UNIT: u64 = 1_000_000;

/// A ratio in millionths, where it is one that text can have.
fn plausible(millionths: i128) -> Option<Ratio> {
    let millionths = u64::try_from(millionths).ok()?;
    if (UNIT / 50..=UNIT).contains(&millionths) { Ratio::new(millionths, UNIT) } else { None }
}

/// `numerator / denominator` in millionths, rounded to the nearest. Terms too large for that are first halved
/// together until they fit, which costs less than a millionth.
fn millionths(mut numerator: i128, mut denominator: i128) -> i128 {
    while numerator.unsigned_abs() >= 1 << 105 || denominator.unsigned_abs() >= 1 << 105 {
        numerator /= 2;
        denominator /= 2;
    }
    if denominator == 0 {
        return 0;
    }
    (2 * numerator * i128::from(UNIT) + denominator).div_euclid(2 * denominator)
}

/// The two ratios with the least squared error: the normal equations, solved by determinants.
fn by_surface(samples: &[Sample]) -> Option<SurfaceRatios> {
    // A determinant is a product of two sums of n squares: n² · 2^(4 · bits), which must stay under 2^126. Larger
    // terms (requests over 16 MB, when there are a thousand) lose their last bits, all alike.
    let count_bits = usize::BITS - samples.len().leading_zeros();
    let bits = (126_u32.saturating_sub(2 * count_bits) / 4).max(1);
    let largest = samples.iter().map(|s| s.prose_bytes.max(s.tool_bytes).max(s.tokens.get())).max()?;
    let shift = (u64::BITS - largest.leading_zeros()).saturating_sub(bits);

    let (mut pp, mut pt, mut tt, mut py, mut ty) = (0_i128, 0_i128, 0_i128, 0_i128, 0_i128);
    for sample in samples {
        let prose = i128::from(sample.prose_bytes >> shift);
        let tools = i128::from(sample.tool_bytes >> shift);
        let tokens = i128::from(sample.tokens.get() >> shift);
        pp += prose * prose;
        pt += prose * tools;
        tt += tools * tools;
        py += prose * tokens;
        ty += tools * tokens;
    }
    let determinant = pp * tt - pt * pt;
    // Where all samples have nearly the same mix, noise decides how the tokens are shared out: ask for a twentieth
    // of the largest determinant these bytes could have.
    if determinant <= 0 || determinant < pp * tt / 20 {
        return None;
    }
    Some(SurfaceRatios {
        prose: plausible(millionths(py * tt - ty * pt, determinant))?,
        tool_definition: plausible(millionths(ty * pp - py * pt, determinant))?,
    })
}

/// The ratios of `calibrated`, scaled so that the sums agree.
fn scaled(samples: &[Sample]) -> Option<SurfaceRatios> {
    let SurfaceRatios { prose, tool_definition } = calibrated().ratios();
    // With both ratios over their common denominator, the estimate is a whole number of its parts.
    let prose_parts = i128::from(prose.tokens()) * i128::from(tool_definition.bytes());
    let tool_parts = i128::from(tool_definition.tokens()) * i128::from(prose.bytes());
    let (mut estimated, mut observed) = (0_i128, 0_i128);
    for sample in samples {
        estimated +=
            i128::from(sample.prose_bytes) * prose_parts + i128::from(sample.tool_bytes) * tool_parts;
        observed += i128::from(sample.tokens.get());
    }
    Some(SurfaceRatios {
        prose: plausible(millionths(observed * prose_parts, estimated))?,
        tool_definition: plausible(millionths(observed * tool_parts, estimated))?,
    })
}

fn estimate(ratios: &SurfaceRatios, sample: &Sample) -> u64 {
    let prose = ratios.of(Surface::Prose).floor(sample.prose_bytes);
    prose.saturating_add(ratios.of(Surface::ToolDefinition).floor(sample.tool_bytes))
}

fn error_permille(ratios: &SurfaceRatios, samples: &[Sample]) -> u64 {
    let (mut error, mut observed) = (0_u128, 0_u128);
    for sample in samples {
        error += u128::from(estimate(ratios, sample).abs_diff(sample.tokens.get()));
        observed += u128::from(sample.tokens.get());
    }
    u64::try_from(error * 1_000 / observed.max(1)).unwrap_or(u64::MAX)
}
