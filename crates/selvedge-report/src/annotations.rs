//! What is wrong, in the form in which services that run tests show it beside the source.

use selvedge_core::Verdict;

use crate::outcome::Outcome;

/// Returns the commands with which GitHub Actions marks the lines of the violations, or of the file if nothing is proved. Nothing
/// for a program that is verified.
pub fn github(outcome: &Outcome) -> String {
    let mut out = String::new();
    for trace in &outcome.found {
        for violation in &trace.violations {
            let place = violation.places.first().map(|view| &view.place);
            let mut properties = match place {
                Some(place) => format!(
                    "file={},line={},col={},endColumn={}",
                    property(&place.file),
                    place.line,
                    place.column,
                    place.column + place.length.max(1),
                ),
                None => format!("file={}", property(&outcome.file)),
            };
            properties.push_str(&format!(",title={}", property("selvedge: violated")));
            let lines: Vec<&str> = std::iter::once(violation.message.as_str())
                .chain(violation.notes.iter().map(String::as_str))
                .chain([violation.replay.as_str()])
                .filter(|line| !line.is_empty())
                .collect();
            out.push_str(&format!("::error {properties}::{}\n", message(&lines.join("\n"))));
        }
    }
    if outcome.verdict() == Verdict::Inconclusive {
        let title = property("selvedge: inconclusive");
        for reason in &outcome.report.inconclusive {
            let file = property(&outcome.file);
            let text = message(&reason.to_string());
            out.push_str(&format!("::warning file={file},title={title}::{text}\n"));
        }
    }
    out
}

/// Returns the text of a message, in which a line break would end the command.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Returns the text of a property, which commas and colons would end.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{message, property};

    #[test]
    fn nothing_ends_a_command_early() {
        assert_eq!(message("50 %\r\n::error ::x"), "50 %25%0D%0A::error ::x");
        assert_eq!(property("C:/a,b%"), "C%3A/a%2Cb%25");
    }
}
