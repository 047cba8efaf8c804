//! Tests of the style and the script of the workbench.

use selvedge_report::{COLOURS, contrast};

const STYLE: &str = include_str!("page/workbench.css");
const SCRIPT: &str = include_str!("page/workbench.js");
const PAGE: &str = include_str!("page/workbench.html");

/// Everything from a program stays text, and nothing is loaded from elsewhere.
#[test]
fn nothing_becomes_markup() {
    for forbidden in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "srcdoc",
    ] {
        assert!(!SCRIPT.contains(forbidden), "{forbidden}");
    }
    let addresses: Vec<&str> =
        SCRIPT.match_indices("://").map(|(at, _)| &SCRIPT[at..at + 20]).collect();
    assert_eq!(addresses, ["://www.w3.org/2000/s"]);
    assert!(!STYLE.contains("url(") && !PAGE.contains("://"));
    // The policy would refuse it, and the browser would log that.
    assert!(!PAGE.contains(" style=") && !PAGE.contains(" onclick="));
}

/// Colours of texts and what lies behind them differ enough to be read, in both themes.
#[test]
fn the_contrast_is_enough() {
    let style = format!("{COLOURS}{STYLE}");
    for dark in [false, true] {
        let check = |text: &str, ground: &str| {
            let ratio = contrast(&style, text, ground, dark);
            assert!(ratio >= 4.5, "--{text} on --{ground}, dark: {dark}: {ratio:.2}");
        };
        for text in ["fg", "dim", "bad", "good", "unsure"] {
            check(text, "bg");
        }
        for ground in ["card", "bad-bg"] {
            for text in ["fg", "dim", "keyword", "built-in", "number", "string"] {
                check(text, ground);
            }
        }
        for ground in ["built-in", "bad", "good", "unsure", "dim"] {
            check("chip", ground);
        }
        check("fg", "mark");
    }
}
