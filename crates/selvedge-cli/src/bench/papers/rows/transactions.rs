//! Mutually atomic transactions, SPIN 2009: Table 1, the family with three shared variables. What is empty is not legible in our copy.

use super::{MAT, Row, TOKEN, one, row};

pub(super) const ROWS: &[Row] = &[
    row!(
        "E2S",
        "mat/rounds",
        [N = 2, BUG = 1],
        false,
        one("B", TOKEN, "192", "0.1"),
        one("B+M", MAT, "8", ""),
    ),
    row!(
        "E4S",
        "mat/rounds",
        [N = 10, BUG = 1],
        true,
        one("B", TOKEN, "3,520", "1,550.5"),
        one("B+M", MAT, "200", "0.2"),
    ),
    row!(
        "E5U",
        "mat/rounds",
        [N = 10],
        true,
        one("B", TOKEN, "3,520", ""),
        one("B+M", MAT, "200", ""),
    ),
    row!(
        "E7S",
        "mat/rounds",
        [N = 50, BUG = 1],
        true,
        one("B", TOKEN, "81,600", "TO"),
        one("B+M", MAT, "5,000", "TO"),
    ),
];
