//! Between how many pairs of steps a token can pass: the column #P of the paper's Table 1.

use selvedge_core::Budget;
use selvedge_symbolic::check::encoded;
use selvedge_symbolic::solver::Solver;
use selvedge_symbolic::{Options, Scheme};

const FIGURE_4: &str = include_str!("../../../programs/mat/figure-4.sel");
const FIGURE_7: &str = include_str!("../../../programs/mat/figure-7.sel");
const ROUNDS: &str = include_str!("../../../programs/mat/rounds.sel");

/// Two threads that work on their own with values from outside, and now and then on something
/// common. What they do depends on the values, and so does which element they touch.
const INPUTS: &str = "
    const N = 1;
    shared own[2] = 0; shared other[2] = 0; shared both = 0;
    thread a {
        for i in 0..N {
            let v = choose(0..1000);
            own[v % 2] = v;
            let w = own[0];
            if w > 500 { own[1] = 0; }
            both = w;
        }
    }
    thread b {
        for i in 0..N {
            let v = choose(-1000..1000);
            other[0] = v;
            if v < 0 { other[1] = v; }
            let w = other[1];
            both = w;
        }
    }";

/// All pairs, and those that are left with `token` and with `mat`.
fn pairs(text: &str, rounds: i64) -> [usize; 3] {
    let constants = [("N".to_owned(), rounds)];
    let constants = if text.contains("const N") { &constants[..] } else { &[] };
    let compiled = match selvedge_lang::compile("pairs.sel", text, constants) {
        Ok(compiled) => compiled,
        Err(errors) => panic!("{errors:?}"),
    };
    let passes = [Scheme::Token, Scheme::Mat].map(|scheme| {
        let options = Options { scheme, ..Options::default() };
        let budget = &Budget::unlimited();
        let Ok(encoded) = encoded(&compiled.program, &options, 2, Solver::new(), budget) else {
            panic!("the callback did not stop it");
        };
        let passes = encoded.encoding.passes().expect("there is a token");
        (passes.pairs, passes.kept.len())
    });
    [passes[0].0, passes[0].1, passes[1].1]
}

#[test]
fn the_figures_of_the_paper() {
    assert_eq!(pairs(FIGURE_4, 0), [32, 32, 8]);
    assert_eq!(pairs(FIGURE_7, 0)[0], 54);
}

#[test]
fn at_most_a_tenth_of_the_rounds() {
    let expected = [
        (2, [320, 164, 15]),
        (10, [4160, 3364, 215]),
        (25, [22400, 20404, 1280]),
        (50, [84800, 80804, 5055]),
    ];
    for (rounds, expected) in expected {
        assert_eq!(pairs(ROUNDS, rounds), expected, "{rounds} rounds");
    }
}

#[test]
fn inputs_and_branches() {
    for (rounds, expected) in
        [(1, [32, 32, 2]), (2, [128, 128, 8]), (5, [800, 800, 72]), (10, [3200, 3200, 292])]
    {
        assert_eq!(pairs(INPUTS, rounds), expected, "{rounds} rounds");
    }
}
