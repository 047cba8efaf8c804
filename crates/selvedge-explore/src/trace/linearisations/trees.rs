//! Linearisations of an order whose diagram is a tree: polynomial (M. Atkinson, *On computing the number of linear extensions of a
//! tree*, Order 7, 1990).
//!
//! Readers and one writer are such an order: each reader comes before the write or after it, and its own steps hang on it.
//! For a tree with a root, `ranks[r]` is how many linearisations have the root at rank `r`. A leaf is merged into its neighbour until
//! one event is left.

/// Returns the logarithm of the number of linearisations of `count` events with these edges, each from an event to one that comes
/// directly after it. There are `count - 1` of them, and they connect all events.
pub(super) fn ln_count(count: usize, edges: &[(usize, usize)]) -> f64 {
    let mut neighbours: Vec<Vec<(usize, Side)>> = vec![Vec::new(); count];
    for &(earlier, later) in edges {
        neighbours[earlier].push((later, Side::Before));
        neighbours[later].push((earlier, Side::After));
    }
    let mut trees: Vec<Tree> = (0..count).map(|_| Tree::single()).collect();
    let mut degrees: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let mut leaves: Vec<usize> = (0..count).filter(|&event| degrees[event] == 1).collect();
    let mut root = 0;
    while let Some(leaf) = leaves.pop() {
        let left = neighbours[leaf].iter().copied().find(|&(other, _)| degrees[other] > 0);
        degrees[leaf] = 0;
        let Some((other, side)) = left else { continue };
        let merged = trees[other].with(&trees[leaf], side);
        trees[other] = merged;
        degrees[other] -= 1;
        match degrees[other] {
            0 => root = other,
            1 => leaves.push(other),
            _ => {}
        }
    }
    trees[root].ln_scale + trees[root].ranks.iter().sum::<f64>().ln()
}

/// On which side of its neighbour an event is.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

struct Tree {
    /// For each rank of the root, the share of the linearisations that have it there.
    ranks: Vec<f64>,
    /// The logarithm of what the shares are to be multiplied by: the counts themselves are too large.
    ln_scale: f64,
}

impl Tree {
    fn single() -> Self {
        Self { ranks: vec![1.0], ln_scale: 0.0 }
    }

    /// Returns the tree with another one as a part of it, whose root is on that side of this one's root.
    fn with(&self, other: &Tree, side: Side) -> Tree {
        let (own, more) = (self.ranks.len(), other.ranks.len());
        // How many linearisations of the other tree have its root among the first so many.
        let mut first = vec![0.0; more + 1];
        for (rank, share) in other.ranks.iter().enumerate() {
            first[rank + 1] = first[rank] + share;
        }
        let mut ranks = vec![0.0; own + more];
        for (rank, share) in self.ranks.iter().enumerate() {
            // So many of the other tree come before this root.
            for before in 0..=more {
                let fits = match side {
                    Side::Before => first[before],
                    Side::After => first[more] - first[before],
                };
                let ways = binomial(rank + before, before)
                    * binomial(own - 1 - rank + more - before, more - before);
                ranks[rank + before] += share * fits * ways;
            }
        }
        let sum: f64 = ranks.iter().sum();
        ranks.iter_mut().for_each(|share| *share /= sum);
        Tree { ranks, ln_scale: self.ln_scale + other.ln_scale + sum.ln() }
    }
}

/// Returns the number of ways to choose some of all. At most 2^256, which a floating-point number can hold.
fn binomial(all: usize, some: usize) -> f64 {
    (1..=some.min(all - some)).map(|nth| (all + 1 - nth) as f64 / nth as f64).product()
}
