//! Actors: on random programs every explorer finds what brute force finds, and the second semantics says the same as the tool.

use selvedge_explore::Algorithm;
use selvedge_testkit::campaign::{Campaign, Checked};
use selvedge_testkit::reference::{Compared, Effort, agree};
use selvedge_testkit::{Profile, Subject, actors, few_seeds, is_campaign, least, seeds};

/// A bound on interleavings that is not known: brute force is tried.
const UNKNOWN: f64 = 0.0;

#[expect(clippy::print_stderr, reason = "a campaign tells what it did")]
fn explorers_agree(campaign: &Campaign) -> (u64, u64) {
    let (mut compared, mut classes) = (0, 0);
    for seed in few_seeds(3_000) {
        let text = actors(seed);
        match campaign.check_text(&text, UNKNOWN) {
            Ok(Checked::Compared(counts)) => {
                compared += 1;
                classes += counts.iter().max().copied().unwrap_or(0);
            }
            Ok(Checked::TooLarge) => {}
            Err(failure) => panic!(
                "program {seed}, {}: {}: {}\n{text}",
                campaign.name(),
                failure.variant.name(),
                failure.disagreement
            ),
        }
    }
    if is_campaign() {
        eprintln!("{}: {compared} programs with {classes} classes", campaign.name());
    }
    (compared, classes)
}

#[test]
fn random_programs_and_brute_force() {
    let (compared, classes) = explorers_agree(&Campaign::new(Profile::everything()));
    assert!(compared >= least(100) && classes > compared, "{compared} programs, {classes} classes");
}

#[test]
fn random_programs_with_tiny_caps() {
    let (compared, _) = explorers_agree(&Campaign::tiny(Profile::everything()));
    assert!(compared >= least(100), "only {compared} programs were compared");
}

#[test]
#[expect(clippy::print_stderr, reason = "a campaign tells what it did")]
fn random_programs_and_the_second_semantics() {
    let mut compared = 0;
    for seed in seeds(2_000) {
        let text = actors(seed);
        match agree(&text, &[], Effort::default()) {
            Ok(Compared::Same(..)) => compared += 1,
            Ok(Compared::TooLarge) => {}
            Err(difference) => panic!("program {seed}: {difference}\n{text}"),
        }
    }
    if is_campaign() {
        eprintln!("{compared} programs compared");
    }
    assert!(compared >= least(250), "only {compared} programs were compared");
}

/// The classes of a program.
fn classes(text: &str) -> usize {
    let subject = Subject::new("t.sel", text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let found = subject.classes(Algorithm::Oracle, &Default::default()).expect("it does not panic");
    found.classes.traces.len()
}

/// Two tasks of one actor are ordered by what they do to its fields, those of two actors are not.
#[test]
fn tasks_meet_in_their_actor_only() {
    let text = |posts: &str| {
        format!(
            "actor cell(i in 0..2) {{ shared v = 0; shared w = 0;\n\
             task put(n: int) {{ v = n; }}\n task other() {{ w = 1; }} }}\n\
             thread main {{ {posts} }}\n"
        )
    };
    assert_eq!(classes(&text("post cell[0].put(1); post cell[0].put(2);")), 2);
    assert_eq!(classes(&text("post cell[0].put(1); post cell[1].put(2);")), 1);
    assert_eq!(classes(&text("post cell[0].put(1); post cell[0].other();")), 1);
}

/// What follows an `await` names only what it touches: the fields of another actor are not waited for.
#[test]
fn a_later_part_of_a_task_is_as_independent_as_the_first() {
    let text = "actor cell(i in 0..2) { shared v = 0; shared w = 0;\n\
                task nothing() { skip; }\n\
                task late() { let f = post nothing(); await f; v += 1; w += v; } }\n\
                thread main { post cell[0].late(); post cell[1].late(); }\n";
    assert_eq!(classes(text), 1);
}

/// A task that waits for two fields, both of which keep it waiting in the end: no race with one of them alone can be reversed.
#[test]
fn a_task_waits_for_all_that_its_condition_may_read() {
    let wait = |condition: &str| {
        format!(
            "actor a {{\n    shared x = 0; shared y = 0; shared z = 0;\n    \
             task wait() {{ z = 1; await {condition}; z = 2; }}\n    \
             task wait_first() {{ await {condition}; z = 3; }}\n    \
             task set_x() {{ x = 1; }}\n    task set_y() {{ y = 1; }}\n}}\n\
             thread main {{ post a.set_x(); post a.set_y(); post a.wait(); post a.wait_first(); }}\n"
        )
    };
    let campaign = Campaign::new(Profile::everything());
    for condition in ["x == 0 && y == 0", "x == 1 && y == 0", "x == 0 || y == 0", "x == y"] {
        let text = wait(condition);
        match campaign.check_text(&text, UNKNOWN) {
            Ok(Checked::Compared(_)) => {}
            other => panic!("{condition}: {other:?}\n{text}"),
        }
    }
}
