//! No execution leaves the ranges of values that are found for a program: they are added to it as invariants, and all its
//! states are searched.

use selvedge_core::ViolationKind;
use selvedge_lang::ir::GlobalId;
use selvedge_lang::{Interpreter, compile};
use selvedge_symbolic::{Caps, Values};
use selvedge_testkit::{Random, is_campaign, search_states, seeds};

use crate::random_tasks::{Kind, Tasks};

/// Larger programs are left out.
const MOST_STATES: usize = 2_000;

#[test]
#[allow(clippy::print_stderr, reason = "a campaign tells what it did")]
fn no_execution_leaves_the_ranges() {
    let kinds = [Kind::Arithmetic, Kind::Arrays, Kind::Spawning, Kind::Blocks, Kind::Counting];
    let (mut programs, mut bounded, mut searched) = (0, 0, 0);
    for seed in seeds(3_000) {
        let mut random = Random::new(seed);
        let tasks = Tasks::new(kinds[seed as usize % kinds.len()], &mut random);
        let text = tasks.program(&mut random);
        let program =
            compile("random.sel", &text, &[]).unwrap_or_else(|_| panic!("{text}")).program;
        let caps = if seed % 7 == 6 { Caps::tiny() } else { Caps::default() };
        let values = Values::of(&program, &caps);
        let mut stated = String::new();
        for (index, global) in program.globals.iter().enumerate() {
            let Some(range) = values.of_global(GlobalId::new(index)) else { continue };
            let elements = if global.dims.is_empty() {
                vec![global.name.clone()]
            } else {
                (0..global.elements()).map(|i| format!("{}[{i}]", global.name)).collect()
            };
            for name in elements {
                stated.push_str(&format!("always {name} <= {};\n", range.high));
                // The least integer cannot be written.
                if range.low > i64::from(i32::MIN) {
                    stated.push_str(&format!("always {name} >= {};\n", range.low));
                }
            }
        }
        programs += 1;
        bounded += usize::from(!stated.is_empty());
        let text = format!("{text}{stated}");
        let compiled = compile("random.sel", &text, &[]).unwrap_or_else(|_| panic!("{text}"));
        let Some(found) = search_states(&mut Interpreter::new(compiled.program), MOST_STATES)
        else {
            continue;
        };
        searched += 1;
        let broken = found.violations.iter().find(|(kind, _)| *kind == ViolationKind::Always);
        assert!(broken.is_none(), "seed {seed}: {broken:?}\n{text}");
    }
    if is_campaign() {
        eprintln!("ranges: {programs} programs, {bounded} with a range, {searched} searched");
    }
    assert!(2 * searched > programs && 2 * bounded > programs, "{programs} {bounded} {searched}");
}
