//! Curves over a size, for documents: panels with a logarithmic axis, a legend below.

use std::fmt::Write as _;

use super::svg::escaped;
use crate::colours::colour;

/// A page of panels, with one legend.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plot {
    /// Stands above.
    pub title: String,
    /// Lines below the legend: how it was measured.
    pub notes: Vec<String>,
    /// What numbers of the horizontal axes are.
    pub size: String,
    /// Two in a row.
    pub panels: Vec<Panel>,
}

/// Curves over one size.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Panel {
    /// Stands above it.
    pub title: String,
    /// What numbers of its vertical axis are.
    pub unit: Unit,
    /// In the order of the legend: the same in every panel.
    pub curves: Vec<Curve>,
    /// Single points, from elsewhere.
    pub points: Vec<Curve>,
}

/// What is drawn along the vertical axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// A number of something.
    #[default]
    Count,
    /// A time.
    Seconds,
}

/// A name and its values, each over a size.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Curve {
    /// As in the legend.
    pub name: String,
    /// Sizes and positive values, in the order of the sizes.
    pub values: Vec<(u32, f64)>,
}

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 250.0;
/// Around the curves of a panel: left, right, above, below.
const MARGIN: [f64; 4] = [62.0, 14.0, 34.0, 34.0];
const TOP: f64 = 44.0;
const LEGEND_ROW: f64 = 22.0;
const NOTE_ROW: f64 = 16.0;
/// The curves have so many colours.
const COLOURS: usize = 6;

/// Returns the curves as an SVG file, in light colours, or in dark ones where the reader prefers them.
pub fn plot(plot: &Plot) -> String {
    let rows = plot.panels.len().div_ceil(2);
    let legend = Legend::of(plot);
    let width = 2.0 * WIDTH + 20.0;
    let below = TOP + rows as f64 * HEIGHT;
    let notes = below + legend.rows() as f64 * LEGEND_ROW + 22.0;
    let height = notes + plot.notes.len() as f64 * NOTE_ROW;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\">\n<title>{0}</title>\n<style>\n{1}</style>\n<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"head\" x=\"12\" y=\"26\">{0}</text>\n",
        escaped(&plot.title),
        style(),
    );
    for (index, panel) in plot.panels.iter().enumerate() {
        let x = 10.0 + (index % 2) as f64 * WIDTH;
        let y = TOP + (index / 2) as f64 * HEIGHT;
        let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
        draw_panel(panel, &plot.size, &legend, &mut out);
        out.push_str("</g>\n");
    }
    legend.draw(below + 14.0, &mut out);
    for (row, note) in plot.notes.iter().enumerate() {
        let (y, note) = (notes + row as f64 * NOTE_ROW, escaped(note));
        let _ = writeln!(out, "<text class=\"small\" x=\"12\" y=\"{y}\">{note}</text>");
    }
    out.push_str("</svg>\n");
    out
}

/// The names of all curves and points.
struct Legend<'p> {
    curves: Vec<&'p str>,
    points: Vec<&'p str>,
}

impl<'p> Legend<'p> {
    const COLUMNS: usize = 4;

    fn of(plot: &'p Plot) -> Self {
        let mut legend = Self { curves: Vec::new(), points: Vec::new() };
        for panel in &plot.panels {
            let names = [(&mut legend.curves, &panel.curves), (&mut legend.points, &panel.points)];
            for (known, curves) in names {
                for curve in curves {
                    if !known.contains(&curve.name.as_str()) {
                        known.push(&curve.name);
                    }
                }
            }
        }
        legend
    }

    fn rows(&self) -> usize {
        (self.curves.len() + self.points.len()).div_ceil(Self::COLUMNS)
    }

    /// Where curves lie on each other all of them are seen: the first is the widest.
    fn width(&self, curve: usize) -> f64 {
        1.5 + 0.95 * (self.curves.len().saturating_sub(curve + 1)) as f64
    }

