//! An execution as rows of steps: one column per thread, or one line per step if there are too many.

use std::ops::Range;

use selvedge_core::{Status, ThreadId, ViolationKind};

use crate::excerpt::push_line;
use crate::number::plural;
use crate::paint::{Paint, Style};
use crate::text::TextOptions;
use crate::view::{TraceView, WaitingView, status_text};
use crate::width::{pad, pad_left, shorten, width, wrap};

/// The middle of longer executions is left out.
const MOST_STEPS: usize = 60;
/// What is kept: some of the beginning, and more of the end.
const KEPT_FIRST: usize = 15;
const KEPT_LAST: usize = 35;
/// A narrower column is not worth having.
const LEAST_COLUMN: usize = 14;
/// A longer thread name is cut where it stands before every step.
const MOST_NAME: usize = 24;
const GAP: usize = 2;
/// Stands before the first step after a context switch.
const SWITCH: &str = "▸ ";

/// Returns the rows of all steps, and of what the threads wait for at the end.
pub(crate) fn rows(view: &TraceView, options: &TextOptions) -> String {
    let grid = Grid::new(view, options);
    let mut out = String::new();
    grid.head(&mut out);
    for range in &grid.shown {
        if range.start > 0 {
            grid.gap(range.start, &mut out);
        }
        for index in range.clone() {
            grid.cycle(index, &mut out);
            grid.step(index, &mut out);
        }
    }
    for waiting in &view.waiting {
        grid.waiting(waiting, &mut out);
    }
    out
}

/// Returns whether every thread has a column that is wide enough for all that stands in it.
pub(crate) fn has_room(view: &TraceView, options: &TextOptions) -> bool {
    let grid = Grid::new(view, options);
    match &grid.layout {
        Layout::Lanes(lanes) => {
            lanes.iter().zip(grid.lanes()).all(|(lane, natural)| lane.width >= natural.width)
        }
        Layout::Lines { .. } => false,
    }
}

/// The column of one thread.
struct Lane {
    thread: ThreadId,
    /// Index of its first step, and one past its last; to the end if it did not finish.
    alive: Range<usize>,
    width: usize,
}

enum Layout {
    /// One column per thread.
    Lanes(Vec<Lane>),
    /// One line per step, with the name of the thread, which is so wide.
    Lines { name: usize },
}

struct Grid<'v> {
    view: &'v TraceView,
    paint: Paint,
    full_hint: &'v str,
    width: usize,
    shown: Vec<Range<usize>>,
    number_width: usize,
    place_width: usize,
    /// Whether lines of more than one file occur.
    files: bool,
    layout: Layout,
}

impl<'v> Grid<'v> {
    fn new(view: &'v TraceView, options: &'v TextOptions) -> Self {
        let count = view.steps.len();
        let shown = if options.full || count <= MOST_STEPS {
            std::iter::once(0..count).collect()
        } else {
            vec![0..KEPT_FIRST, count - KEPT_LAST..count]
        };
        let mut grid = Grid {
            view,
            paint: Paint { colour: options.colour },
            full_hint: &options.full_hint,
            width: options.width,
            shown,
            number_width: count.to_string().len().max("step".len()),
            place_width: "line".len(),
            files: has_several_files(view),
            layout: Layout::Lines { name: 0 },
        };
        let steps = grid.shown.iter().cloned().flatten();
        let labels = steps
            .map(|index| width(&grid.place_of_step(index)))
            .chain(view.waiting.iter().map(|waiting| width(&grid.place_of_waiting(waiting))));
        grid.place_width = labels.max().unwrap_or(0).max(grid.place_width);
        grid.layout = grid.choose_layout();
        grid
    }

    fn gutter(&self) -> usize {
        self.number_width + GAP + self.place_width + GAP
    }

    fn choose_layout(&self) -> Layout {
        let mut lanes = self.lanes();
        let room = self.width.saturating_sub(self.gutter());
        let naturals: Vec<usize> = lanes.iter().map(|lane| lane.width).collect();
        match widest_column(&naturals, room) {
            Some(most) => {
                for lane in &mut lanes {
                    lane.width = lane.width.min(most);
                }
                Layout::Lanes(lanes)
            }
            None => {
                let names = lanes.iter().map(|lane| width(&self.view.name(lane.thread)));
                Layout::Lines { name: names.max().unwrap_or(0).clamp("thread".len(), MOST_NAME) }
            }
        }
    }

