//! Executions and violations as text for a terminal.

use crate::columns;
use crate::excerpt::excerpts;
use crate::number::plural;
use crate::paint::Paint;
use crate::view::{TraceView, ViolationView};

/// How texts should look.
#[derive(Clone, Debug)]
pub struct TextOptions {
    /// How many columns the terminal has.
    pub width: usize,
    /// Whether escape sequences may be used.
    pub colour: bool,
    /// Whether long executions are shown whole.
    pub full: bool,
    /// How to see the steps that were left out: "`--full` shows all".
    pub full_hint: String,
}

/// Returns where something is wrong, with the source lines, and the notes. The message is not repeated.
pub fn violation(view: &ViolationView, options: &TextOptions) -> String {
    excerpts(&view.places, &view.notes, options.width, Paint { colour: options.colour })
}

/// Returns whether the rows of an execution take a line each, in a column per thread.
pub fn has_room(view: &TraceView, options: &TextOptions) -> bool {
    columns::has_room(view, options)
}

/// Returns an execution: a heading, then a row for every step.
pub fn execution(view: &TraceView, options: &TextOptions) -> String {
    if view.steps.is_empty() && view.waiting.is_empty() {
        return "the execution has no steps\n".to_owned();
    }
    let steps = plural(view.steps.len() as u64, "step", "steps");
    let switches = plural(view.context_switches() as u64, "context switch", "context switches");
    format!("the execution: {steps}, {switches}\n\n{}", columns::rows(view, options))
}
