/// For each item of `to`, its partner in `from` by longest common subsequence: partners keep their order.
pub fn align<T: PartialEq>(from: &[T], to: &[T]) -> Vec<Option<usize>> {
    // longest[i · (m + 1) + j]: of from[i..] and to[j..]
    let width = to.len() + 1;
    let mut longest = vec![0u32; (from.len() + 1) * width];
    for i in (0..from.len()).rev() {
        for j in (0..to.len()).rev() {
            longest[i * width + j] = if from[i] == to[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let mut partner = vec![None; to.len()];
    let (mut i, mut j) = (0, 0);
    while i < from.len() && j < to.len() {
        if from[i] == to[j] {
            partner[j] = Some(i);
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    partner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_keep_their_order() {
        let partner =
            |from: &str, to: &str| align(&from.split(' ').collect::<Vec<_>>(), &to.split(' ').collect::<Vec<_>>());
        assert_eq!(partner("a b c d", "a c x d"), [Some(0), Some(2), None, Some(3)]);
        assert_eq!(partner("a b", "b a"), [Some(1), None]);
        assert_eq!(partner("a", "b"), [None]);
    }
}