    /// Returns the threads that do something or wait for something, each as wide as it would like to be.
    fn lanes(&self) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = Vec::new();
        let mut note = |thread: ThreadId, alive: Range<usize>, width: usize| match lanes
            .iter_mut()
            .find(|lane| lane.thread == thread)
        {
            Some(lane) => {
                lane.alive.end = alive.end;
                lane.width = lane.width.max(width);
            }
            None => lanes.push(Lane { thread, alive, width }),
        };
        for (index, step) in self.view.steps.iter().enumerate() {
            let shown = self.shown.iter().any(|range| range.contains(&index));
            let wanted = if shown { width(&self.view.told(step)) } else { 0 };
            note(step.thread, index..index + 1, wanted);
        }
        let count = self.view.steps.len();
        for waiting in &self.view.waiting {
            let wanted = waiting_text(self.view, waiting).map_or(0, |text| width(&text));
            note(waiting.thread, count..count, wanted);
        }
        for lane in &mut lanes {
            lane.width = lane.width.max(width(&self.view.name(lane.thread))) + width(SWITCH);
        }
        lanes.sort_by_key(|lane| lane.thread);
        lanes
    }

    fn head(&self, out: &mut String) {
        let mut line = self.gutter_text("step", "line");
        match &self.layout {
            Layout::Lanes(lanes) => {
                for lane in lanes {
                    let name = shorten(&self.view.name(lane.thread), lane.width - width(SWITCH));
                    let blanks = lane.width + GAP - width(SWITCH) - width(&name);
                    line.push_str(&" ".repeat(width(SWITCH)));
                    line.push_str(&self.paint.style(Style::Thread(lane.thread.index()), &name));
                    line.push_str(&" ".repeat(blanks));
                }
            }
            Layout::Lines { .. } => line.push_str("thread"),
        }
        push_line(out, &[&line]);
    }

    /// Before the first step of a cycle: how far it goes.
    fn cycle(&self, index: usize, out: &mut String) {
        if self.view.schedule.cycle == Some(index) {
            let text = match self.view.steps.len() - index {
                1 => format!("── step {} repeats forever ──", index + 1),
                _ => {
                    format!("── steps {} to {} repeat forever ──", index + 1, self.view.steps.len())
                }
            };
            push_line(out, &[&" ".repeat(self.gutter()), &self.paint.style(Style::Strong, &text)]);
        }
    }

    fn step(&self, index: usize, out: &mut String) {
        let step = &self.view.steps[index];
        let number = (index + 1).to_string();
        let mark = if step.switch { SWITCH } else { "  " };
        let text = self.view.told(step);
        self.row(&number, &self.place_of_step(index), index, step.thread, mark, &text, out);
        if let Some(why) = &step.stopped {
            let indent = " ".repeat(self.gutter());
            let room = self.width.saturating_sub(self.gutter() + 2).max(LEAST_COLUMN);
            let name = self.view.name(step.thread);
            let is_named = why.strip_prefix(&name).is_some_and(|rest| rest.starts_with(' '));
            let message = if is_named { why.clone() } else { format!("{name}: {why}") };
            for (i, part) in wrap(&message, room).iter().enumerate() {
                let sign = if i == 0 { "✗ " } else { "  " };
                push_line(out, &[&indent, &self.paint.style(Style::Bad, &format!("{sign}{part}"))]);
            }
        }
    }

    fn waiting(&self, waiting: &WaitingView, out: &mut String) {
        if let Some(text) = waiting_text(self.view, waiting) {
            let place = self.place_of_waiting(waiting);
            self.row("end", &place, self.view.steps.len(), waiting.thread, "  ", &text, out);
        }
    }

    /// How many steps are left out before `next`.
    fn gap(&self, next: usize, out: &mut String) {
        let missing = plural((next - KEPT_FIRST) as u64, "step", "steps");
        let blanks = " ".repeat(self.number_width - 1);
        let text = format!("{blanks}⋮  {missing} not shown ({})", self.full_hint);
        push_line(out, &[&self.paint.style(Style::Faint, &text)]);
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one row, in their order")]
    fn row(
        &self,
        number: &str,
        place: &str,
        index: usize,
        thread: ThreadId,
        mark: &str,
        text: &str,
        out: &mut String,
    ) {
        let room = match &self.layout {
            Layout::Lanes(lanes) => {
                let own = lanes.iter().find(|lane| lane.thread == thread);
                own.map_or(LEAST_COLUMN, |lane| lane.width) - width(SWITCH)
            }
            Layout::Lines { name } => {
                let used = self.gutter() + name + GAP + width(SWITCH);
                self.width.saturating_sub(used).max(LEAST_COLUMN)
            }
        };
        for (i, part) in wrap(text, room).iter().enumerate() {
            let first = i == 0;
            let (number, place) = if first { (number, place) } else { ("", "") };
            let cell = format!("{}{part}", if first { mark } else { "  " });
            let line = match &self.layout {
                Layout::Lanes(lanes) => self.lane_cells(lanes, index, thread, &cell),
                Layout::Lines { name } => {
                    let shown = shorten(&self.view.name(thread), *name);
                    let name = pad(if first { &shown } else { "" }, *name + GAP);
                    let style = Style::Thread(thread.index());
                    format!("{}{}", self.paint.style(style, &name), self.cell(thread, &cell))
                }
            };
            push_line(out, &[&self.gutter_text(number, place), &line]);
        }
    }

    fn lane_cells(&self, lanes: &[Lane], index: usize, thread: ThreadId, cell: &str) -> String {
        let mut line = String::new();
        for lane in lanes {
            let blanks = if lane.thread == thread {
                line.push_str(&self.cell(thread, cell));
                lane.width.saturating_sub(width(cell))
            } else if self.is_alive(lane, index) {
                line.push_str(&self.paint.style(Style::Faint, "│"));
                lane.width - 1
            } else {
                lane.width
            };
            line.push_str(&" ".repeat(blanks + GAP));
        }
        line
    }

    /// Returns whether the thread stands between two of its steps, or still waits at the end.
    fn is_alive(&self, lane: &Lane, index: usize) -> bool {
        let waits = lane.alive.end == self.view.steps.len();
        lane.alive.start < index && (index < lane.alive.end || waits && self.waits(lane.thread))
    }

    fn waits(&self, thread: ThreadId) -> bool {
        let mut waiting = self.view.waiting.iter().filter(|waiting| waiting.thread == thread);
        waiting.any(|waiting| waiting_text(self.view, waiting).is_some())
    }

    fn cell(&self, thread: ThreadId, text: &str) -> String {
        self.paint.style(Style::Thread(thread.index()), text)
    }

    fn gutter_text(&self, number: &str, place: &str) -> String {
        let number = pad_left(number, self.number_width);
        let place = pad_left(place, self.place_width);
        let blanks = " ".repeat(GAP);
        self.paint.style(Style::Faint, &format!("{number}{blanks}{place}{blanks}"))
    }

    fn place_of_step(&self, index: usize) -> String {
        self.place(self.view.steps[index].place.as_ref())
    }

    fn place_of_waiting(&self, waiting: &WaitingView) -> String {
        self.place(waiting.place.as_ref())
    }

    fn place(&self, place: Option<&selvedge_core::Place>) -> String {
        match place {
            Some(place) if self.files => {
                let base = place.file.rsplit(['/', '\\']).next().unwrap_or(&place.file);
                format!("{base}:{}", place.line)
            }
            Some(place) => place.line.to_string(),
            None => String::new(),
        }
    }
}

