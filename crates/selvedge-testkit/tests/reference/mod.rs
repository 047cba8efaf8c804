//! The tool and a second semantics of the language, written from its documentation, say the same about every program:
//! what can go wrong and on which line, who waits where in a deadlock, with which values it can end, and how many
//! interleavings it has.
//!
//! `SELVEDGE_FUZZ_SECONDS=600 cargo test --release -p selvedge-testkit --test it reference` continues for longer.

mod corners;

use std::collections::BTreeMap;

use selvedge_testkit::reference::draw::draw;
use selvedge_testkit::reference::{Compared, Effort, Facts, Origin, agree};
use selvedge_testkit::{Profile, Subject, least, listed_programs, seeds, text_of};

/// Calls of the program under test are calls of the reference, and 1,000 can be nested.
const STACK: usize = 1 << 28;

fn with_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test);
    if let Err(panic) = thread.expect("a thread can be started").join() {
        std::panic::resume_unwind(panic);
    }
}

/// What both say about a program; `None` if it is too large.
fn same(name: &str, text: &str) -> Option<Facts> {
    match agree(text, &[], Effort::default()) {
        Ok(Compared::Same(facts, _)) => Some(facts),
        Ok(Compared::TooLarge) => None,
        Err(difference) => panic!("{name}: {difference}\n{text}"),
    }
}

#[test]
fn programs_of_the_corpus() {
    let mut compared = 0;
    for file in listed_programs() {
        let text = text_of(&file);
        let facts = same(&file.display().to_string(), &text);
        compared += usize::from(facts.is_some());
    }
    assert!(compared >= least(120), "only {compared} programs were compared");
}

/// The page from which the reference was written.
#[test]
fn examples_of_the_documentation() {
    let page = include_str!("../../../../docs/language.md");
    let mut compared = 0;
    for (number, part) in page.split("```").enumerate() {
        // Declared independence changes how a program is explored, and not what it does: the reference does not have it.
        if let (1, Some(text)) = (number % 2, part.strip_prefix("sel\n"))
            && !text.contains("independent(")
        {
            let facts = same("docs/language.md", text);
            compared += usize::from(facts.is_some());
        }
    }
    assert!(compared >= 20, "only {compared} examples were compared");
}

/// Programs on which the page was silent, or could be read in two ways, when the reference was written.
#[test]
fn corner_cases() {
    with_stack(|| {
        for (name, text) in corners::PROGRAMS {
            let facts = same(name, text);
            assert!(facts.is_some(), "{name} is too large");
        }
    });
}

#[test]
fn programs_of_all_profiles() {
    for profile in Profile::all() {
        let programs = if profile.name == "long" { 10 } else { 30 };
        campaign(&Origin::Profile(Box::new(profile)), programs, 40);
    }
}

#[test]
fn drawn_programs() {
    campaign(&Origin::Drawn, 400, 80);
}

/// Compares programs of an origin; so many percent of them must be small enough.
fn campaign(origin: &Origin, programs: u64, percent: u64) {
    let (mut tried, mut compared) = (0, 0);
    for number in seeds(programs) {
        tried += 1;
        match origin.compare(number, Effort::default()) {
            Ok(Compared::Same(..)) => compared += 1,
            Ok(Compared::TooLarge) => {}
            Err(difference) => panic!("the reference and the tool differ: {difference}"),
        }
    }
    assert!(
        compared * 100 >= tried * percent,
        "{}: only {compared} of {tried} programs were compared",
        origin.name()
    );
}

/// The comparison is only as good as what is drawn.
#[test]
fn every_construct_is_drawn_and_every_program_compiles() {
    const CONSTRUCTS: [&str; 85] = [
        "monitor p",
        ": mutex",
        ": semaphore",
        ": list",
        ": shared int)",
        ": shared int[]",
        "count(",
        "try_send(",
        "ghost ",
        "gc += 1",
        "if ",
        "else if",
        "else {",
        "while ",
        "for ",
        "loop {",
        "break;",
        "continue;",
        "return;",
        "return ",
        "assert ",
        "assume ",
        "await ",
        "await scan ",
        " & ",
        " ^ ",
        " << ",
        " >> ",
        "~",
        "enum ",
        "int(",
        "const T[",
        "recs[",
        "rec.w",
        "channel ",
        "receive(",
        "for each ",
        "index_of(",
        "max(q)",
        "lossy ",
        "atomic {",
        "atomic block",
        "atomic proc",
        "fn ",
        "proc ",
        "daemon ",
        "finally",
        "lock m",
        "lock ms[",
        "unlock m",
        "try_lock(",
        "read_lock ",
        "write_lock ",
        "try_read_lock(",
        "try_write_lock(",
        "wait(",
        "signal(",
        "broadcast(",
        "up(",
        "down(",
        "try_down(",
        "arrive(",
        "send ",
        "receive (",
        "receive {",
        "after =>",
        "let ",
        "spawn ",
        "join ",
        "choose(",
        "choose()",
        "fetch_add(",
        "exchange(",
        "compare_exchange(",
        "push(",
        "pop(",
        "pop_front(",
        "contains(",
        "clear(",
        "remove(",
        "has(",
        "get(",
        "thread)",
        "self",
        "min(",
    ];
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for number in 0..5_000 {
        let text = draw(number).to_string();
        if let Err(error) = Subject::new("drawn.sel", &text, &[]) {
            panic!("drawn program {number} does not compile:\n{error}\n{text}");
        }
        for construct in CONSTRUCTS {
            *seen.entry(construct).or_default() += u32::from(text.contains(construct));
        }
    }
    let rare: Vec<_> = seen.iter().filter(|(_, times)| **times < 15).collect();
    assert!(rare.is_empty(), "hardly ever drawn: {rare:?}");
}
