//! The shim and the checker have the same numbers for the same things.

const HEADER: &str = include_str!("../shim/shim.h");
const ENTRY: &str = include_str!("../src/entry.rs");

/// The checker answers every code of the shim, each with one arm.
#[test]
fn every_operation_of_the_shim_has_an_answer() {
    let codes = HEADER.lines().filter_map(|line| line.trim().strip_prefix("OP_"));
    let codes: Vec<(&str, u32)> = codes
        .filter_map(|line| line.trim_end_matches(',').split_once(" = "))
        .map(|(name, number)| (name, number.parse().expect("a number")))
        .collect();
    assert!(codes.len() > 50);
    for (at, (name, number)) in codes.iter().enumerate() {
        assert_eq!(*number as usize, at + 1, "{name}: codes have no gaps");
        let arms = [
            format!("        {number} =>"),
            format!("        {number} | "),
            format!(" | {number} =>"),
            format!("        {number} if "),
        ];
        assert!(arms.iter().any(|arm| ENTRY.contains(arm)), "{name} ({number}) has no answer");
    }
}
