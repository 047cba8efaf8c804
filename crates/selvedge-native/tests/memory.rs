//! Memory errors, each with its message. All programs are one module: a number that `main` gets chooses among them.

use selvedge_core::Verdict;
use selvedge_explore::{Algorithm, Options};

use crate::common::{Nothing, compile_with, search, toolchains};

/// What `main` does, and what is said. `LINE` stands for the line of the program.
const ERRORS: &[(&str, &str)] = &[
    (
        "int *p = malloc(4); *p = 1; free(p); seen = *p;",
        "main reads memory after it was freed: a block of 4 bytes allocated at test.c:LINE",
    ),
    (
        "int *p = malloc(4); free(p); *p = 1;",
        "main writes memory after it was freed: a block of 4 bytes allocated at test.c:LINE",
    ),
    (
        "atomic_int *p = malloc(4); free(p); atomic_fetch_add(p, 1);",
        "main updates memory after it was freed: a block of 4 bytes allocated at test.c:LINE",
    ),
    (
        "pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_init(m, 0); free(m); pthread_mutex_lock(m);",
        "main uses memory after it was freed: a block of 40 bytes allocated at test.c:LINE",
    ),
    (
        "pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_init(m, 0); pthread_mutex_lock(m); free(m); pthread_mutex_unlock(m);",
        "main uses memory after it was freed: a block of 40 bytes allocated at test.c:LINE",
    ),
    (
        "pthread_cond_t *c = malloc(sizeof *c); pthread_cond_init(c, 0); free(c); pthread_cond_signal(c);",
        "main uses memory after it was freed: a block of 48 bytes allocated at test.c:LINE",
    ),
    (
        "pthread_rwlock_t *l = malloc(sizeof *l); pthread_rwlock_init(l, 0); free(l); pthread_rwlock_rdlock(l);",
        "main uses memory after it was freed: a block of 56 bytes allocated at test.c:LINE",
    ),
    (
        "sem_t *s = malloc(sizeof *s); sem_init(s, 0, 1); free(s); sem_wait(s);",
        "main uses memory after it was freed: a block of 32 bytes allocated at test.c:LINE",
    ),
    (
        "pthread_barrier_t *b = malloc(sizeof *b); pthread_barrier_init(b, 0, 1); free(b); pthread_barrier_wait(b);",
        "main uses memory after it was freed: a block of 32 bytes allocated at test.c:LINE",
    ),
    (
        "char *p = malloc(4); free(p); memset(p, 0, 4);",
        "main writes memory after it was freed: a block of 4 bytes allocated at test.c:LINE",
    ),
    (
        "char *p = malloc(4), q[4]; free(p); memcpy(q, p, 4);",
        "main reads memory after it was freed: a block of 4 bytes allocated at test.c:LINE",
    ),
    (
        "char *p = strdup(\"abc\"); free(p); seen = strlen(p);",
        "main reads memory after it was freed: a block of 4 bytes allocated at test.c:LINE",
    ),
    (
        "char *p = malloc(4), *q = realloc(p, 8); *q = 1; *p = 1;",
        "main writes memory after it was freed: a block of 4 bytes allocated at test.c:LINE",
    ),
    (
        "int *p = malloc(4); free(p); free(p);",
        "main frees memory that was freed: a block of 4 bytes allocated at test.c:LINE",
    ),
    (
        "int *p = malloc(4); free(p); p = realloc(p, 8);",
        "main reallocates memory that was freed: a block of 4 bytes allocated at test.c:LINE",
    ),
    ("free(&zero);", "main frees zero, which is not the start of a block"),
    (
        "int local; free(&local);",
        "main frees a local variable of main, which is not the start of a block",
    ),
    (
        "free((void *)16);",
        "main frees memory outside of the program, which is not the start of a block",
    ),
    (
        "char *p = malloc(4); free(p + 1);",
        "main frees a block of 4 bytes allocated at test.c:LINE + 1, which is not the start of a block",
    ),
    (
        "char *p = malloc(4); p = realloc(p + 1, 8);",
        "main reallocates a block of 4 bytes allocated at test.c:LINE + 1, which is not the start of a block",
    ),
    (
        "int *p = malloc(8); p[2] = 1;",
        "main writes 4 bytes at offset 8 of a block of 8 bytes allocated at test.c:LINE, which ends at 8",
    ),
    (
        "int *p = malloc(8); seen = p[2];",
        "main reads 4 bytes at offset 8 of a block of 8 bytes allocated at test.c:LINE, which ends at 8",
    ),
    (
        "char *p = calloc(1, 3); seen = p[3];",
        "main reads 1 byte at offset 3 of a block of 3 bytes allocated at test.c:LINE, which ends at 3",
    ),
    (
        "char *p = malloc(4), *q = malloc(4); q[-1] = *p;",
        "main writes 1 byte at offset 31 of a block of 4 bytes allocated at test.c:LINE, which ends at 4",
    ),
    ("char *p = malloc(4); p[-1] = 1;", "main writes memory of the heap that was never allocated"),
    (
        "char *p = malloc(4); memset(p, 0, 5);",
        "main writes 5 bytes at offset 0 of a block of 4 bytes allocated at test.c:LINE, which ends at 4",
    ),
    (
        "char *p = malloc(4), q[8] = {0}; memcpy(q, p, 8);",
        "main reads 8 bytes at offset 0 of a block of 4 bytes allocated at test.c:LINE, which ends at 4",
    ),
    (
        "char *p = malloc(3); strcpy(p, \"abc\");",
        "main writes 4 bytes at offset 0 of a block of 3 bytes allocated at test.c:LINE, which ends at 3",
    ),
    (
        "char *p = malloc(4); strcpy(p, \"ab\"); strcat(p, \"cd\");",
        "main writes 3 bytes at offset 2 of a block of 4 bytes allocated at test.c:LINE, which ends at 4",
    ),
    (
        "char *p = malloc(3); snprintf(p, 9, \"%d\", 1234);",
        "main writes 5 bytes at offset 0 of a block of 3 bytes allocated at test.c:LINE, which ends at 3",
    ),
    (
        "char *p = malloc(3); sprintf(p, \"%d\", 123);",
        "main writes 4 bytes at offset 0 of a block of 3 bytes allocated at test.c:LINE, which ends at 3",
    ),
    (
        "char *p = malloc(4); p = realloc(p, 8); p[7] = 1; p = realloc(p, 2); p[2] = 1;",
        "main writes 1 byte at offset 2 of a block of 2 bytes allocated at test.c:LINE, which ends at 2",
    ),
    (
        "long *p = malloc(12); p[1] = 1;",
        "main writes 8 bytes at offset 8 of a block of 12 bytes allocated at test.c:LINE, which ends at 12",
    ),
    ("seen = *(volatile int *)(intptr_t)zero;", "main crashed: it used a null pointer (SIGSEGV)"),
    ("seen = 7 / zero;", "main crashed: a division by zero, or one that overflows (SIGFPE)"),
    (
        "*(volatile char *)\"constant\" = 1;",
        "main crashed: it accessed memory that is not mapped, or not for this kind of access (SIGSEGV)",
    ),
];

