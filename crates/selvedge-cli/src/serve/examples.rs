//! The programs of the repository, in the binary.

/// Names and texts, those without a folder first: `build.rs` lists them.
const ALL: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Returns the names of all examples.
pub(super) fn names() -> Vec<&'static str> {
    ALL.iter().map(|(name, _)| *name).collect()
}

/// Returns the text of an example, without the counts that tests compare.
pub(super) fn named(name: &str) -> Option<String> {
    let (_, text) = ALL.iter().find(|(known, _)| *known == name)?;
    let lines = text.lines().filter(|line| !line.starts_with("//#"));
    // The comment before the counts ends with an empty line of its own.
    let text = lines.map(|line| format!("{line}\n")).collect::<String>();
    Some(text.replacen("//\n\n", "\n", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_left_out() {
        let text = named("bank.sel").expect("it is an example");
        assert!(text.contains("Together 6 classes.\n\nshared balance"), "{text}");
        assert_eq!(named("bank"), None);
    }

    #[test]
    fn every_program_is_an_example_that_compiles() {
        assert!(names().len() > 100 && names()[0] == "bank-fixed.sel", "{:?}", names());
        for name in names() {
            let text = named(name).expect("it is an example");
            let is_fine = selvedge_lang::compile(name, &text, &[]).is_ok();
            assert!(is_fine, "{name} does not compile without its counts");
        }
    }
}
