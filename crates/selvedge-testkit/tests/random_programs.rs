//! Random programs: every explorer against brute force.
//!
//! The seeds are fixed, so that every run checks the same programs. `SELVEDGE_FUZZ_SECONDS=600 cargo
//! test --release -p selvedge-testkit --test random_programs` goes on with new ones for that
//! long, for each profile; `SELVEDGE_FUZZ_SEED=1000000` begins elsewhere, and
//! `SELVEDGE_FUZZ_ALGORITHM=quasi` compares only that.

use selvedge_explore::Algorithm;
use selvedge_testkit::compare::{self, Disagreement};
use selvedge_testkit::{
    Construct, Findings, Op, Profile, Sketch, Subject, Variant, for_each_op, generate, seeds,
    shrink,
};

/// Larger programs are left out: brute force would take too long.
const MOST_INTERLEAVINGS: u64 = 30_000;

#[test]
fn memory() {
    campaign(&Profile::memory(), 700);
}

#[test]
fn locks() {
    campaign(&Profile::locks(), 700);
}

#[test]
fn ordinary() {
    campaign(&Profile::ordinary(), 700);
}

#[test]
fn waiting() {
    campaign(&Profile::waiting(), 1500);
}

#[test]
fn everything() {
    campaign(&Profile::everything(), 1500);
}

fn campaign(profile: &Profile, programs: u64) {
    let (mut tried, mut compared) = (0, 0);
    for seed in seeds(programs) {
        let sketch = generate(profile, seed);
        tried += 1;
        match check(&sketch) {
            Ok(Checked::Compared) => compared += 1,
            Ok(Checked::TooLarge) => {}
            Err(failure) => report(profile, seed, sketch, failure),
        }
    }
    // A generator of programs that are all too large would test nothing.
    assert!(compared * 10 > tried * 9, "only {compared} of {tried} programs were compared");
}

enum Checked {
    Compared,
    TooLarge,
}

/// Which explorer failed, and how.
struct Failure {
    variant: Variant,
    disagreement: Disagreement,
}

fn check(sketch: &Sketch) -> Result<Checked, Failure> {
    let text = sketch.to_string();
    let subject = Subject::new("random.sel", &text, &[])
        .unwrap_or_else(|error| panic!("a random program does not compile:\n{error}\n{text}"));
    let options = compare::thorough(MOST_INTERLEAVINGS);
    let run = |variant: Variant| {
        let found = subject.classes(variant.algorithm, &variant.options(&options));
        found.map_err(|message| Failure { variant, disagreement: Disagreement::Panicked(message) })
    };
    let expected = run(Variant::of(Algorithm::Oracle))?;
    if !expected.report.inconclusive.is_empty() {
        return Ok(Checked::TooLarge);
    }
    for variant in variants() {
        let found = run(variant)?;
        judge(&subject, variant, &expected, &found)
            .map_err(|disagreement| Failure { variant, disagreement })?;
    }
    Ok(Checked::Compared)
}

/// What is compared: all, or the algorithm that `SELVEDGE_FUZZ_ALGORITHM` names.
fn variants() -> Vec<Variant> {
    let mut variants = Variant::all();
    if let Ok(name) = std::env::var("SELVEDGE_FUZZ_ALGORITHM") {
        variants.retain(|variant| variant.algorithm.info().name == name);
        assert!(!variants.is_empty(), "SELVEDGE_FUZZ_ALGORITHM is not an algorithm: {name}");
    }
    variants
}

fn judge(
    subject: &Subject,
    variant: Variant,
    expected: &Findings,
    found: &Findings,
) -> Result<(), Disagreement> {
    compare::agree(variant.algorithm, expected, found)?;
    compare::replays(subject, found)?;
    if variant.is_optimal() {
        compare::exactly_once(found)?;
    }
    Ok(())
}

fn report(profile: &Profile, seed: u64, sketch: Sketch, failure: Failure) -> ! {
    let mut last = failure;
    let small = shrink(sketch, &mut |sketch| match check(sketch) {
        Err(failure) if failure.variant == last.variant => {
            last = failure;
            true
        }
        _ => false,
    });
    let name = last.variant.name();
    panic!(
        "{name} disagrees with brute force (profile {}, seed {seed}): {}\n\n{small}\n\
         Save it as programs/regressions/<name>.sel, with a header that says what is right.",
        profile.name, last.disagreement
    );
}

/// The generator is only as good as what it makes.
#[test]
fn every_construct_occurs_and_every_program_compiles() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..3_000 {
        let sketch = generate(&Profile::everything(), seed);
        let text = sketch.to_string();
        if let Err(error) = Subject::new("random.sel", &text, &[]) {
            panic!("a random program does not compile:\n{error}\n{text}");
        }
        for body in sketch.bodies() {
            for_each_op(body, &mut |op| *seen.entry(kind(op)).or_insert(0) += 1);
        }
    }
    let rare: Vec<_> = seen.iter().filter(|(_, times)| **times < 30).collect();
    assert!(rare.is_empty(), "hardly ever made: {rare:?}");
    assert!(seen.len() >= 44 && Construct::ALL.len() == 24, "{} kinds of operations", seen.len());
}

/// The name of the variant.
fn kind(op: &Op) -> String {
    format!("{op:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}
