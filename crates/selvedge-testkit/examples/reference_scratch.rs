#![allow(clippy::print_stdout, clippy::print_stderr, reason = "scratch")]
//! Scratch.
use selvedge_testkit::reference::*;
use selvedge_testkit::{Profile, generate, Subject};
fn main() {
    std::thread::Builder::new().stack_size(1 << 28).spawn(run).unwrap().join().unwrap();
}
fn run() {
    let mut args = std::env::args().skip(1).peekable();
    let mut effort = Effort::default();
    if args.next_if(|a| a == "--draw").is_some() {
        let first: u64 = args.next().unwrap().parse().unwrap();
        let count: u64 = args.next().unwrap().parse().unwrap();
        let (mut same, mut large, mut rejected) = (0, 0, 0);
        let (mut finals, mut counted, mut vio, mut dead, mut complete) = (0, 0, 0, 0, 0);
        for n in first..first + count {
            let drawn = draw::draw(n);
            let text = drawn.to_string();
            if let Err(e) = Subject::new("d.sel", &text, &[]) {
                rejected += 1;
                if rejected < 12 { println!("--- {n} rejected: {e}"); }
                continue;
            }
            match std::panic::catch_unwind(|| agree(&text, &[], effort)) {
                Ok(Ok(Compared::Same(f, fin))) => { same += 1; finals += usize::from(fin); counted += usize::from(f.executions.is_some()); vio += f.violations.len(); dead += f.deadlocks.len(); complete += f.finals.len(); }
                Ok(Ok(Compared::TooLarge)) => large += 1,
                Ok(Err(e)) => {
                    let kind: String = e.chars().take(12).collect();
                    let small = draw::shrink(drawn, &mut |d| {
                        let t = d.to_string();
                        Subject::new("d.sel", &t, &[]).is_ok() && matches!(agree(&t, &[], effort), Err(x) if x.starts_with(&kind))
                    });
                    let t = small.to_string();
                    println!("--- {n} DIFFERS: {e}\n{t}\n{:?}", agree(&t, &[], effort).map(|_| ()));
                }
                Err(_) => println!("--- {n} PANICS\n{text}"),
            }
        }
        println!("same {same} large {large} rejected {rejected} finals {finals} counted {counted} violations {vio} deadlocks {dead} final states {complete}");
        return;
    }
    if args.next_if(|a| a == "--profiles").is_some() {
        let first: u64 = args.next().unwrap().parse().unwrap();
        let count: u64 = args.next().unwrap().parse().unwrap();
        for profile in Profile::all() {
            let (mut same, mut large, mut counted) = (0, 0, 0);
            for n in first..first + count {
                let sketch = generate(&profile, n);
                let text = sketch.to_string();
                match agree(&text, &[], effort) {
                    Ok(Compared::Same(f, _)) => { same += 1; counted += usize::from(f.executions.is_some()); }
                    Ok(Compared::TooLarge) => large += 1,
                    Err(e) => {
                        let kind: String = e.chars().take(12).collect();
                        let small = selvedge_testkit::shrink(sketch, &mut |s| matches!(agree(&s.to_string(), &[], effort), Err(x) if x.starts_with(&kind)));
                        println!("--- {} {n} DIFFERS: {e}\n{small}\n{:?}", profile.name, agree(&small.to_string(), &[], effort).map(|_| ()));
                    }
                }
            }
            println!("{}: same {same} large {large} counted {counted}", profile.name);
        }
        return;
    }
    let verbose = args.next_if(|a| a == "-v").is_some();
    if let Some(n) = args.next_if(|a| a.parse::<usize>().is_ok()) {
        effort.states = n.parse().unwrap();
        effort.executions = effort.states as u64;
        effort.interleavings = effort.states as u64;
    }
    for file in args {
        let text = std::fs::read_to_string(&file).unwrap();
        if verbose {
            if let Err(e) = Subject::new(&file, &text, &[]) { println!("{e}"); }
            match Program::new(&text, &[]).map(|p| explore(&p, effort.states)) {
                Ok(Some(f)) => println!("{f}"),
                Ok(None) => println!("too large"),
                Err(e) => println!("{e}"),
            }
            println!("{}", match tool::facts(&text, &[], selvedge_explore::Algorithm::Oracle, 100000) { Ok(Some(f)) => format!("tool:\n{f}"), o => format!("{o:?}") });
        }
        match agree(&text, &[], effort) {
            Ok(Compared::Same(f, finals)) => println!("{file}: same {} {} {} {:?} {finals}", f.violations.len(), f.deadlocks.len(), f.finals.len(), f.executions.map(|e| e.complete+e.deadlocked+e.blocked)),
            Ok(Compared::TooLarge) => println!("{file}: too large"),
            Err(e) => println!("{file}: DIFFERS {e}"),
        }
    }
}