/// Returns what the row of a thread that did not finish says; nothing if its last step says it all.
fn waiting_text(view: &TraceView, waiting: &WaitingView) -> Option<String> {
    match waiting.status {
        Status::Blocked | Status::Parked | Status::Enabled | Status::Assumed => {
            // The notes of a deadlock name the holders: the operation is enough.
            let text = match waiting.text.split_once(": waits") {
                Some((operation, _)) if is_deadlock(view) => operation,
                _ => &waiting.text,
            };
            Some(status_text(waiting.status, text))
        }
        Status::Failed | Status::Finished | Status::Absent => None,
    }
}

fn is_deadlock(view: &TraceView) -> bool {
    view.violations.iter().any(|found| found.kind == ViolationKind::Deadlock)
}

fn has_several_files(view: &TraceView) -> bool {
    let steps = view.steps.iter().filter_map(|step| step.place.as_ref());
    let waiting = view.waiting.iter().filter_map(|waiting| waiting.place.as_ref());
    let mut files = steps.chain(waiting).map(|place| &place.file);
    let first = files.next();
    files.any(|file| Some(file) != first)
}

/// Returns how wide a column may be so that all fit into `room`; `None` if that is too narrow to read.
fn widest_column(naturals: &[usize], room: usize) -> Option<usize> {
    let room = room.saturating_sub(GAP * naturals.len().saturating_sub(1));
    let needed = |most: usize| naturals.iter().map(|&natural| natural.min(most)).sum::<usize>();
    let widest = naturals.iter().copied().max().unwrap_or(0);
    let most = (0..=widest).rev().find(|&most| needed(most) <= room)?;
    (most == widest || most >= LEAST_COLUMN).then_some(most)
}
