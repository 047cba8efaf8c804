//! No input makes the compiler or the interpreter panic, hang or need much memory.
//!
//! `SELVEDGE_FUZZ_SECONDS=600 cargo test --release -p selvedge-lang --test it robustness` continues with new
//! mutants for that long.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use selvedge_lang::bundle::bundle;
use selvedge_lang::{Additions, compile, compile_with, constants, ir, render};

const EVERYTHING: &str = include_str!("programs/everything.sel");

/// A small generator of pseudo-random numbers (xorshift64*): the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit.max(1)
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// Compiles, renders what is wrong, checks what comes out, and runs it at random.
fn survive_running(text: &str, random: &mut Random) -> bool {
    let compiled = survive(text);
    if compiled && let Ok(compiled) = compile("fuzz.sel", text, &[]) {
        crate::walk::run(&compiled.program, text, &mut |limit| random.below(limit));
    }
    compiled
}

/// Compiles, renders what is wrong, and checks what comes out.
fn survive(text: &str) -> bool {
    let result = compile("fuzz.sel", text, &[]);
    constants(text, &[]);
    match result {
        Ok(compiled) => {
            assert_eq!(ir::verify(&compiled.program), Ok(()), "{text}");
            render(&compiled.warnings, "fuzz.sel", text, false);
            true
        }
        Err(diagnostics) => {
            assert!(!diagnostics.is_empty(), "refused without a reason:\n{text}");
            assert!(!render(&diagnostics, "fuzz.sel", text, true).is_empty());
            false
        }
    }
}

#[test]
fn every_construct_compiles() {
    let compiled = match compile("everything.sel", EVERYTHING, &[]) {
        Ok(compiled) => compiled,
        Err(errors) => panic!("{}", render(&errors, "everything.sel", EVERYTHING, false)),
    };
    assert_eq!(ir::verify(&compiled.program), Ok(()));
    let warnings: Vec<_> = compiled.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(warnings, ["`flag` is never used", "`spin` is never called"]);
    let names: Vec<_> =
        compiled.program.atomics.iter().filter_map(|atomic| atomic.name.as_deref()).collect();
    assert_eq!(names, ["deposit", "withdraw", "bump", "look"]);
    assert_eq!(compiled.program.independence.len(), 4);
}

/// Pieces of a program: words, numbers, signs and the blanks between them.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        pieces.push(&rest[..length]);
        rest = &rest[length..];
    }
    pieces
}

/// The programs in the repository.
fn corpus() -> Vec<String> {
    let mut texts = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")];
    while let Some(folder) = folders.pop() {
        let entries = folder.read_dir().expect("the programs can be listed");
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.expect("the programs can be listed").path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "sel") {
                let read =
                    |path: &Path| std::fs::read_to_string(path).expect("a program can be read");
                let folder = path.parent().expect("a file is in a folder");
                let import = &mut |file: &str| Ok(read(&folder.join(file)));
                texts.push(bundle(&path.to_string_lossy(), &read(&path), import));
            }
        }
    }
    texts
}

/// The text with a few changes: of lines, numbers and words, which often compile, or wild ones.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        text = match random.below(8) {
            0..=2 => change_line(&text, random),
            3..=6 => change_piece(&text, random),
            _ => change_wildly(&text, random),
        };
    }
    text
}

/// Takes a line away, puts it somewhere else as well, or changes places with another one.
fn change_line(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return text.to_owned();
    }
    let (at, to) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(3) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(to, lines[at]),
        _ => lines.swap(at, to),
    }
    lines.join("\n")
}

/// Another number for a number, another word of the text for a word, another sign for a sign.
fn change_piece(text: &str, random: &mut Random) -> String {
    let mut pieces = pieces(text);
    let kind = |piece: &str| {
        let first = piece.chars().next().unwrap_or(' ');
        (first.is_ascii_digit(), first.is_alphabetic() || first == '_', first.is_whitespace())
    };
    for _ in 0..if pieces.is_empty() { 0 } else { 40 } {
        let (at, other) = (random.below(pieces.len()), random.below(pieces.len()));
        let same = kind(pieces[at]) == kind(pieces[other]);
        if same && !kind(pieces[at]).2 && pieces[at] != pieces[other] {
            pieces[at] = match kind(pieces[at]).0 && random.below(2) == 0 {
                true => random.pick(&["0", "1", "2", "3", "7", "100", "2147483647", "(0 - 1)"]),
                false => pieces[other],
            };
            break;
        }
    }
    pieces.concat()
}

fn change_wildly(text: &str, random: &mut Random) -> String {
    let mut pieces = pieces(text);
    if pieces.is_empty() {
        return String::new();
    }
    let at = random.below(pieces.len());
    let other = pieces[random.below(pieces.len())];
    match random.below(5) {
        0 => drop(pieces.remove(at)),
        1 => pieces.insert(at, other),
        2 => pieces[at] = other,
        3 => pieces.truncate(at),
        _ => {
            let end = (at + random.below(12)).min(pieces.len());
            let copy: Vec<&str> = pieces[at..end].to_vec();
            let to = random.below(pieces.len());
            pieces.splice(to..to, copy);
        }
    }
    pieces.concat()
}

