//! A check or an execution as one HTML page that needs no network and no library.
//!
//! The page is made of the files in `html/`; the data is the JSON form of the result, put into a `<script>` element
//! that browsers do not run. Everything from a program is text there, and stays text: the script of the page only
//! sets texts and attributes.

use serde::Serialize;

use crate::colours::COLOURS;

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = concat!(
    include_str!("html/header.js"),
    include_str!("html/lanes.js"),
    include_str!("html/details.js"),
    include_str!("html/outline.js"),
    include_str!("html/main.js"),
);

/// Returns the page of an [`Outcome`](crate::Outcome) or of a [`ReplayJson`](crate::ReplayJson).
pub fn page<T: Serialize>(result: &T) -> String {
    let data =
        serde_json::to_string(result).expect("internal error: these types have only string keys");
    let parts = [
        ("/*COLOURS*/", COLOURS),
        ("/*STYLE*/", STYLE),
        ("/*DATA*/", &escaped(&data)),
        ("/*SCRIPT*/", SCRIPT),
    ];
    let (mut out, mut rest) = (String::new(), PAGE);
    for (mark, part) in parts {
        let (before, after) =
            rest.split_once(mark).expect("internal error: the page has its marks");
        out.push_str(before);
        out.push_str(part);
        rest = after;
    }
    out + rest
}

/// Returns JSON in which nothing can end the element it stands in, or begin another. These characters occur in
/// strings only.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colours::contrast;

    /// Everything between the marks of the data.
    fn data(page: &str) -> &str {
        let (_, rest) =
            page.split_once("<script type=\"application/json\" id=\"data\">").expect("data");
        rest.split_once("</script>").expect("an end").0
    }

    #[test]
    fn hostile_texts_stay_texts() {
        let texts = [
            "</script><script>alert(1)</script>",
            "<!-- <script>",
            "\"'`${alert(1)}",
            "\u{2028}\u{2029}",
            "&lt;b&gt;",
            "]]>",
        ];
        let page = page(&texts);
        let data = data(&page);
        for forbidden in ["<", ">", "&", "\u{2028}", "\u{2029}"] {
            assert!(!data.contains(forbidden), "{forbidden:?} in {data}");
        }
        let read: Vec<String> = serde_json::from_str(data).expect("still JSON");
        assert_eq!(read, texts);
        assert_eq!(page.matches("<script").count(), 2);
    }

    #[test]
    fn the_page_asks_the_network_for_nothing() {
        let page = page(&0);
        assert!(page.contains("default-src 'none'"));
        // The only address is the name of SVG.
        let addresses = page.matches("://").count();
        assert_eq!((addresses, page.matches("http://www.w3.org/2000/svg").count()), (1, 1));
        for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
        {
            assert!(!SCRIPT.contains(forbidden), "{forbidden}");
        }
    }

    /// Colours of texts and what lies behind them differ enough to be read, in both themes.
    #[test]
    fn the_contrast_is_enough() {
        for dark in [false, true] {
            let check = |text: &str, ground: &str| {
                let ratio = contrast(COLOURS, text, ground, dark);
                assert!(ratio >= 4.5, "--{text} on --{ground}, dark: {dark}: {ratio:.2}");
            };
            for text in ["fg", "dim", "bad", "good", "t0", "t1", "t2", "t3", "t4", "t5"] {
                check(text, "bg");
            }
            for text in ["fg", "dim", "bad", "good"] {
                check(text, "card");
            }
            for ground in ["mark", "bad-bg"] {
                check("fg", ground);
            }
            check("bad", "mark");
            for ground in ["bad", "good", "unsure"] {
                check("chip", ground);
            }
        }
    }
}
