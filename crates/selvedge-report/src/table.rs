//! Tables with aligned columns.

use crate::excerpt::push_line;
use crate::paint::{Paint, Style};
use crate::width::{pad, pad_left, width};

/// On which side the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// A table: headings, and rows with a cell for each.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table without rows.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|&(name, align)| (name.to_owned(), align)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it does not have a cell for every column.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "internal error: a row of the wrong length");
        self.rows.push(cells);
    }

    /// Returns the text, at most `most` columns of a terminal wide if that is possible: what does not fit
    /// comes below, with the first column again.
    pub fn render(&self, most: usize, paint: Paint) -> String {
        const GAP: usize = 2;
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let mut out = String::new();
        let mut next = 1;
        loop {
            let mut part = vec![0];
            let mut used = widths[0];
            while next < widths.len() && (part.len() == 1 || used + GAP + widths[next] <= most) {
                part.push(next);
                used += GAP + widths[next];
                next += 1;
            }
            if !out.is_empty() {
                out.push('\n');
            }
            self.render_part(&part, &widths, paint, &mut out);
            if next >= widths.len() {
                return out;
            }
        }
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| width(&row[column]));
        cells.chain([width(&self.columns[column].0)]).max().unwrap_or(0)
    }

    fn render_part(&self, part: &[usize], widths: &[usize], paint: Paint, out: &mut String) {
        let line = |cell: &dyn Fn(usize) -> String| {
            let cells = part.iter().map(|&column| match self.columns[column].1 {
                Align::Left => pad(&cell(column), widths[column]),
                Align::Right => pad_left(&cell(column), widths[column]),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let head = line(&|column| self.columns[column].0.clone());
        push_line(out, &[&paint.style(Style::Strong, &head)]);
        for row in &self.rows {
            push_line(out, &[&line(&|column| row[column].clone())]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[
            ("algorithm", Align::Left),
            ("executions", Align::Right),
            ("verdict", Align::Left),
        ]);
        table.row(vec!["oracle".into(), "≥ 1,234".into(), "inconclusive".into()]);
        table.row(vec!["optimal".into(), "7".into(), "verified".into()]);
        table
    }

    #[test]
    fn columns_are_aligned() {
        let expected = "\
algorithm  executions  verdict
oracle        ≥ 1,234  inconclusive
optimal             7  verified
";
        assert_eq!(table().render(80, Paint { colour: false }), expected);
    }

    #[test]
    fn what_does_not_fit_comes_below() {
        let expected = "\
algorithm  executions
oracle        ≥ 1,234
optimal             7

algorithm  verdict
oracle     inconclusive
optimal    verified
";
        assert_eq!(table().render(30, Paint { colour: false }), expected);
        assert_eq!(table().render(0, Paint { colour: false }), expected);
    }
}
