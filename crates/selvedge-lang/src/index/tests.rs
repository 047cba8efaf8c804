use super::*;

/// Every name of a text with the line and column of its declaration, as `name@line:column`.
fn resolved(text: &str) -> Vec<String> {
    let index = Index::new(text);
    let lines = crate::LineIndex::new(text);
    let told = |it: &Use| {
        let (line, column, _) = lines.position(index.symbol(it.symbol).span, text);
        format!("{}@{line}:{column}", it.span.of(text))
    };
    index.uses.iter().map(told).collect()
}

fn at(text: &str, nth: usize, word: &str) -> usize {
    text.match_indices(word).nth(nth).expect("the word is there").0
}

fn named(index: &Index, name: &str) -> SymbolId {
    index.symbols().find(|(_, symbol)| symbol.name == name).expect("it is declared").0
}

const COUNTER: &str = "\
const N = 2;
shared x = 0;
mutex m;
fn next(v: int) -> int { return v + 1; }
proc inc() {
    lock m { let v = x; x = next(v); }
}
thread t(i in 0..N) { inc(); for v in 0..i { x += v; } }
thread main { let h = spawn inc(); join h; join t[0]; }
finally { assert x == N; }
";

#[test]
fn names_have_scopes() {
    let text =
        "shared x = 0;\nthread t {\n let v = x;\n { let w = v; x = w; }\n let w = 1; x = w;\n}";
    assert_eq!(
        resolved(text),
        [
            "x@1:8", "t@2:8", "v@3:6", "x@1:8", "w@4:8", "v@3:6", "x@1:8", "w@4:8", "w@5:6",
            "x@1:8", "w@5:6"
        ]
    );
}

#[test]
fn orderings_and_fields_are_looked_up() {
    let text = "shared atomic acquire = 0;\nthread t { let v = load(acquire, acquire); }";
    assert_eq!(resolved(text), ["acquire@1:15", "t@2:8", "v@2:16", "acquire@1:15"]);
    let text = "shared z = 0;\nindependent(b, b) if first.k == second.k;\nthread t { let k = 1; atomic b { z += k; } }";
    let index = Index::new(text);
    assert_eq!(index.uses_of(named(&index, "k")).count(), 4);
    assert_eq!(index.uses_of(named(&index, "b")).count(), 3);
}

#[test]
fn uses_say_what_they_do() {
    let index = Index::new(COUNTER);
    let verbs = |name| -> Vec<&str> {
        index.uses_of(named(&index, name)).map(|it| it.access.verb).collect()
    };
    assert_eq!(verbs("x"), ["declares", "reads", "writes", "reads and writes", "reads"]);
    assert_eq!(verbs("m"), ["declares", "locks"]);
    assert_eq!(verbs("inc"), ["declares", "calls", "spawns"]);
    assert_eq!(verbs("t"), ["declares", "waits for the end of"]);
    let symbol = |name| index.symbol(named(&index, name));
    assert_eq!((symbol("N").value, symbol("t").threads), (Some(2), Some(2)));
    assert_eq!((symbol("h").ty, symbol("x").ty), (Some(Type::Thread), Some(Type::Int)));
    assert_eq!(symbol("m").whole.of(COUNTER), "mutex m;");
    assert!(symbol("inc").whole.of(COUNTER).starts_with("proc inc() {"));
}

#[test]
fn dependence_is_between_threads() {
    let text = "shared x = 0; shared y = 0;\nthread a { x = 1; let v = y; y = v; }\nthread b { let w = x; assert w < 2; }";
    let index = Index::new(text);
    let of = |nth, word| {
        let it = index.use_at(at(text, nth, word)).expect("a name is there");
        index.dependence(it).expect("it is shared").others.len()
    };
    // The write depends on the read of the other thread, and y is used by one thread only.
    assert_eq!((of(1, "x"), of(2, "x")), (1, 1));
    assert_eq!((of(1, "y"), of(2, "y")), (0, 0));
    // Both instances of a replicated thread, and of a procedure that is called by two.
    let index = Index::new(COUNTER);
    let read = index.use_at(at(COUNTER, 0, "x; x")).expect("a name is there");
    assert_eq!(index.dependence(read).expect("it is shared").others.len(), 2);
    assert_eq!(index.runners(read.place).len(), 2);
}

/// A use of a parameter is one of the parameter; the call passes the object, and may use it in every way.
#[test]
fn objects_that_are_passed_are_used() {
    let text = "mutex m; shared x = 0;\n\
        proc p(a: mutex, v: shared int, k: int) { lock a { v += k; } }\n\
        thread t(i in 0..2) { p(m, x, x); spawn p(m, x, 1); }\n\
        thread u { lock m { skip; } }";
    let index = Index::new(text);
    let verbs = |name| -> Vec<&str> {
        index.uses_of(named(&index, name)).map(|it| it.access.verb).collect()
    };
    assert_eq!(verbs("m"), ["declares", "passes", "passes", "locks"]);
    assert_eq!(verbs("x"), ["declares", "passes", "reads", "passes"]);
    assert_eq!(verbs("a"), ["declares", "locks"]);
    let lock = index.use_at(at(text, 0, "m { skip")).expect("a name is there");
    assert_eq!(index.dependence(lock).expect("it is shared").others.len(), 2);
    let symbol = |name| index.symbol(named(&index, name));
    assert_eq!((symbol("a").object, symbol("a").ty), (Some(("mutex", 0)), None));
    assert_eq!((symbol("v").object, symbol("v").ty), (Some(("shared", 0)), Some(Type::Int)));
    assert_eq!(symbol("k").object, None);
}

