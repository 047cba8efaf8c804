//! Verification tasks: functions that have a meaning by their names.
//!
//! The call of an error function is the error, whatever the task defines it to do. A header makes its own definition weak, so
//! that the one of the shim is linked (`shim/include/selvedge-tasks.h`). A function that is `static` cannot be weak.

use std::path::Path;

use crate::compile::Unbuilt;

/// Functions whose call is the error.
const ERRORS: [&str; 2] = ["reach_error", "__VERIFIER_error"];

/// Functions that a task may define with an abort, which is no error in them: the execution does not count.
pub(crate) const ASSUMPTIONS: [&str; 2] = ["assume_abort_if_not", "__VERIFIER_assume"];

/// Refuses a file that defines such a function for itself. `text`: its assembly by gcc, or its LLVM by clang, without optimisation.
pub(crate) fn refuse_static(text: &str, is_llvm: bool, file: &Path) -> Result<(), Unbuilt> {
    let is_static = if is_llvm { is_static_in_llvm } else { is_static_in_assembly };
    match ERRORS.iter().find(|name| is_static(text, name)) {
        None => Ok(()),
        Some(name) => Err(Unbuilt::Refused(format!(
            "{} defines {name} as `static`: the compiler may leave out its calls, which are the error\n  leave out `static`",
            file.display()
        ))),
    }
}

/// Also of a function whose calls are gone the name is among the texts for debuggers. One that is not static is weak.
fn is_static_in_assembly(assembly: &str, name: &str) -> bool {
    let (text, weak) = (format!(".string\t\"{name}\""), format!("\t.weak\t{name}"));
    let has = |part: &str| assembly.lines().any(|line| line == part);
    has(&format!("\t{text}")) && !has(&weak)
}

fn is_static_in_llvm(llvm: &str, name: &str) -> bool {
    let call = format!("@{name}(");
    llvm.lines().any(|line| line.starts_with("define internal ") && line.contains(&call))
}
