//! One vector out of those of all tokens, in each way that `sentence-transformers` knows.

use tch::{Device, Kind, Tensor};

use super::ModelError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PoolingMode {
    Cls,
    Max,
    Mean,
    MeanSqrtLen,
    WeightedMean,
    LastToken,
}

impl PoolingMode {
    /// The newer name, the older key that is true or false, and words for the reader; in the order in which the older
    /// keys are joined.
    const ALL: [(&'static str, &'static str, &'static str, Self); 6] = [
        ("cls", "pooling_mode_cls_token", "the first token", Self::Cls),
        ("max", "pooling_mode_max_tokens", "the maximum over tokens", Self::Max),
        ("mean", "pooling_mode_mean_tokens", "the mean over tokens", Self::Mean),
        (
            "mean_sqrt_len_tokens",
            "pooling_mode_mean_sqrt_len_tokens",
            "the sum over tokens by the root of their number",
            Self::MeanSqrtLen,
        ),
        (
            "weightedmean",
            "pooling_mode_weightedmean_tokens",
            "the mean over tokens weighted by their place",
            Self::WeightedMean,
        ),
        ("lasttoken", "pooling_mode_lasttoken", "the last token", Self::LastToken),
    ];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, ..)| *known == name).map(|(.., mode)| *mode)
    }

    /// The older keys, each with what it chooses.
    pub fn older_keys() -> impl Iterator<Item = (&'static str, Self)> {
        Self::ALL.into_iter().map(|(_, key, _, mode)| (key, mode))
    }

    pub fn words(self) -> &'static str {
        Self::ALL.iter().find(|(.., mode)| *mode == self).map_or("", |(_, _, words, _)| words)
    }

    /// Pools `[batch, token, width]` to `[batch, width]`, without the first tokens, which hold a prompt. Tokens that are
    /// weighted by their place keep it.
    pub fn pool(self, tokens: &Tensor, prompt: usize) -> Result<Tensor, ModelError> {
        let (batch, count, width) = tokens.size3()?;
        let prompt = (prompt as i64).min(count);
        let left = count - prompt;
        let rest = tokens.f_narrow(1, prompt, left)?;
        let sum = |of: &Tensor| of.f_sum_dim_intlist([1].as_slice(), false, Kind::Float);
        // The guard of `sentence-transformers` where no token is left.
        let number = (left as f64).max(1e-9);
        Ok(match self {
            Self::Cls => tokens.f_select(1, if left > 0 { prompt } else { 0 })?,
            Self::Max if left == 0 => Tensor::f_full([batch, width], f64::NEG_INFINITY, (Kind::Float, Device::Cpu))?,
            Self::Max => rest.f_amax([1].as_slice(), false)?,
            Self::Mean => sum(&rest)?.f_div_scalar(number)?,
            Self::MeanSqrtLen => sum(&rest)?.f_div_scalar(number.sqrt())?,
            Self::WeightedMean => {
                let places = Tensor::f_arange_start(prompt + 1, count + 1, (Kind::Float, Device::Cpu))?;
                let all = f64::try_from(places.f_sum(Kind::Double)?)?.max(1e-9);
                sum(&rest.f_mul(&places.f_view([1, -1, 1])?)?)?.f_div_scalar(all)?
            }
            Self::LastToken if left == 0 => Tensor::f_zeros([batch, width], (Kind::Float, Device::Cpu))?,
            Self::LastToken => tokens.f_select(1, count - 1)?,
        })
    }
}