#[test]
fn renaming_is_checked_by_doing_it() {
    let index = Index::new(COUNTER);
    let rename = |name: &str, to: &str| index.rename(named(&index, name), to, COUNTER);
    assert_eq!(rename("x", "count").map(|it| it.spans.len()), Ok(5));
    for (name, to, why) in [
        ("x", "m", "a mutex has this name"),
        ("x", "thread", "is a keyword"),
        ("x", "1x", "is not a name"),
        ("x", "é", "is not a name"),
        ("x", "_", "is not a name"),
        // The local of the procedure would hide it.
        ("x", "v", "has this name"),
        ("h", "x", "is already the name of a shared variable"),
    ] {
        let Err(Refused(message)) = rename(name, to) else { panic!("{name} to {to}") };
        assert!(message.contains(why), "{message}");
    }
    // Calls of the built-in function would become calls of this one.
    let text =
        "fn f(a: int, b: int) -> int { return min(a, b); }\nthread t { assert f(1, 2) == 1; }";
    let index = Index::new(text);
    assert!(index.rename(named(&index, "f"), "min", text).is_err());
    assert!(index.rename(named(&index, "f"), "max", text).is_ok());
    // In a program that has errors, too.
    let text = "shared x = 0;\nthread t { let h = 1; x = h; y = h; }";
    let index = Index::new(text);
    assert!(index.rename(named(&index, "h"), "x", text).is_err());
    assert!(index.rename(named(&index, "h"), "z", text).is_ok());
    let broken = Index::new("shared x = 0;\nthread t { x = ; }");
    assert!(broken.rename(named(&broken, "x"), "y", "").is_err());
}

#[test]
fn a_text_with_errors_has_names() {
    let text = "shared x = 0;\nthread t { x = y + ; let v = x; v = true; }\nproc p( { }\nthread u { x = 1; }";
    let index = Index::new(text);
    assert!(index.has_syntax_errors());
    let names: Vec<_> = index.symbols().map(|(_, symbol)| symbol.name.as_str()).collect();
    assert_eq!(names, ["x", "t", "u", "v"]);
}

#[test]
fn no_text_makes_it_panic() {
    for cut in 0..COUNTER.len() {
        Index::new(&COUNTER[..cut]);
        Index::new(&COUNTER[cut..]);
    }
    let deep = "thread t { ".to_owned() + &"{".repeat(10_000);
    Index::new(&deep);
}

/// All programs of the repository.
fn programs() -> Vec<(String, String)> {
    let mut todo = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")];
    let mut found = Vec::new();
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder can be read");
            todo.extend(entries.map(|entry| entry.expect("an entry can be read").path()));
        } else if path.extension().is_some_and(|ending| ending == "sel") {
            let text = std::fs::read_to_string(&path).expect("a program can be read");
            found.push((path.display().to_string(), text));
        }
    }
    assert!(found.len() > 100, "the programs were found");
    found
}

/// Every word that is no keyword is a name that is looked up, or one that the language has.
#[test]
fn every_name_of_every_program_is_known() {
    let known = ["int", "bool", "thread", "first", "second"];
    let orderings = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"];
    // What is declared in another file is not known here.
    for (path, text) in programs().into_iter().filter(|(_, text)| !text.contains("\nimport \"")) {
        let index = Index::new(&text);
        for token in lex(&text, &mut Diagnostics::default()) {
            let word = token.span.of(&text);
            let is_looked_up = index.uses.iter().any(|it| it.span == token.span);
            let is_of_the_language = known.contains(&word)
                || PLACED.contains(&word)
                || orderings.contains(&word)
                || BUILT_IN.contains(&word);
            if token.kind == TokenKind::Name {
                assert!(is_looked_up || is_of_the_language, "{path}: `{word}` at {:?}", token.span);
            }
        }
    }
}

/// A new name changes nothing else: the program compiles to the same code.
#[test]
fn every_name_of_every_program_can_be_changed() {
    for (path, text) in programs() {
        let index = Index::new(&text);
        let Ok(before) = crate::compile("", &text, &[]) else { continue };
        let shape = |program: &crate::ir::Program| -> Vec<_> {
            let code = program.procedures.iter().map(|it| it.code.clone());
            code.map(|code| code.into_iter().map(|it| it.op).collect::<Vec<_>>()).collect()
        };
        for (id, symbol) in index.symbols() {
            // As long as the old one, so that places stay.
            let name = format!("_{}", "q".repeat(symbol.name.len().max(2) - 1));
            let renamed = index.rename(id, &name, &text);
            let Renamed { spans } =
                renamed.unwrap_or_else(|refused| panic!("{path}: {}", refused.0));
            let changed = rename::replaced(&text, &spans, &name);
            let after = crate::compile("", &changed, &[]);
            let after = after.unwrap_or_else(|errors| panic!("{path}: {} {errors:?}", symbol.name));
            assert_eq!(shape(&before.program), shape(&after.program), "{path}: {}", symbol.name);
        }
    }
}
