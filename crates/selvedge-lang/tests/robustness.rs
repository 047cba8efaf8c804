//! No input makes the compiler panic, hang or need much memory.

use std::time::{Duration, Instant};

use selvedge_lang::{compile, constants, ir, render};

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

/// A few items of the program, each of them whole: mutations of these often still compile.
fn items(random: &mut Random) -> String {
    let items: Vec<&str> = EVERYTHING.split("\n\n").collect();
    // The declarations and functions, and one of the rest.
    let mut text = items[..6.min(items.len())].join("\n");
    text.push('\n');
    text.push_str(random.pick(&items));
    text
}

#[test]
fn mutated_programs() {
    let mut random = Random(0x5e1_7ed9e);
    let mut compiled = 0;
    for _ in 0..12_000 {
        let base = items(&mut random);
        let mut pieces = pieces(&base);
        for _ in 0..=random.below(4) {
            let at = random.below(pieces.len());
            let other = pieces[random.below(pieces.len())];
            match random.below(5) {
                0 if pieces.len() > 1 => drop(pieces.remove(at)),
                1 => pieces.insert(at, other),
                2 => pieces[at] = other,
                3 => pieces.truncate(at.max(1)),
                _ => {
                    let end = (at + random.below(12)).min(pieces.len());
                    let copy: Vec<&str> = pieces[at..end].to_vec();
                    let to = random.below(pieces.len());
                    pieces.splice(to..to, copy);
                }
            }
        }
        compiled += usize::from(survive(&pieces.concat()));
    }
    assert!(compiled > 200, "only {compiled} mutants compiled: the mutations are too wild");
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
