//! What the benchmarks share.

/// Median and middle half, in ms; sorts the values.
pub fn spread(values: &mut [f64]) -> String {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
    format!("{:.2} ms (middle half {:.2} to {:.2})", at(0.5), at(0.25), at(0.75))
}