    fn draw(&self, top: f64, out: &mut String) {
        let all = self.curves.iter().chain(&self.points).enumerate();
        for (index, name) in all {
            let x = 16.0 + (index % Self::COLUMNS) as f64 * (2.0 * WIDTH / Self::COLUMNS as f64);
            let y = top + (index / Self::COLUMNS) as f64 * LEGEND_ROW;
            match index.checked_sub(self.curves.len()) {
                None => {
                    let (class, width) = (class(index), self.width(index));
                    let _ = writeln!(
                        out,
                        "<line class=\"curve {class}\" stroke-width=\"{width:.1}\" x1=\"{x}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\"/>",
                        x + 26.0
                    );
                }
                Some(point) => draw_point(point, x + 13.0, y, out),
            }
            let name = escaped(name);
            let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{name}</text>", x + 34.0, y + 4.0);
        }
    }
}

fn class(curve: usize) -> String {
    let dashed = if curve >= COLOURS { " dashed" } else { "" };
    format!("s{}{dashed}", curve % COLOURS)
}

fn draw_point(kind: usize, x: f64, y: f64, out: &mut String) {
    let _ = match kind % 2 {
        0 => writeln!(out, "<path class=\"point\" d=\"M{x:.1} {:.1}l5 9h-10z\"/>", y - 6.0),
        _ => writeln!(
            out,
            "<rect class=\"point\" x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\"/>",
            x - 4.0,
            y - 4.0
        ),
    };
}

fn draw_panel(panel: &Panel, axis: &str, legend: &Legend<'_>, out: &mut String) {
    let [left, right, above, below] = MARGIN;
    let _ = writeln!(
        out,
        "<text class=\"name\" x=\"{left}\" y=\"20\">{}</text>",
        escaped(&panel.title)
    );
    let all = || panel.curves.iter().chain(&panel.points).flat_map(|curve| &curve.values);
    let (Some(first), Some(last)) = (all().map(|it| it.0).min(), all().map(|it| it.0).max()) else {
        let _ = writeln!(
            out,
            "<text class=\"small\" x=\"{left}\" y=\"60\">nothing was measured</text>"
        );
        return;
    };
    let powers = |value: f64| value.max(1e-9).log10();
    let low = all().map(|it| powers(it.1)).fold(f64::INFINITY, f64::min).floor();
    let high = all().map(|it| powers(it.1)).fold(low + 1.0, f64::max).ceil();
    let span = f64::from(last - first).max(1.0);
    let x = |size: u32| left + (WIDTH - left - right) * f64::from(size - first) / span;
    let bottom = HEIGHT - below;
    let y = |value: f64| bottom - (bottom - above) * (powers(value) - low) / (high - low);
    let mut power = low;
    while power <= high {
        let at = y(10_f64.powf(power));
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\n\
             <text class=\"small end\" x=\"{}\" y=\"{:.1}\">{}</text>",
            WIDTH - right,
            left - 6.0,
            at + 4.0,
            label(power, panel.unit),
        );
        power += 1.0;
    }
    let step = (last - first).div_ceil(9).max(1) as usize;
    for size in (first..=last).step_by(step) {
        let at = x(size);
        let _ = writeln!(
            out,
            "<text class=\"small middle\" x=\"{at:.1}\" y=\"{}\">{size}</text>",
            bottom + 18.0
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"small end\" x=\"{}\" y=\"{}\">{}</text>",
        WIDTH - right,
        bottom + 31.0,
        escaped(axis)
    );
    for (index, name) in legend.curves.iter().enumerate() {
        let Some(curve) = panel.curves.iter().find(|curve| curve.name == **name) else { continue };
        let points: Vec<String> = curve
            .values
            .iter()
            .map(|&(size, value)| format!("{:.1},{:.1}", x(size), y(value)))
            .collect();
        let (class, width) = (class(index), legend.width(index));
        let _ = writeln!(
            out,
            "<polyline class=\"curve {class}\" stroke-width=\"{width:.1}\" points=\"{}\"/>",
            points.join(" ")
        );
        // A single size is no curve, and must be seen.
        if let [(size, value)] = curve.values[..] {
            let fill = format!("f{}", index % COLOURS);
            let _ = writeln!(
                out,
                "<circle class=\"{fill}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>",
                x(size),
                y(value)
            );
        }
    }
    for (kind, name) in legend.points.iter().enumerate() {
        let found = panel.points.iter().filter(|point| point.name == **name);
        for &(size, value) in found.flat_map(|point| &point.values) {
            draw_point(kind, x(size), y(value), out);
        }
    }
}

