//! Every explorer, and every way to ask for it.

use std::num::NonZeroU32;

use selvedge_explore::{Algorithm, Options, QuasiOptions};

/// An explorer with its own options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// Which explorer.
    pub algorithm: Algorithm,
    /// How, if it is `quasi`.
    pub quasi: QuasiOptions,
}

impl Variant {
    /// An explorer with its default options.
    pub fn of(algorithm: Algorithm) -> Self {
        Self { algorithm, quasi: QuasiOptions::default() }
    }

    /// `quasi` with k-partial alternatives. `k` is at least 1.
    pub fn partial(k: u32) -> Self {
        let number = |number| NonZeroU32::new(number).expect("k and the step are not 0");
        // So that the tests see other steps of the skip pointers too.
        let skip_step = number(k + 1);
        let quasi = QuasiOptions { k: Some(number(k)), skip_step, ..QuasiOptions::default() };
        Self { algorithm: Algorithm::Quasi, quasi }
    }

    /// All explorers, and `quasi` with k-partial alternatives for some k.
    pub fn all() -> Vec<Self> {
        let explorers = Algorithm::ALL.iter().map(|&algorithm| Self::of(algorithm));
        explorers.chain((1..=3).map(Self::partial)).collect()
    }

    /// Its name: `optimal`, `quasi k=2`.
    pub fn name(&self) -> String {
        let name = self.algorithm.info().name;
        match self.quasi.k {
            None => name.to_owned(),
            Some(k) => format!("{name} k={k}"),
        }
    }

    /// The variant with this name.
    pub fn named(name: &str) -> Option<Self> {
        let Some((algorithm, k)) = name.split_once(" k=") else {
            return Algorithm::named(name).map(Self::of);
        };
        let k = k.parse().ok().filter(|&k| k > 0)?;
        (Algorithm::named(algorithm) == Some(Algorithm::Quasi)).then(|| Self::partial(k))
    }

    /// Whether it promises to visit every class once, with no redundant execution.
    pub fn is_optimal(&self) -> bool {
        self.algorithm.info().optimal && self.quasi.k.is_none()
    }

    /// The options with its own.
    pub fn options(&self, options: &Options) -> Options {
        Options { quasi: self.quasi, ..options.clone() }
    }
}
