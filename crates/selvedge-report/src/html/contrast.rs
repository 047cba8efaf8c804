//! The contrast of two colours of a style sheet; also for the tests of the workbench.

/// Returns the contrast of a text and its ground, light or dark, as the Web Content Accessibility Guidelines define it.
pub(super) fn ratio(style: &str, names: [&str; 2], dark: bool) -> f64 {
    let [one, other] = names.map(|name| luminance(parts(style, name, dark)) + 0.05);
    one.max(other) / one.min(other)
}

/// Returns the parts of a colour, from 0 to 1: `--NAME: light-dark(#rrggbb, #rrggbb)`.
fn parts(style: &str, name: &str, dark: bool) -> [f64; 3] {
    let start = format!("--{name}: light-dark(#");
    let (_, rest) = style.split_once(&start).unwrap_or_else(|| panic!("no colour {name}"));
    let (light_one, rest) = rest.split_once(", #").expect("two colours");
    let hex = if dark { &rest[..6] } else { light_one };
    let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
    [0, 2, 4].map(|at| f64::from(part(at)) / 255.0)
}

fn luminance(colour: [f64; 3]) -> f64 {
    let linear = colour.map(|part| match part {
        part if part <= 0.04045 => part / 12.92,
        part => ((part + 0.055) / 1.055).powf(2.4),
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}