/// Returns a power of ten as people write it.
fn label(power: f64, unit: Unit) -> String {
    let power = power as i32;
    let (thousands, rest) = (power.div_euclid(3), power.rem_euclid(3));
    let digits = ["1", "10", "100"][rest as usize];
    match (unit, thousands) {
        (Unit::Count, 0) => digits.to_owned(),
        (Unit::Count, 1) => format!("{digits},000"),
        (Unit::Count, 2) => format!("{digits} M"),
        (Unit::Seconds, 0) => format!("{digits} s"),
        (Unit::Seconds, -1) => format!("{digits} ms"),
        (Unit::Seconds, -2) => format!("{digits} µs"),
        (Unit::Seconds, -3) => format!("{digits} ns"),
        _ => format!("10^{power}"),
    }
}

fn style() -> String {
    let theme = |dark: bool| {
        let pick = |name: &str| colour(name, dark);
        let mut css = format!(
            ".ground {{ fill: {0}; }} text {{ fill: {1}; }} .small {{ fill: {2}; }} .grid {{ stroke: {3}; }} \
             .point {{ fill: {0}; stroke: {1}; }}",
            pick("bg"),
            pick("fg"),
            pick("dim"),
            pick("line"),
        );
        for number in 0..COLOURS {
            let colour = pick(&format!("t{number}"));
            let _ =
                write!(css, " .s{number} {{ stroke: {colour}; }} .f{number} {{ fill: {colour}; }}");
        }
        css
    };
    format!(
        "text {{ font: 13px system-ui, 'DejaVu Sans', sans-serif; }} .head {{ font-weight: bold; font-size: 15px; }}\n\
         .name {{ font-weight: bold; }} .small {{ font-size: 11px; }} .end {{ text-anchor: end; }} .middle {{ text-anchor: middle; }}\n\
         .curve {{ fill: none; stroke-linejoin: round; stroke-linecap: round; }} .dashed {{ stroke-dasharray: 3 5; }}\n\
         .point {{ stroke-width: 1.6; }}\n{}\n@media (prefers-color-scheme: dark) {{ {} }}\n",
        theme(false),
        theme(true),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, values: &[(u32, f64)]) -> Curve {
        Curve { name: name.to_owned(), values: values.to_vec() }
    }

    #[test]
    fn curves_points_and_axes_are_drawn() {
        let curves = vec![curve("a <b>", &[(1, 1.0), (2, 1000.0)]), curve("once", &[(2, 10.0)])];
        let points = vec![curve("elsewhere", &[(2, 30.0)])];
        let panel = Panel { title: "p & q".to_owned(), unit: Unit::Count, curves, points };
        let empty = Panel { title: "empty".to_owned(), ..Panel::default() };
        let drawn = plot(&Plot {
            title: "t".to_owned(),
            notes: vec!["n".to_owned()],
            size: "N".to_owned(),
            panels: vec![panel, empty],
        });
        for expected in [
            "a &lt;b&gt;",
            "p &amp; q",
            "nothing was measured",
            ">1,000</text>",
            // Bottom left and top right of the panel.
            "points=\"62.0,216.0 366.0,34.0\"",
            "class=\"point\"",
        ] {
            assert!(drawn.contains(expected), "no {expected} in\n{drawn}");
        }
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
    }

    #[test]
    fn labels_are_for_people() {
        let count = |power| label(power, Unit::Count);
        assert_eq!(
            [count(0.0), count(4.0), count(6.0), count(9.0)],
            ["1", "10,000", "1 M", "10^9"]
        );
        let time = |power| label(power, Unit::Seconds);
        assert_eq!(
            [time(-6.0), time(-4.0), time(-1.0), time(1.0)],
            ["1 µs", "100 µs", "100 ms", "10 s"]
        );
    }
}
