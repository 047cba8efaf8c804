//! The programs of the repository, in the binary.

use selvedge_lang::bundle::bundle;

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

/// Returns a program with the examples that it imports. Nothing else can be imported: no file is read for what comes from a browser.
pub(super) fn with_imports(text: &str) -> String {
    bundle("program", text, &mut |path| {
        let path = path.trim_start_matches("../");
        let inside = format!("/{path}");
        let mut found = ALL.iter().filter(|(name, _)| *name == path || name.ends_with(&inside));
        match (found.next(), found.next()) {
            (Some((_, text)), None) => Ok((*text).to_owned()),
            _ => Err("here, only the examples of the workbench can be imported".to_owned()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_read() {
        for path in ["/etc/passwd", "../../Cargo.toml", "Cargo.toml", "README.md", ""] {
            let text = format!("import \"{path}\";\nthread t {{ skip; }}\n");
            let whole = with_imports(&text);
            let errors = selvedge_lang::compile("program", &whole, &[]).expect_err(path);
            assert!(errors[0].message.contains("import"), "{errors:?}");
            // A process that is given this text reads nothing either.
            let mut read = |path: &str| panic!("{path} is read");
            assert_eq!(bundle("other.sel", &whole, &mut read), whole);
        }
    }

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
            let is_fine = selvedge_lang::compile(name, &with_imports(&text), &[]).is_ok();
            assert!(is_fine, "{name} does not compile without its counts");
        }
    }
}