/// Mutants of `base`, for as long as the environment says, or so many.
fn mutants(seed: u64, usually: u32, base: &mut dyn FnMut(&mut Random) -> String) {
    let seconds = std::env::var("SELVEDGE_FUZZ_SECONDS")
        .ok()
        .map(|seconds| seconds.parse().expect("SELVEDGE_FUZZ_SECONDS is not a number of seconds"));
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut random = Random(seed);
    let mut compiled = 0;
    for made in 0.. {
        if end.map_or(made == usually, |end| Instant::now() > end) {
            break;
        }
        let text = mutate(&base(&mut random), &mut random);
        compiled += u32::from(survive_running(&text, &mut random));
    }
    assert!(compiled > usually / 20, "only {compiled} mutants compiled: they are too wild");
}

#[test]
fn mutated_constructs() {
    mutants(0x5e1_7ed9e, 3_000, &mut |_| EVERYTHING.to_owned());
}

#[test]
fn mutated_programs() {
    let corpus = corpus();
    assert!(corpus.len() > 40, "only {} programs were found", corpus.len());
    mutants(0x90_1de4, 8_000, &mut |random| corpus[random.below(corpus.len())].clone());
}

#[test]
fn programs_run() {
    let mut random = Random(0xc0_4b05);
    for text in corpus() {
        assert!(survive_running(&text, &mut random), "a program does not compile:\n{text}");
    }
    assert!(survive_running(EVERYTHING, &mut random));
}

const WORDS: &[&str] = &[
    "const",
    "shared",
    "atomic",
    "mutex",
    "rwlock",
    "cond",
    "semaphore",
    "barrier",
    "list",
    "map",
    "fn",
    "proc",
    "thread",
    "daemon",
    "finally",
    "independent",
    "let",
    "if",
    "else",
    "while",
    "for",
    "in",
    "loop",
    "break",
    "continue",
    "return",
    "assert",
    "assume",
    "await",
    "lock",
    "unlock",
    "read_lock",
    "write_unlock",
    "send",
    "receive",
    "spawn",
    "join",
    "self",
    "skip",
    "yield",
    "choose",
    "true",
    "false",
    "after",
    "len",
    "push",
    "pop",
    "wait",
    "signal",
    "int",
    "bool",
    "x",
    "y",
    "a",
    "t",
    "N",
    "m",
    "q",
    "0",
    "1",
    "2147483648",
    "0x7f",
    "\"s\"",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    ":",
    ".",
    "..",
    "->",
    "=>",
    "=",
    "+=",
    "-=",
    "*=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    "!",
    "_",
    "\n",
    "//",
    "/*",
    "*/",
    "é",
    "\"",
    "\\",
    "\u{0}",
];

#[test]
fn random_tokens() {
    let mut random = Random(0xfeed_5eed);
    for round in 0..8_000 {
        let mut text = String::from("const N = 1;\nshared x = 0;\nmutex m;\nlist q;\n");
        if round % 2 == 0 {
            text.push_str("thread t { ");
        }
        for _ in 0..random.below(60) {
            text.push_str(random.pick(WORDS));
            text.push(' ');
        }
        if round % 2 == 0 {
            text.push_str(" }");
        }
        survive(&text);
    }
}

#[test]
fn random_bytes() {
    let mut random = Random(0xb17e5);
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..random.below(80)).map(|_| random.next() as u8).collect();
        survive(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = 100_000;
    let nest = |open: &str, middle: &str, close: &str| {
        format!("shared x = 0;\nthread t {{ {}{middle}{} }}", open.repeat(deep), close.repeat(deep))
    };
    for text in [
        nest("x = ", "(".repeat(deep).as_str(), ""),
        nest("(", "1", ")"),
        nest("if x == 1 { ", "skip;", "}"),
        nest("{", "skip;", "}"),
        nest("lock m {", "skip;", "}"),
        nest("atomic {", "skip;", "}"),
        nest("loop {", "break;", "}"),
        nest("receive { (1) => {", "skip;", "} }"),
        format!("thread t {{ assert {} true; }}", "!".repeat(deep)),
        format!("thread t {{ let v = {} 1; }}", "- ".repeat(deep)),
        format!("thread t {{ let v = 1 {}; }}", "+ 1".repeat(deep)),
        format!("thread t {{ let v = {}; }}", "if true { ".repeat(deep)),
        format!("thread t {{ let v = {} 1; }}", "if true { 1 } else ".repeat(deep)),
        format!("shared a = {};", "[".repeat(deep)),
        format!("shared a[1] = 0; thread t {{ a{} = 1; }}", "[0]".repeat(deep)),
        format!("shared a[1] = 0; thread t {{ {}", "a[".repeat(deep)),
        "thread t { ".repeat(deep),
        "proc p() { ".repeat(deep),
        "/*".repeat(deep),
    ] {
        assert!(!survive(&text), "{}", &text[..80.min(text.len())]);
    }
    // As deep as it may be.
    let sum = format!("1{}", " + 1".repeat(240));
    let (open, close) = ("if x > 0 { ".repeat(90), "}".repeat(90));
    assert!(survive(&format!("shared x = 0;\nthread t {{ {open} assert x < {sum}; {close} }}")));
    // Long, but not deep.
    let branches = "else if x == 1 { skip; } ".repeat(1_000);
    assert!(survive(&format!("shared x = 0;\nthread t {{ if x == 0 {{ skip; }} {branches} }}")));
    assert!(survive(&format!("shared x = 0;\nthread t {{ {} }}", "x = 1; ".repeat(10_000))));
}

