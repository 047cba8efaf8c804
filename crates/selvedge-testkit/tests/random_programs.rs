//! Random programs: every explorer against brute force, or `sleep` where that does not end.
//!
//! The seeds are fixed, so that every run checks the same programs. `SELVEDGE_FUZZ_SECONDS=600 cargo
//! test --release -p selvedge-testkit --test it random_programs` continues with new ones for that
//! long, for each profile; `SELVEDGE_FUZZ_SEED=1000000` begins elsewhere, and
//! `SELVEDGE_FUZZ_ALGORITHM=quasi` compares only that.

use selvedge_testkit::campaign::{Campaign, Checked};
use selvedge_testkit::{Construct, Op, Profile, Subject, few_seeds, for_each_op, generate};

#[test]
fn memory() {
    campaign(Profile::memory(), 700, 90);
}

#[test]
fn locks() {
    campaign(Profile::locks(), 700, 90);
}

#[test]
fn ordinary() {
    campaign(Profile::ordinary(), 700, 90);
}

#[test]
fn waiting() {
    campaign(Profile::waiting(), 1500, 90);
}

#[test]
fn everything() {
    campaign(Profile::everything(), 1500, 90);
}

#[test]
fn wide() {
    campaign(Profile::wide(), 300, 50);
}

#[test]
fn wide_awaits() {
    campaign(Profile::wide_awaits(), 300, 50);
}

#[test]
fn long() {
    campaign(Profile::long(), 40, 50);
}

#[test]
fn crowd() {
    campaign(Profile::crowd(), 200, 90);
}

#[test]
fn objects() {
    campaign(Profile::objects(), 200, 90);
}

#[test]
fn spawning() {
    campaign(Profile::spawning(), 300, 90);
}

#[test]
fn extremes() {
    campaign(Profile::extremes(), 300, 90);
}

#[test]
fn bits() {
    campaign(Profile::bits(), 300, 90);
}

#[test]
fn local_arrays() {
    campaign(Profile::local_arrays(), 300, 90);
}

#[test]
fn scans() {
    campaign(Profile::scans(), 300, 80);
}

/// Messages when threads end.
#[test]
fn monitors() {
    campaign(Profile::monitors(), 500, 80);
}

#[test]
fn channels() {
    campaign(Profile::channels(), 500, 80);
}

#[test]
fn ghosts() {
    campaign(Profile::ghosts(), 500, 80);
}

#[test]
fn choices() {
    campaign(Profile::choices(), 500, 90);
}

#[test]
fn many_choices() {
    campaign(Profile::many_choices(), 60, 80);
}

#[test]
fn several() {
    campaign(Profile::several(), 500, 90);
}

#[test]
fn arrays() {
    campaign(Profile::arrays(), 150, 90);
}

#[test]
fn chains() {
    campaign(Profile::chains(), 40, 80);
}

#[test]
fn conditions() {
    campaign(Profile::conditions(), 500, 90);
}

#[test]
fn assumptions() {
    campaign(Profile::assumptions(), 500, 90);
}

#[test]
fn endings() {
    campaign(Profile::endings(), 600, 90);
}

#[test]
fn wide_endings() {
    campaign(Profile::wide_endings(), 300, 90);
}

#[test]
fn tries_and_awaits() {
    campaign(Profile::tries_and_awaits(), 600, 80);
}

#[test]
fn invariants() {
    campaign(Profile::invariants(), 600, 80);
}

/// Where an explorer stops trying is reached everywhere if it is tiny.
#[test]
fn tiny_caps() {
    for profile in Profile::all() {
        let programs = if matches!(profile.name, "long" | "chains") { 10 } else { 100 };
        run(Campaign::tiny(profile), programs, 50);
    }
}

fn campaign(profile: Profile, programs: u64, percent: u64) {
    run(Campaign::new(profile), programs, percent);
}

/// Runs a campaign; of all programs so many percent must be compared.
fn run(mut campaign: Campaign, programs: u64, percent: u64) {
    if let Ok(name) = std::env::var("SELVEDGE_FUZZ_ALGORITHM") {
        campaign.variants.retain(|variant| variant.algorithm.info().name == name);
        assert!(!campaign.variants.is_empty(), "SELVEDGE_FUZZ_ALGORITHM: no algorithm {name}");
    }
    let (mut tried, mut compared) = (0, 0);
    for seed in few_seeds(programs) {
        let sketch = generate(&campaign.profile, seed);
        tried += 1;
        match campaign.check(&sketch) {
            Ok(Checked::Compared(_)) => compared += 1,
            Ok(Checked::TooLarge) => {}
            Err(failure) => {
                let (small, failure) = campaign.shrink(sketch, failure);
                panic!(
                    "{} disagrees with the reference (profile {}, seed {seed}): {}\n\n{small}\n\
                     Save it as programs/regressions/<name>.sel, with a header that says what is right.",
                    failure.variant.name(),
                    campaign.name(),
                    failure.disagreement
                );
            }
        }
    }
    // A generator of programs that are all too large would test nothing.
    assert!(
        compared * 100 >= tried * percent,
        "{}: only {compared} of {tried} programs were compared",
        campaign.name()
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

/// Each way to try something ends its thread often, where it fails.
#[test]
fn what_is_tried_may_end_its_thread() {
    let mut ends = std::collections::BTreeMap::new();
    for seed in 0..1_000 {
        for profile in [Profile::endings(), Profile::wide_endings()] {
            for body in generate(&profile, seed).bodies() {
                for_each_op(body, &mut |op| {
                    let (tried, otherwise) = match op {
                        Op::Else(tried, otherwise) => (&**tried, otherwise),
                        Op::Receive(_, Some(otherwise)) => (op, otherwise),
                        _ => return,
                    };
                    if otherwise.as_slice() == [Op::Return] {
                        *ends.entry(kind(tried)).or_insert(0) += 1;
                    }
                });
            }
        }
    }
    let rare: Vec<_> = ends.iter().filter(|(_, times)| **times < 200).collect();
    assert!(rare.is_empty() && ends.len() == 8, "{ends:?}");
}

/// The name of the variant.
fn kind(op: &Op) -> String {
    format!("{op:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}
