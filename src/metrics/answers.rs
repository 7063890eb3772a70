//! What the numbers of a task head say: guesses, ranks, spans, and how far two answers are apart.

use ndarray::{ArrayView1, ArrayView2};

use crate::run::Scale;

/// The greatest so many numbers, greatest first, each with its place; of equals the first comes first. A number that is
/// none (NaN) comes last.
pub fn greatest(numbers: ArrayView1<'_, f32>, most: usize) -> Vec<(usize, f32)> {
    let mut all: Vec<(usize, f32)> = numbers.iter().copied().enumerate().collect();
    all.sort_by(|a, b| none_last(b.1).total_cmp(&none_last(a.1)));
    all.truncate(most);
    all
}

/// What a number is sorted by, so that one that is none comes behind all others.
pub fn none_last(number: f32) -> f32 {
    if number.is_nan() { f32::NEG_INFINITY } else { number }
}

/// The place of a number among all, counted from 1 for the greatest; equals share a place. A number
/// that is none comes last.
pub fn rank(numbers: ArrayView1<'_, f32>, of: usize) -> usize {
    let own = none_last(numbers.get(of).copied().unwrap_or(f32::NAN));
    1 + numbers.iter().filter(|number| **number > own).count()
}

/// The Kullback–Leibler divergence KL(p ‖ q) = Σ p ln(p / q) of two softmaxes, in nats, from their logits; at least 0. NaN
/// where a logit is NaN or +∞.
pub fn kl_divergence(p: ArrayView1<'_, f32>, q: ArrayView1<'_, f32>) -> f32 {
    let logs = |logits: ArrayView1<'_, f32>| -> Vec<f64> {
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|logit| f64::from(logit - most).exp()).sum();
        logits.iter().map(|logit| f64::from(logit - most) - sum.ln()).collect()
    };
    // 0 ln 0 is 0.
    let part = |(p, q): (f64, f64)| if p == f64::NEG_INFINITY { 0.0 } else { p.exp() * (p - q) };
    let sum: f64 = logs(p).into_iter().zip(logs(q)).map(part).sum();
    if sum.is_nan() { f32::NAN } else { sum.max(0.0) as f32 }
}

/// A stretch of tokens that answers a question, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswerSpan {
    pub start: usize,
    pub end: usize,
    /// The probability of its start times that of its end, each by softmax over all tokens.
    pub probability: f32,
}

/// The best spans, best first, among tokens that may answer. `logits` is `[token, 2]`: start and end.
pub fn best_spans(
    logits: ArrayView2<'_, f32>,
    may_answer: impl Fn(usize) -> bool,
    longest: usize,
    most: usize,
) -> Vec<AnswerSpan> {
    let softmax = |class: usize| Scale::Softmax.apply(&logits.column(class).to_vec());
    let (starts, ends) = (softmax(0), softmax(1));
    let tokens: Vec<usize> = (0..logits.nrows()).filter(|&token| may_answer(token)).collect();
    let mut spans: Vec<AnswerSpan> = Vec::new();
    for (at, &start) in tokens.iter().enumerate() {
        for &end in tokens[at..].iter().take(longest) {
            spans.push(AnswerSpan { start, end, probability: starts[start] * ends[end] });
        }
    }
    spans.sort_by(|a, b| none_last(b.probability).total_cmp(&none_last(a.probability)));
    spans.truncate(most);
    spans
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn the_greatest_come_first_and_ranks_count_from_1() {
        let numbers = array![0.5, f32::NAN, 2.0, -1.0, 2.0];
        assert_eq!(greatest(numbers.view(), 3), [(2, 2.0), (4, 2.0), (0, 0.5)]);
        assert_eq!(rank(numbers.view(), 1), 5, "none is behind all numbers");
        assert_eq!((rank(numbers.view(), 4), rank(numbers.view(), 0), rank(numbers.view(), 3)), (1, 3, 4));
    }

    #[test]
    fn divergence_by_hand() {
        // p = (3/4, 1/4), q = (1/2, 1/2); logits may be shifted.
        let (p, q) = (array![3f32.ln() + 7.0, 7.0], array![-2.0, -2.0]);
        let expected = 0.75 * 1.5f32.ln() + 0.25 * 0.5f32.ln();
        assert!((kl_divergence(p.view(), q.view()) - expected).abs() < 1e-6);
        assert_eq!(kl_divergence(p.view(), p.view()), 0.0);
        // What is impossible in p adds nothing; what is possible in p and impossible in q is as far as can be.
        let sure = array![1.0, f32::NEG_INFINITY];
        assert!((kl_divergence(sure.view(), q.view()) - std::f32::consts::LN_2).abs() < 1e-6);
        assert_eq!(kl_divergence(q.view(), sure.view()), f32::INFINITY);
        for number in [f32::NAN, f32::INFINITY] {
            let none = array![number, 0.0];
            assert!(kl_divergence(none.view(), q.view()).is_nan() && kl_divergence(q.view(), none.view()).is_nan());
        }
    }

    #[test]
    fn spans_never_end_before_they_start_nor_leave_what_may_answer() {
        // Token 0 would be the best start, token 1 the best end before the best start 2.
        let logits = array![[9.0, 0.0], [0.0, 5.0], [4.0, 1.0], [1.0, 3.0], [0.0, 0.0]];
        let spans = best_spans(logits.view(), |token| token > 0, 10, 3);
        assert_eq!((spans[0].start, spans[0].end), (2, 3));
        assert!(spans.iter().all(|span| span.start <= span.end && span.start > 0));
        let (starts, ends) =
            (Scale::Softmax.apply(&[9.0, 0.0, 4.0, 1.0, 0.0]), Scale::Softmax.apply(&[0.0, 5.0, 1.0, 3.0, 0.0]));
        assert!((spans[0].probability - starts[2] * ends[3]).abs() < 1e-7);
        assert!(best_spans(logits.view(), |token| token > 0, 1, 9).iter().all(|span| span.start == span.end));
    }
}