/// Parentheses are levels of the tree, which is walked by recursion.
#[test]
fn parentheses_count_as_levels() {
    let message = |expression: &str| {
        let text = format!("shared x = 0; thread t {{ x = {expression}; }}");
        let errors = compile("deep.sel", &text, &[]).err().unwrap_or_default();
        render(&errors, "deep.sel", &text, false)
    };
    let row = format!("0{}", " + 0".repeat(240));
    assert_eq!(message(&row), "");
    let (open, close) = ("(".repeat(20), ")".repeat(20));
    let around = message(&format!("{open}{row}{close}"));
    assert!(around.contains("an expression of more than 250 operators in a row"), "{around}");
}

/// What is around an expression counts as well, each as one.
#[test]
fn arguments_are_a_level_below() {
    let compiles = |statement: String| {
        let text = format!(
            "shared x = 0; proc p(a: int, b: int) {{ x = a + b; }} fn f(a: int) -> int {{ return a; }}\n\
             thread t {{ {statement} }}"
        );
        compile("deep.sel", &text, &[]).is_ok()
    };
    let row = |operators: usize| format!("0{}", " + 0".repeat(operators));
    let deepest = |around: &dyn Fn(String) -> String| {
        (200..260).rev().find(|&operators| compiles(around(row(operators))))
    };
    assert_eq!(deepest(&|row| format!("x = {row};")), Some(249));
    assert_eq!(deepest(&|row| format!("x = f({row});")), Some(248));
    assert_eq!(deepest(&|row| format!("x = abs({row});")), Some(248));
    assert_eq!(deepest(&|row| format!("spawn p({row}, 1);")), Some(248));
    assert_eq!(deepest(&|row| format!("spawn p(1, {row});")), Some(248));
    assert_eq!(deepest(&|row| format!("x = choose(0..{row});")), Some(248));
}

#[test]
fn time_grows_with_the_length_only() {
    let many = 20_000;
    let chain: String = (0..many).map(|i| format!("const C{i} = C{} + 1;\n", i + 1)).collect();
    let routines: String =
        (0..many).map(|i| format!("proc p{i}() {{ if x > {i} {{ p{}(); }} }}\n", i + 1)).collect();
    let sections: String = (0..many)
        .map(|i| {
            format!(
                "atomic proc s{i}(v: int) {{ x += v; }}\nindependent(s{i}(a), s{i}(b)) if a < b;\n"
            )
        })
        .collect();
    let typos: String = (0..many).map(|i| format!("reader_{i} = {i};")).collect();
    let declared: String = (0..many).map(|i| format!("shared variable_{i} = 0;\n")).collect();
    for text in [
        format!("{chain}const C{many} = 0;\nshared x = C0;"),
        format!(
            "shared x = 0;\n{routines}proc p{many}() {{ yield; }}\nthread t {{ atomic {{ p0(); }} }}"
        ),
        format!("shared x = 0;\n{sections}"),
        format!("{declared}\nthread t {{ {typos} }}"),
        // Everything on one line, with other than ASCII characters before it.
        format!(
            "/* ééé */ shared x = 0; thread t {{ {} }}",
            "x = x + 1; assert x > 0 && x < 5; ".repeat(many)
        ),
        format!("shared x = 0; thread t {{ {} }}", "\u{1}é ".repeat(many)),
        "shared a[2000000000] = 0;\n".repeat(many),
        "shared a[1000][1000] = 0;\nthread t(i in 0..2000000000) { a[i][i] = 1; }".to_owned(),
        "list l[1000000] = [1];\nsemaphore s[1000000] = 1;\nthread t { up(s[0]); clear(l[0]); }"
            .to_owned(),
        format!("list l[1000000] = [{}];", "1,".repeat(many)),
    ] {
        let start = Instant::now();
        survive(&text);
        let seconds = start.elapsed();
        // Generous: a quadratic step takes minutes.
        assert!(seconds < Duration::from_secs(20), "{seconds:?}: {}", &text[..60]);
    }
}

#[test]
fn texts_are_not_longer_than_64_mib() {
    let long = " ".repeat((64 << 20) + 1);
    let error = compile("long.sel", &long, &[]).expect_err("it is too long");
    assert!(error[0].message.contains("at most 64 MiB are allowed"), "{}", error[0].message);
    let additions = Additions { name: "long.indep", text: &long };
    let rejected = compile_with("short.sel", "thread t { skip; }", &[], Some(additions))
        .expect_err("what is added is too long");
    assert!(rejected.program.is_empty());
    let message = &rejected.additions[0].message;
    assert!(message.contains("at most 64 MiB are allowed"), "{message}");
}
