//! What only the compiler's output tells: inline assembly, whose accesses are not seen, and results that are used.

use std::path::Path;

/// Returns the places of inline assembly in the compiler's output, which marks it. Fences and hints to spin are known.
pub(crate) fn places(text: &str, file: &Path) -> Vec<String> {
    const KNOWN: [&str; 8] =
        ["", "pause", "nop", "rep nop", "rep; nop", "mfence", "lfence", "sfence"];
    let mut places = Vec::new();
    for part in text.split("#APP").skip(1) {
        let code = part.split("#NO_APP").next().unwrap_or(part);
        let mut place = file.display().to_string();
        for line in code.lines().map(str::trim) {
            if let Some(mark) = line.strip_prefix("# ") {
                if let Some(number) = mark
                    .split_whitespace()
                    .next()
                    .filter(|it| it.parse::<u32>().is_ok_and(|it| it > 0))
                {
                    place = format!("{}:{number}", file.display());
                }
            } else if !KNOWN.contains(&line) && !line.starts_with('#') {
                places.push(place.clone());
                break;
            }
        }
    }
    places
}

/// Returns whether there is a fence among the instructions. The compiler writes none for those of the language, which are calls.
pub(crate) fn has_fence(text: &str) -> bool {
    let is_fence = |line: &str| line.split([';', '\n']).any(|part| part.trim() == "mfence");
    text.lines().any(is_fence)
}

/// Returns whether the stack has to be executable: the address of a nested function is code on it.
pub(crate) fn needs_executable_stack(text: &str) -> bool {
    let is_so =
        |line: &str| line.contains(".note.GNU-stack,\"") && !line.contains(".note.GNU-stack,\"\"");
    text.lines().any(is_so)
}

/// Returns whether the result of a function may be used, in the compiler's output.
pub(crate) fn uses_result(text: &str, function: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let names = |line: &str| {
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        !line.starts_with('.') && !line.starts_with('#') && words.any(|word| word == function)
    };
    let mut mentions = lines.iter().enumerate().filter(|(_, line)| names(line));
    mentions.any(|(at, line)| !line.starts_with("call") || !is_discarded(&lines[at + 1..]))
}

/// Returns whether the register with the result of a call is written before it is read, as far as that is plain to see.
fn is_discarded(behind: &[&str]) -> bool {
    const RESULT: [&str; 4] = ["%rax", "%eax", "%ax", "%al"];
    /// Labels for debuggers, to which nothing jumps.
    const MARKS: [&str; 4] = [".LVL", ".LBB", ".LBE", ".LM"];
    let mentions = |text: &str| RESULT.iter().any(|register| text.contains(register));
    for line in behind {
        let is_mark = MARKS.iter().any(|mark| line.starts_with(mark));
        let is_directive = line.starts_with('.') && !line.ends_with(':');
        if line.is_empty() || line.starts_with('#') || is_mark || is_directive {
            continue;
        }
        let (name, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if line.ends_with(':') || name.starts_with('j') || name.starts_with("ret") {
            return false;
        }
        if name.starts_with("call") {
            return !mentions(operands);
        }
        if mentions(operands) {
            let operands = operands.split('#').next().unwrap_or(operands).trim();
            let (from, to) = operands.rsplit_once(',').unwrap_or(("", operands));
            let is_cleared = name.starts_with("xor") && from.trim() == to.trim();
            let is_moved = name.starts_with("mov") || name.starts_with("lea");
            return is_cleared || is_moved && RESULT[..2].contains(&to.trim()) && !mentions(from);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{has_fence, needs_executable_stack, uses_result};

    #[test]
    fn instructions_and_sections() {
        for (text, expected) in [
            ("#APP\n# 2 \"a.c\" 1\n\tmfence\n#NO_APP\n", true),
            ("\tmfence; incl x\n", true),
            ("\t.string\t\"_mm_mfence\"\n", false),
            ("\tcall\tmfence_here\n", false),
        ] {
            assert_eq!(has_fence(text), expected, "{text}");
        }
        assert!(needs_executable_stack("\t.section\t.note.GNU-stack,\"x\",@progbits\n"));
        assert!(!needs_executable_stack("\t.section\t.note.GNU-stack,\"\",@progbits\n"));
    }

    #[test]
    fn results_that_are_used() {
        for (behind, expected) in [
            ("\t.loc 1 2 3\n\tmovl\t$0, %eax\n", false),
            (".LVL4:\n\txorl\t%eax, %eax\n\tret\n", false),
            ("\tmovq\t-24(%rbp), %rax\n", false),
            ("\tleaq\tb(%rip), %rdi\n\tcall\tf@PLT\n", false),
            ("\tmovl\t%eax, -4(%rbp)\n", true),
            ("\tcmpl\t$-1, %eax\n", true),
            ("\tmovslq\t(%rdi,%rax,4), %rax\n", true),
            ("\tmovb\t$1, %al\n", true),
            (".L2:\n\tmovl\t$0, %eax\n", true),
            ("\taddq\t$8, %rsp\n\tret\n", true),
        ] {
            let text = format!("\tcall\twait_here@PLT\n{behind}");
            assert_eq!(uses_result(&text, "wait_here"), expected, "{behind}");
        }
        assert!(uses_result("\tjmp\twait_here@PLT\n", "wait_here"));
        assert!(uses_result("\tmovq\twait_here@GOTPCREL(%rip), %rax\n", "wait_here"));
        assert!(!uses_result("\t.string\t\"wait_here\"\n", "wait_here"));
        assert!(!uses_result("\tcall\twait_here_too@PLT\n", "wait_here"));
    }
}
