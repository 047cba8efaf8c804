//! What makes a program the one it is: everything that decides how it runs, and nothing else.
//!
//! Two texts that differ in comments, blanks or where things stand have one identity; another value of a
//! constant, another instruction, another name of something that a constraint can speak of has another.

use std::fmt::{self, Debug, Display, Formatter};

use super::{Atomic, Global, Program};

/// The identity of a program, as text: long, for a hash.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a>(&'a Program);

impl Program {
    /// Returns what makes it the program that it is.
    pub fn identity(&self) -> Identity<'_> {
        Identity(self)
    }
}

impl Display for Identity<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Named one by one: a new field has to be put on one side or the other.
        let Program {
            source_name: _,
            sites: _,
            imports: _,
            additions: _,
            enums,
            tables,
            globals,
            procedures,
            threads,
            finally,
            invariants,
            promises,
            atomics,
            independence,
        } = self.0;
        // Programs without them are what they were before the language had them.
        enums.iter().try_for_each(|it| write!(f, "{it:?}"))?;
        tables.iter().try_for_each(|it| write!(f, "{it:?}"))?;
        let globals: Vec<_> = globals.iter().map(Identified).collect();
        let atomics: Vec<_> = atomics.iter().map(Identified).collect();
        write!(f, "{globals:?}{threads:?}{finally:?}{invariants:?}{atomics:?}")?;
        for promise in promises {
            write!(f, "{:?}", promise.what)?;
        }
        for rule in independence {
            write!(f, "{:?}{:?}{:?}", rule.first, rule.second, rule.condition)?;
        }
        for procedure in procedures {
            let super::Procedure { name, parameters, slots, result, atomic, code, .. } = procedure;
            write!(f, "{name:?}{parameters:?}{slots:?}{result:?}{atomic:?}")?;
            if procedure.watches {
                write!(f, "watches")?;
            }
            for instruction in code {
                write!(f, "{:?}", instruction.op)?;
            }
        }
        Ok(())
    }
}

/// What it is, without what only actors have: programs without them are what they were before.
struct Identified<'a, T>(&'a T);

impl Debug for Identified<'_, Global> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Global { name, dims, kind, base, own_dims } = self.0;
        let mut it = f.debug_struct("Global");
        it.field("name", name).field("dims", dims).field("kind", kind).field("base", base);
        if *own_dims > 0 {
            it.field("own_dims", own_dims);
        }
        it.finish()
    }
}

impl Debug for Identified<'_, Atomic> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Atomic { name, number, kind, procedure, continues } = self.0;
        let mut it = f.debug_struct("Atomic");
        it.field("name", name).field("number", number).field("kind", kind);
        it.field("procedure", procedure);
        if continues.is_some() {
            it.field("continues", continues);
        }
        it.finish()
    }
}

#[cfg(test)]
mod tests {
    fn identity(text: &str, constants: &[(String, i64)]) -> String {
        let compiled = crate::compile("t.sel", text, constants).expect("it compiles");
        compiled.program.identity().to_string()
    }

    const TEXT: &str = "const K = 1;\nshared x = 0;\n\
                        thread a { atomic p { let v = x; x = v + K; } }\n\
                        thread b { atomic q { let w = x; x = w + 1; } }\n";

    #[test]
    fn comments_and_places_do_not_matter() {
        let moved = TEXT.replace(";", ";\n  // a comment\n").replace("{", "{\n\n");
        assert_eq!(identity(TEXT, &[]), identity(&moved, &[]));
        assert_eq!(identity(TEXT, &[]), identity(TEXT, &[("K".to_owned(), 1)]));
    }

    #[test]
    fn what_it_does_matters() {
        let other = |from: &str, to: &str| {
            assert_eq!(TEXT.matches(from).count(), 1, "{from}");
            assert_ne!(identity(TEXT, &[]), identity(&TEXT.replace(from, to), &[]), "{to}");
        };
        other("w + 1", "w + 2");
        other("w + 1", "w - 1");
        other("x = 0;", "x = 1;");
        other("atomic p", "atomic r");
        other("thread b", "daemon thread b");
        other("let v = x; x = v + K;", "let u = x; x = u + K;");
        assert_ne!(identity(TEXT, &[]), identity(TEXT, &[("K".to_owned(), 2)]));
    }
}
