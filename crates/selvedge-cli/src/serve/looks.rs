//! Tests of the style and the script of the workbench.

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
    for dark in [false, true] {
        let check = |text: &str, ground: &str| {
            let ratio = contrast(parts(text, dark), parts(ground, dark));
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

/// The parts of a colour, light or dark, from 0 to 1.
fn parts(name: &str, dark: bool) -> [f64; 3] {
    let start = format!("--{name}: light-dark(#");
    let (_, rest) = STYLE.split_once(&start).unwrap_or_else(|| panic!("no colour {name}"));
    let (light_one, rest) = rest.split_once(", #").expect("two colours");
    let hex = if dark { &rest[..6] } else { light_one };
    let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
    [0, 2, 4].map(|at| f64::from(part(at)) / 255.0)
}

/// As the Web Content Accessibility Guidelines define it.
fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let luminance = |colour: [f64; 3]| {
        let linear = colour.map(|part| match part {
            part if part <= 0.04045 => part / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    };
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}
