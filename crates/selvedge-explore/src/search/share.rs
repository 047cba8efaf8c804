//! How much of a search is done.

/// Returns the estimated share of a depth-first search that is done. For each node on the path, from the root:
/// how many of its branches were taken (the last of them is being explored), and how many it has.
pub fn share_done(nodes: impl Iterator<Item = (usize, usize)>) -> f64 {
    let (mut done, mut share) = (0.0, 1.0);
    for (taken, of) in nodes {
        share /= of.max(1) as f64;
        done += share * taken.saturating_sub(1) as f64;
    }
    done
}
