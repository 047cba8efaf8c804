//! Random programs, as scripts of the test kit and printed as C: the same number of classes for every explorer, and the
//! same number of deadlocks, with every compiler, optimised and not.
//!
//! All programs are one module: a number that `main` gets chooses among them.

use std::fmt::Write as _;

use selvedge_core::Counts;
use selvedge_explore::{Algorithm, Options};
use selvedge_testkit::script::{Op, Script, ScriptSystem};
use selvedge_testkit::{Random, explore};

use crate::common::{EXPLORERS, Nothing, compile_with, levels, search, toolchains};

const PROGRAMS: usize = 60;

/// Returns the operations of one thread. What it takes it gives up.
fn thread(random: &mut Random, budget: usize) -> Vec<Op> {
    let mut ops = Vec::new();
    while ops.len() < budget {
        let x = random.below(2);
        match random.below(11) {
            0 => ops.push(Op::Read(x)),
            1 => ops.push(Op::Write(x)),
            2 => ops.push(Op::Add(x)),
            3 => ops.push(Op::CompareExchange(x, 0, 1)),
            4 => ops.extend([Op::OnlyIf(x, 0), Op::Write(1 - x)]),
            5 => ops.extend([Op::Lock(x), Op::Write(0), Op::Unlock(x)]),
            6 => ops.extend([Op::TryLock(x, 2), Op::Add(1), Op::Unlock(x)]),
            7 => ops.extend([Op::ReadLock(0), Op::Read(0), Op::ReadUnlock(0)]),
            8 => ops.extend([Op::WriteLock(0), Op::WriteUnlock(0)]),
            9 => ops.push(Op::Up(x)),
            _ => ops.push(Op::Down(x)),
        }
    }
    ops
}

fn script(random: &mut Random) -> Script {
    let threads = 2 + random.below(2);
    (0..threads).map(|_| thread(random, if threads == 2 { 4 } else { 2 })).collect()
}

/// Prints one operation. Labels are those of the operations after it.
fn print(op: Op, at: usize, me: usize) -> String {
    match op {
        Op::Read(x) => format!("(void)atomic_load(&v[{x}]);"),
        Op::Write(x) => format!("atomic_store(&v[{x}], {});", me + 1),
        Op::Add(x) => format!("atomic_fetch_add(&v[{x}], 1);"),
        Op::CompareExchange(x, old, new) => {
            format!("{{ int e = {old}; atomic_compare_exchange_strong(&v[{x}], &e, {new}); }}")
        }
        Op::OnlyIf(x, value) => format!("if (atomic_load(&v[{x}]) != {value}) goto l{};", at + 2),
        Op::Lock(m) => format!("pthread_mutex_lock(&m[{m}]);"),
        Op::Unlock(m) => format!("pthread_mutex_unlock(&m[{m}]);"),
        Op::TryLock(m, skip) => {
            format!("if (pthread_mutex_trylock(&m[{m}])) goto l{};", at + 1 + skip)
        }
        Op::ReadLock(l) => format!("pthread_rwlock_rdlock(&r[{l}]);"),
        Op::WriteLock(l) => format!("pthread_rwlock_wrlock(&r[{l}]);"),
        Op::ReadUnlock(l) | Op::WriteUnlock(l) => format!("pthread_rwlock_unlock(&r[{l}]);"),
        Op::Up(s) => format!("sem_post(&s[{s}]);"),
        Op::Down(s) => format!("sem_wait(&s[{s}]);"),
        other => unreachable!("{other:?} is not drawn"),
    }
}

fn in_c(scripts: &[Script]) -> String {
    let mut text = "atomic_int v[2]; pthread_mutex_t m[2]; pthread_rwlock_t r[1]; sem_t s[2];\n\
                    void run(int count, void *(**threads)(void *)) { pthread_t t[8];\n\
                    for (int i = 0; i < count; i++) pthread_create(&t[i], 0, threads[i], 0);\n\
                    for (int i = 0; i < count; i++) pthread_join(t[i], 0); }\n"
        .to_owned();
    let mut cases = String::new();
    for (number, script) in scripts.iter().enumerate() {
        for (me, ops) in script.iter().enumerate() {
            let _ = writeln!(text, "void *p{number}_{me}(void *u) {{");
            for (at, &op) in ops.iter().enumerate() {
                let _ = writeln!(text, "l{at}: {}", print(op, at, me));
            }
            let _ = writeln!(text, "l{}: return u; }}", ops.len());
        }
        let names: Vec<String> = (0..script.len()).map(|me| format!("p{number}_{me}")).collect();
        let _ = writeln!(text, "void *(*p{number}[])(void *) = {{ {} }};", names.join(", "));
        let _ = writeln!(cases, "case {number}: run({}, p{number}); break;", script.len());
    }
    format!(
        "{text}int main(int argc, char **argv) {{ switch (atoi(argv[argc - 1])) {{\n{cases}}} return 0; }}\n"
    )
}

fn kinds(counts: Counts) -> (u64, u64, u64) {
    (counts.complete, counts.deadlocked, counts.blocked)
}

#[test]
fn have_the_classes_of_the_same_scripts() {
    let mut random = Random::new(17);
    let scripts: Vec<Script> = (0..PROGRAMS).map(|_| script(&mut random)).collect();
    let options = Options { keep_going: true, ..Options::default() };
    let algorithms: Vec<Algorithm> = EXPLORERS.into_iter().chain([Algorithm::Quasi]).collect();
    let mut expected: Vec<Vec<(u64, u64, u64)>> = Vec::new();
    for script in &scripts {
        let make = || ScriptSystem::new(script.clone());
        let counts = |&algorithm| explore(algorithm, &make, &options, &mut Nothing).counts;
        expected.push(algorithms.iter().map(|algorithm| kinds(counts(algorithm))).collect());
    }
    let most = expected.iter().flatten().map(|(complete, ..)| *complete).max();
    assert!(most > Some(20), "the programs are not all trivial: {most:?}");
    for toolchain in toolchains() {
        for &level in levels() {
            let compiled = compile_with(toolchain, &in_c(&scripts), &["-Wno-unused-label", level]);
            for (number, script) in scripts.iter().enumerate() {
                let loaded = compiled.loaded.again(&[number.to_string()]);
                for (&algorithm, expected) in algorithms.iter().zip(&expected[number]) {
                    let found = search(&loaded, algorithm, &options, &mut Nothing);
                    let name = algorithm.info().name;
                    let at = format!("{} {level} {name} {number}: {script:?}", toolchain.c);
                    assert_eq!(kinds(found.counts), *expected, "{at}");
                }
            }
        }
    }
}
