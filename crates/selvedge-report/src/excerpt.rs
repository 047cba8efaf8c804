//! Places in the source, with the lines they are about.

use crate::paint::{Paint, Style};
use crate::view::PlaceView;
use crate::width::{visible, width, wrap};

/// On narrower terminals lines are longer than the terminal.
const LEAST_ROOM: usize = 24;

/// Returns the places and, below them, the notes.
pub(crate) fn excerpts(
    places: &[PlaceView],
    notes: &[String],
    most: usize,
    paint: Paint,
) -> String {
    let numbers = places.iter().map(|view| view.place.line.to_string().len());
    let margin = numbers.max().unwrap_or(1);
    let mut out = String::new();
    for (i, view) in places.iter().enumerate() {
        let arrow = if i == 0 { "-->" } else { ":::" };
        excerpt(view, arrow, margin, most, paint, &mut out);
    }
    for note in notes {
        let room = most.saturating_sub(margin + 3).max(LEAST_ROOM);
        for (i, part) in wrap(note, room).iter().enumerate() {
            let sign = if i == 0 { paint.style(Style::Frame, "=") } else { " ".to_owned() };
            push_line(&mut out, &[&" ".repeat(margin), " ", &sign, " ", part]);
        }
    }
    out
}

fn excerpt(
    view: &PlaceView,
    arrow: &str,
    margin: usize,
    most: usize,
    paint: Paint,
    out: &mut String,
) {
    let blanks = " ".repeat(margin);
    let bar = paint.style(Style::Frame, "|");
    let arrow = paint.style(Style::Frame, arrow);
    let place = visible(&view.place.to_string());
    let Some(line) = &view.line else {
        push_line(out, &[&blanks, &arrow, " ", &place, "  ", &view.label]);
        return;
    };
    push_line(out, &[&blanks, &arrow, " ", &place]);
    push_line(out, &[&blanks, " ", &bar]);
    let room = most.saturating_sub(margin + 3);
    let shown = Shown::new(line, view.place.column as usize, view.place.length as usize, room);
    let number = format!("{:>margin$}", view.place.line);
    push_line(out, &[&paint.style(Style::Frame, &number), " ", &bar, " ", &shown.text]);
    let marks = "^".repeat(shown.marks);
    let label = if view.label.is_empty() { marks } else { format!("{marks} {}", view.label) };
    let label = paint.style(Style::Bad, &label);
    push_line(out, &[&blanks, " ", &bar, " ", &" ".repeat(shown.before), &label]);
}

/// The part of a line that is shown, and where the marks go, in columns of the terminal.
struct Shown {
    text: String,
    before: usize,
    marks: usize,
}

impl Shown {
    /// `column` counts from 1, in characters; `room` is how wide the text may be.
    fn new(line: &str, column: usize, length: usize, room: usize) -> Self {
        let room = room.max(LEAST_ROOM);
        let chars: Vec<char> = visible(line).chars().collect();
        let first = column.saturating_sub(1).min(chars.len());
        let text = |from: usize, to: usize| chars[from..to].iter().collect::<String>();
        // Most of the room is for the marks and what follows.
        let from = if width(line) > room {
            first - fitting(chars[..first].iter().rev(), room / 3)
        } else {
            0
        };
        let to = from + fitting(chars[from..].iter(), room - 2 * usize::from(from > 0));
        let end = first.saturating_add(length).min(to);
        let mut shown = Self {
            text: text(from, to),
            before: width(&text(from, first)),
            marks: width(&text(first, end.max(first))).max(1),
        };
        if from > 0 {
            shown.text.insert(0, '…');
            shown.before += 1;
        }
        if to < chars.len() {
            shown.text.push('…');
        }
        shown
    }
}

/// Returns how many of these characters fit into `room`.
fn fitting<'c>(chars: impl Iterator<Item = &'c char>, room: usize) -> usize {
    let mut used = 0;
    let fits = |c: &&char| {
        used += width(c.encode_utf8(&mut [0; 4]));
        used <= room
    };
    chars.take_while(fits).count()
}

/// Appends a line, without blanks at its end.
pub(crate) fn push_line(out: &mut String, parts: &[&str]) {
    let text = parts.concat();
    out.push_str(text.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_core::Place;

    fn at(line: u32, column: u32, length: u32, text: Option<&str>, label: &str) -> PlaceView {
        let place = Place { file: "f.sel".to_owned(), line, column, length };
        PlaceView { place, line: text.map(str::to_owned), label: label.to_owned() }
    }

    fn plain(places: &[PlaceView], notes: &[&str], most: usize) -> String {
        let notes: Vec<String> = notes.iter().map(|&note| note.to_owned()).collect();
        excerpts(places, &notes, most, Paint { colour: false })
    }

    #[test]
    fn two_places_and_a_note() {
        let places =
            [at(9, 5, 1, Some("    x = 1;"), "(1)"), at(12, 9, 2, Some("\tlet v = 漢字;"), "(2)")];
        let expected = "  \
  --> f.sel:9:5
   |
 9 |     x = 1;
   |     ^ (1)
  ::: f.sel:12:9
   |
12 |  let v = 漢字;
   |         ^^^ (2)
   = both write x
";
        assert_eq!(plain(&places, &["both write x"], 80), expected);
    }

    #[test]
    fn long_lines_are_cut_around_the_marks() {
        let long = format!("{}HERE{}", "a".repeat(100), "b".repeat(100));
        let text = plain(&[at(1, 101, 4, Some(&long), "")], &[], 40);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| width(line) <= 40), "{text}");
        let column = lines[2].find("HERE").map(|at| width(&lines[2][..at]));
        assert_eq!(column, lines[3].find('^'), "{text}");
        assert!(lines[3].ends_with("^^^^"));
    }

    #[test]
    fn odd_places_do_not_panic() {
        for (column, length) in [(0, 0), (1, 0), (1, 1), (5, 100), (u32::MAX, u32::MAX)] {
            for text in [None, Some(""), Some("é\t漢")] {
                assert!(plain(&[at(0, column, length, text, "l")], &[], 0).contains("f.sel"));
            }
        }
    }
}
