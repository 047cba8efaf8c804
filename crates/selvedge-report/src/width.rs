//! How wide a text is on a terminal, and making it as wide as wanted.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the text without characters that would move the cursor or colour the rest: tabs and line breaks
/// become blanks, other control characters a replacement sign.
pub fn visible(text: &str) -> String {
    text.chars().map(visible_char).collect()
}

/// Returns the same for a text of several lines.
pub(crate) fn visible_lines(text: &str) -> String {
    let mut lines = text.trim_end().lines();
    let first = lines.next().map(visible).unwrap_or_default();
    lines.fold(first, |all, line| format!("{all}\n{}", visible(line)))
}

fn visible_char(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => ' ',
        // Marks that turn the direction of writing could make code look like other code.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// Returns how many columns of a terminal the text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Returns the text padded with blanks, `to` columns wide. Longer texts stay.
pub(crate) fn pad(text: &str, to: usize) -> String {
    let blanks = to.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Returns the text with blanks before it, `to` columns wide. Longer texts stay.
pub(crate) fn pad_left(text: &str, to: usize) -> String {
    let blanks = to.saturating_sub(width(text));
    format!("{}{text}", " ".repeat(blanks))
}

/// Returns the text cut to at most `to` columns, with `…` as its last if something is missing.
pub(crate) fn shorten(text: &str, to: usize) -> String {
    if width(text) <= to {
        return text.to_owned();
    }
    let mut out = prefix(text, to.saturating_sub(1)).to_owned();
    if to > 0 {
        out.push('…');
    }
    out
}

/// Returns the text cut to at most `to` columns, with `…` for what is missing inside: results are at the end.
pub(crate) fn shorten_inside(text: &str, to: usize) -> String {
    if width(text) <= to {
        return text.to_owned();
    }
    let room = to.saturating_sub(1);
    let backwards: String = text.chars().rev().collect();
    let end: String = prefix(&backwards, room * 2 / 5).chars().rev().collect();
    format!("{}…{end}", prefix(text, room - width(&end)))
}

/// Returns the text in lines of at most `to` columns, broken at blanks where possible. At least one line.
pub(crate) fn wrap(text: &str, to: usize) -> Vec<String> {
    let to = to.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let blank = usize::from(!line.is_empty());
        if width(&line) + blank + width(word) <= to {
            line.push_str(&" ".repeat(blank));
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            // An arrow stays with what it points to.
            let arrow = line.len() - line.trim_end_matches(['→', '←']).len();
            let rest = line.split_off(line.len() - arrow);
            lines.extend(Some(line.trim_end().to_owned()).filter(|full| !full.is_empty()));
            line = rest;
            if !line.is_empty() && width(&line) + 1 + width(word) <= to {
                line.push(' ');
                line.push_str(word);
                continue;
            }
            lines.extend(Some(std::mem::take(&mut line)).filter(|arrow| !arrow.is_empty()));
        }
        let mut rest = word;
        while width(rest) > to {
            let part = match prefix(rest, to) {
                // Not even one character fits: take it all the same.
                "" => &rest[..rest.chars().next().map_or(0, char::len_utf8)],
                // A name and its place: `Mutex` and `@queue.rs:12`.
                part => match part.rfind('@') {
                    Some(at) if at > 0 => &part[..at],
                    _ => part,
                },
            };
            lines.push(part.to_owned());
            rest = &rest[part.len()..];
        }
        line.push_str(rest);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Returns the longest beginning of the text that fits into `to` columns.
fn prefix(text: &str, to: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > to {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_at_the_end_stays() {
        assert_eq!(shorten_inside("load(flag) → 1", 20), "load(flag) → 1");
        assert_eq!(
            shorten_inside("load AtomicU32@src/queue.rs:12 → 42", 20),
            "load AtomicU…12 → 42"
        );
        assert_eq!(width(&shorten_inside("日本日本日本日本", 7)), 7);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("x → 漢"), 6);
        assert_eq!(pad("漢", 4), "漢  ");
        assert_eq!(pad_left("漢", 4), "  漢");
        assert_eq!(shorten("漢字漢字", 5), "漢字…");
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten("abcd", 0), "");
    }

    #[test]
    fn wrapping_keeps_every_character() {
        assert_eq!(wrap("read balance[12] → 7", 8), ["read", "balance[", "12] → 7"]);
        assert_eq!(wrap("lock Mutex@queue.rs:12", 14), ["lock", "Mutex", "@queue.rs:12"]);
        assert_eq!(wrap("@@@@", 2), ["@", "@", "@@"]);
        assert_eq!(wrap("load counter → 7", 14), ["load counter", "→ 7"]);
        assert_eq!(wrap("→ 77777", 3), ["→", "777", "77"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("漢字", 1), ["漢", "字"]);
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(visible("a\tb\u{1b}[2J\u{202e}c"), "a b\u{fffd}[2J\u{fffd}c");
    }
}
