//! Inline assembly: its accesses are not seen, so it is looked for.

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
