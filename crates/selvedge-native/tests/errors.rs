//! Memory errors and crashes: what is said, and where.

use crate::common::{compile, violated};

fn main_does(text: &str) -> String {
    format!("int zero;\nint main(void) {{ {text} return 0; }}\n")
}

#[test]
fn use_after_free() {
    violated(
        &main_does("int *p = malloc(4); *p = 1; free(p); return *p;"),
        "main reads memory after it was freed: a block of 4 bytes allocated at test.c:2",
    );
    violated(
        &main_does("int *p = malloc(4); free(p); *p = 1;"),
        "main writes memory after it was freed: a block of 4 bytes allocated at test.c:2",
    );
    violated(
        &main_does(
            "pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_init(m, 0); free(m); pthread_mutex_lock(m);",
        ),
        "main uses memory after it was freed: a block of 40 bytes allocated at test.c:2",
    );
}

/// Both orders of a use and a free run, whichever is found first.
#[test]
fn a_use_that_races_with_a_free() {
    let text = "int *p;\nvoid *a(void *u) { *p = 1; return u; }\n\
                int main(void) { pthread_t t; p = malloc(4); pthread_create(&t, 0, a, 0); free(p); pthread_join(t, 0); return 0; }";
    let violation = compile(text, &[]).violation();
    assert!(["use-after-free", "data-race"].contains(&violation.kind.name()), "{violation:?}");
    let report = compile(text, &[]).explore(selvedge_explore::Algorithm::Optimal);
    let kinds: Vec<&str> =
        report.violations.iter().map(|(violation, _)| violation.kind.name()).collect();
    assert!(kinds.contains(&"use-after-free"), "{kinds:?}");
}

#[test]
fn double_free() {
    violated(
        &main_does("int *p = malloc(4); free(p); free(p);"),
        "main frees memory that was freed: a block of 4 bytes allocated at test.c:2",
    );
}

#[test]
fn invalid_free() {
    violated(&main_does("free(&zero);"), "main frees zero, which is not the start of a block");
    violated(
        &main_does("char *p = malloc(4); free(p + 1);"),
        "main frees a block of 4 bytes allocated at test.c:2 + 1, which is not the start of a block",
    );
}

#[test]
fn out_of_bounds() {
    violated(
        &main_does("int *p = malloc(8); p[2] = 1;"),
        "main writes 4 bytes at offset 8 of a block of 8 bytes allocated at test.c:2, which ends at 8",
    );
    violated(
        &main_does("char *p = calloc(1, 3); return p[3];"),
        "main reads 1 byte at offset 3 of a block of 3 bytes allocated at test.c:2, which ends at 3",
    );
    violated(
        &main_does("char *p = malloc(4); memset(p, 0, 5);"),
        "main writes 5 bytes at offset 0 of a block of 4 bytes allocated at test.c:2, which ends at 4",
    );
    violated(
        &main_does(
            "char *p = malloc(4); p = realloc(p, 8); p[7] = 1; p = realloc(p, 2); p[2] = 1;",
        ),
        "main writes 1 byte at offset 2 of a block of 2 bytes allocated at test.c:2, which ends at 2",
    );
}

#[test]
fn crashes() {
    violated(
        &main_does("return *(volatile int *)(intptr_t)zero;"),
        "main crashed: it used a null pointer (SIGSEGV)",
    );
    violated(
        &main_does("return *(volatile int *)((intptr_t)zero + 123456789);"),
        "main crashed: it accessed memory that is not mapped, or not for this kind of access (SIGSEGV)",
    );
    violated(
        &main_does("return 7 / zero;"),
        "main crashed: a division by zero, or one that overflows (SIGFPE)",
    );
    violated(&main_does("abort();"), "main aborts the process");
    violated(
        "int deep(int n) { volatile char a[4096]; a[0] = n; return deep(n + 1) + a[0]; }\nint main(void) { return deep(0); }",
        "main overflows its stack of 8192 KiB",
    );
}

/// A crash has the place of the instruction.
#[test]
fn a_crash_has_its_place() {
    let violation =
        compile("int *p;\nint main(void) {\n  p = 0;\n  return strlen((char *)1);\n}\n", &[])
            .violation();
    assert_eq!(violation.kind.name(), "crash");
    let violation =
        compile("int zero;\nint main(void) {\n  zero = 0;\n  return 5 / zero;\n}\n", &[])
            .violation();
    assert_eq!(violation.places.first().map(|place| place.line), Some(4), "{violation:?}");
}

/// Only a clock can tell, so it is no violation.
#[test]
fn code_without_an_end() {
    let compiled = compile(&main_does("for (unsigned n = 1;; n++) { }"), &[]);
    let report = compiled.explore(selvedge_explore::Algorithm::Optimal);
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    let why = report.inconclusive.first().map(ToString::to_string).unwrap_or_default();
    assert!(why.contains("main reached no operation in 2 s of processor time at "), "{why}");
    assert!(why.contains("test.c:2"), "{why}");
}

#[test]
fn what_cannot_be_checked_is_said() {
    let compiled =
        compile("#include <unistd.h>\nint main(void) { char c; return read(0, &c, 1); }\n", &[]);
    let report = compiled.explore(selvedge_explore::Algorithm::Optimal);
    let why = report.inconclusive.first().map(ToString::to_string).unwrap_or_default();
    assert!(why.contains("main cannot continue: it calls read, which cannot be checked"), "{why}");
}

#[test]
fn inline_assembly_is_noticed() {
    let compiled = compile(
        "int x;\nint main(void) {\n  __asm__ volatile(\"incl %0\" : \"+m\"(x));\n  return 0; }\n",
        &[],
    );
    assert_eq!(compiled.notes.assembly.len(), 1, "{:?}", compiled.notes);
    drop(compiled);
    let compiled = compile(
        "int main(void) { __asm__ volatile(\"\" ::: \"memory\"); __builtin_ia32_pause(); return 0; }\n",
        &[],
    );
    assert!(compiled.notes.assembly.is_empty(), "{:?}", compiled.notes);
}
