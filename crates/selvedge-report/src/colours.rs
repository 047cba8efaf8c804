//! The colours of pages, of pictures and of the workbench, each for the light and the dark theme.

/// The definitions, as the beginning of a style sheet.
pub const COLOURS: &str = include_str!("html/colours.css");

/// So many colours of threads there are, `t0` and so on; further threads have them again.
pub(crate) const THREADS: usize = 6;

/// Returns a colour, for the light or the dark theme: `#1d2125`.
///
/// # Panics
/// If there is no such colour: that is a bug of the tool.
pub(crate) fn colour(name: &str, dark: bool) -> &'static str {
    of(COLOURS, name, dark)
}

fn of<'a>(style: &'a str, name: &str, dark: bool) -> &'a str {
    let (_, rest) = style
        .split_once(&format!("--{name}: light-dark("))
        .unwrap_or_else(|| panic!("internal error: the style sheet defines no colour {name}"));
    let (both, _) = rest.split_once(')').expect("internal error: a definition ends");
    let (light_one, dark_one) =
        both.split_once(", ").expect("internal error: a colour is one of two");
    if dark { dark_one } else { light_one }
}

/// Returns the contrast of a text and what lies behind it, from 1 to 21, as the Web Content Accessibility Guidelines define it: 4.5 is
/// enough to be read. Both are names of colours that `style` defines.
///
/// # Panics
/// If `style` does not define them.
pub fn contrast(style: &str, text: &str, ground: &str, dark: bool) -> f64 {
    let luminance = |name: &str| {
        let hex = of(style, name, dark).trim_start_matches('#');
        let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
        let linear = [0, 2, 4].map(|at| match f64::from(part(at)) / 255.0 {
            part if part <= 0.04045 => part / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    };
    let (one, other) = (luminance(text) + 0.05, luminance(ground) + 0.05);
    one.max(other) / one.min(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_the_guidelines() {
        let style = "--a: light-dark(#000000, #777777) --b: light-dark(#ffffff, #ffffff)";
        assert!((contrast(style, "a", "b", false) - 21.0).abs() < 1e-9);
        // The grey that is known for just failing.
        assert!((contrast(style, "a", "b", true) - 4.478).abs() < 1e-3);
        assert!((contrast(style, "b", "a", true) - 4.478).abs() < 1e-3);
    }
}
