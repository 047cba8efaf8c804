//! Accesses that clang's instrumentation leaves out: those whose size is not 1, 2, 4, 8 or 16 bytes, such as `long double`,
//! bit-fields of three bytes and wide vectors.
//!
//! They are added to what clang writes as LLVM's text, before it becomes assembly.

/// Returns a text of LLVM with a call before each access that has none.
pub(crate) fn instrument(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    // The type of pointers in what is used.
    let mut used = [None; 2];
    for (number, line) in text.lines().enumerate() {
        if let Some(access) = Access::of(line) {
            used[usize::from(access.writes)] = Some(access.pointer_type());
            out.push_str(&access.call(number));
        }
        out.push_str(line);
        out.push('\n');
    }
    for (name, pointer) in FUNCTIONS.iter().zip(used) {
        if let Some(pointer) = pointer.filter(|_| !text.contains(&format!("declare void @{name}(")))
        {
            out.push_str(&format!("declare void @{name}({pointer}, i64)\n"));
        }
    }
    out
}

/// For reads, and for writes.
const FUNCTIONS: [&str; 2] = ["__tsan_read_range", "__tsan_write_range"];

/// A load or a store that is not atomic, of a size that is left out.
struct Access<'a> {
    writes: bool,
    size: u64,
    /// The pointer, with its type.
    pointer: &'a str,
    /// Its place, as LLVM has it.
    place: &'a str,
}

impl<'a> Access<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let code = line.trim_start();
        let (writes, rest) = match code.strip_prefix("store ") {
            Some(rest) => (true, rest),
            None => (false, code.strip_prefix('%')?.split_once(" = load ")?.1),
        };
        let rest = rest.strip_prefix("volatile ").unwrap_or(rest);
        if rest.starts_with("atomic ") {
            return None;
        }
        let (accessed, rest) = split_at_comma(rest)?;
        let size = size_of(type_of(accessed))?;
        if matches!(size, 0 | 1 | 2 | 4 | 8 | 16) {
            return None;
        }
        let (pointer, rest) = split_at_comma(rest).unwrap_or((rest, ""));
        let place = rest.split(", ").find_map(|part| part.strip_prefix("!dbg ")).unwrap_or("");
        Some(Self { writes, size, pointer: pointer.trim(), place })
    }

    /// Returns the type of pointers: newer versions have but one.
    fn pointer_type(&self) -> &'static str {
        if self.pointer.starts_with("ptr") { "ptr" } else { "i8*" }
    }

    /// Returns the call. The name of a value that it needs has the number of its line in it.
    fn call(&self, number: usize) -> String {
        let place = match self.place {
            "" => String::new(),
            place => format!(", !dbg {place}"),
        };
        let function = FUNCTIONS[usize::from(self.writes)];
        let size = self.size;
        match self.pointer_type() == "ptr" {
            true => format!("  call void @{function}({}, i64 {size}){place}\n", self.pointer),
            false => format!(
                "  %selvedge.{number} = bitcast {} to i8*{place}\n  call void @{function}(i8* %selvedge.{number}, i64 \
                 {size}){place}\n",
                self.pointer
            ),
        }
    }
}

/// Splits at the first comma outside of brackets.
fn split_at_comma(text: &str) -> Option<(&str, &str)> {
    let at = find_outside(text, b',')?;
    Some((&text[..at], &text[at + 1..]))
}

/// Returns the type at the beginning of a text.
fn type_of(text: &str) -> &str {
    &text[..find_outside(text, b' ').unwrap_or(text.len())]
}

/// Returns where a character first occurs outside of brackets.
fn find_outside(text: &str, wanted: u8) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().position(|byte| {
        match byte {
            b'(' | b'<' | b'{' | b'[' => depth += 1,
            b')' | b'>' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        byte == wanted && depth == 0
    })
}

/// Returns how many bytes a store of a type writes; nothing if its size is not known here: pointers, and structures.
fn size_of(name: &str) -> Option<u64> {
    let bits = bits_of(name)?;
    Some(bits.div_ceil(8))
}

fn bits_of(name: &str) -> Option<u64> {
    if let Some(inner) = name.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        let (count, element) = inner.split_once(" x ")?;
        return Some(count.parse::<u64>().ok()? * bits_of(element)?);
    }
    match name {
        "half" | "bfloat" => Some(16),
        "float" => Some(32),
        "double" => Some(64),
        "x86_fp80" => Some(80),
        "fp128" => Some(128),
        pointer if pointer.ends_with('*') || pointer == "ptr" => Some(64),
        number => number.strip_prefix('i')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::instrument;

    fn added(line: &str) -> String {
        let text = instrument(line);
        let end = text.find(line.trim_end()).unwrap_or_else(|| panic!("{text}"));
        text[..end].to_owned()
    }

    #[test]
    fn accesses_of_other_sizes() {
        let call = added("  %5 = load x86_fp80, x86_fp80* @v, align 16, !dbg !53");
        assert_eq!(
            call,
            "  %selvedge.0 = bitcast x86_fp80* @v to i8*, !dbg !53\n  \
             call void @__tsan_read_range(i8* %selvedge.0, i64 10), !dbg !53\n"
        );
        let call =
            added("  store i24 %4, i24* bitcast (%struct.anon* @s to i24*), align 1, !dbg !52");
        assert!(call.contains("bitcast i24* bitcast (%struct.anon* @s to i24*) to i8*"), "{call}");
        assert!(call.contains("@__tsan_write_range(i8* %selvedge.0, i64 3)"), "{call}");
        let call = added("  store volatile <8 x i32> %7, ptr @p, align 32");
        assert_eq!(call, "  call void @__tsan_write_range(ptr @p, i64 32)\n");
        assert!(added("  %7 = load <4 x i64*>, <4 x i64*>* %q").contains("i64 32"));
        assert!(added("  %7 = load <3 x float>, ptr %q").contains("i64 12"));
    }

    #[test]
    fn accesses_that_are_seen_anyway() {
        for line in [
            "  %5 = load i32, i32* %2, align 4, !dbg !69",
            "  store double %1, ptr %2, align 8",
            "  store <4 x i32> %1, ptr %2",
            "  store i1 true, ptr %2",
            "  store void (i8*)* @f, void (i8*)** %2, align 8",
            "  %5 = load %struct.node*, %struct.node** %2, align 8",
            "  %6 = load atomic i24, ptr %2 seq_cst, align 4",
            "  %6 = call i32 @load(i24 3)",
        ] {
            assert_eq!(instrument(line), format!("{line}\n"));
        }
    }
}