/// Where programs begin, in lines.
const FIRST: usize = 3;

fn program() -> String {
    let mut text = "#include <stdio.h>\nint zero; volatile long seen;\n".to_owned();
    let mut arms = String::new();
    for (number, (body, _)) in ERRORS.iter().enumerate() {
        text += &format!("static void entry{number}(void) {{ {body} }}\n");
        arms += &format!("case {number}: entry{number}(); break;\n");
    }
    text + &format!(
        "int main(int argc, char **argv) {{ switch (atoi(argv[argc - 1])) {{\n{arms}}} return 0; }}\n"
    )
}

#[test]
fn errors_have_their_messages() {
    for toolchain in toolchains() {
        let flags = [
            "-Wno-use-after-free",
            "-Wno-free-nonheap-object",
            "-Wno-unknown-warning-option",
            "-w",
        ];
        let compiled = compile_with(toolchain, &program(), &flags);
        let mut wrong = Vec::new();
        for (number, (body, message)) in ERRORS.iter().enumerate() {
            let violation = compiled.violation_of(&compiled.loaded.again(&[number.to_string()]));
            let message = message.replace("LINE", &(FIRST + number).to_string());
            let lines = violation.places.iter().map(|place| place.line as usize);
            if violation.message != message {
                wrong
                    .push(format!("{toolchain:?} {body}\n   {}\nnot {message}", violation.message));
            } else if !lines.clone().all(|line| line == FIRST + number) || lines.count() == 0 {
                wrong.push(format!("{toolchain:?} {body}: {:?}", violation.places));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    assert!(ERRORS.len() >= 30);
}

/// Leaks are looked for on request.
#[test]
fn leaks() {
    let text = "struct node { struct node *next; } *head; _Thread_local void *mine;\n\
                void *thread(void *u) { mine = malloc(5); return u; }\n\
                int main(int argc, char **argv) {\n\
                struct node *a = malloc(sizeof *a), *b = malloc(sizeof *b); a->next = b; b->next = 0;\n\
                switch (atoi(argv[argc - 1])) {\n\
                case 0: head = a; break;\n\
                case 1: free(a); break;\n\
                case 2: free(b); free(a); break;\n\
                case 3: break;\n\
                case 4: free(b); free(a); { pthread_t t; pthread_create(&t, 0, thread, 0); pthread_join(t, 0); } break;\n\
                } return 0; }\n";
    let compiled = compile_with(crate::common::GCC, text, &[]);
    let options = Options { keep_going: true, ..Options::default() };
    for (case, expected) in
        [None, Some((8, 0)), None, Some((8, 1)), Some((5, 0))].into_iter().enumerate()
    {
        let loaded = compiled.loaded.again(&[case.to_string()]);
        let report = search(&loaded, Algorithm::Optimal, &options, &mut Nothing);
        assert_eq!(report.verdict(), Verdict::Verified, "{case}: leaks are not looked for");
        loaded.look_for_leaks();
        for algorithm in [Algorithm::Optimal, Algorithm::DataCentric] {
            let report = search(&loaded, algorithm, &options, &mut Nothing);
            let found = report.violations.first().map(|(violation, _)| violation);
            match expected {
                None => assert!(found.is_none(), "{case}: {found:?}"),
                Some((size, more)) => {
                    let found = found.unwrap_or_else(|| panic!("{case}: no leak"));
                    assert!(
                        found
                            .message
                            .starts_with(&format!("a block of {size} bytes allocated at ")),
                        "{found:?}"
                    );
                    assert!(
                        found.message.ends_with(" is never freed, and nothing points to it"),
                        "{found:?}"
                    );
                    assert_eq!(found.notes.len(), more, "{found:?}");
                }
            }
        }
    }
}
