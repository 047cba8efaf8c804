//! How many executions a search of a C program will have, from random ones.
//!
//! Two systems of a program cannot be run in one process, whose memory they share. So a copy of it runs random executions while the
//! search begins, and what they teach about the program stays there: a check is the same with and without them.

use std::time::{Duration, Instant};

use selvedge_core::Report;
use selvedge_crew::Aside;
use selvedge_explore::{Memory, Options, Range, Sampled};

use super::program::Compiled;
use crate::estimate::Estimator;
use crate::named::Named;

/// How long random executions are run.
const ASIDE: Duration = Duration::from_millis(200);

impl Compiled {
    /// Returns what waits for the estimate of a search of traces, which begins now.
    pub(super) fn estimate_traces(&self, options: &Options) -> Option<Estimator> {
        self.estimate_aside(&mut |go_on| {
            let make = || Named::new(self.program.program(), None);
            let found = selvedge_explore::estimate(&make, options, 0, go_on);
            Some(Sampled::new(found.traces?, found.drawn))
        })
    }

    /// The same for a search under a memory model.
    pub(super) fn estimate_graphs(&self, memory: Memory, options: &Options) -> Option<Estimator> {
        self.estimate_aside(&mut |go_on| {
            let mut system = self.program.graph_program(false);
            let found = selvedge_explore::estimate_graphs(&mut system, memory, options, 0, go_on);
            found.filter(Sampled::is_telling)
        })
    }

    fn estimate_aside(&self, estimate: &mut OfProgram<'_>) -> Option<Estimator> {
        let aside = Aside::start(&mut || {
            let end = Instant::now() + ASIDE;
            let mut found = None;
            let _ = self.program.settle(|| {
                let mut go_on = |sampled: u64| {
                    let is_time = sampled == 0 || Instant::now() < end;
                    is_time && !self.program.is_void()
                };
                found = estimate(&mut go_on);
                Report::default()
            });
            found.as_ref().map_or_else(String::new, text)
        });
        let aside = aside.ok()?;
        Some(Box::new(move || parsed(&aside.answer()?)))
    }
}

/// Estimates, as long as its argument says.
type OfProgram<'a> = dyn FnMut(&mut dyn FnMut(u64) -> bool) -> Option<Sampled> + 'a;

/// Returns what was drawn as a line of text.
fn text(sampled: &Sampled) -> String {
    let Range { estimate, low, high } = sampled.range;
    let mut text = format!("{estimate} {low} {high}");
    for (trace, weight) in &sampled.drawn {
        text.push_str(&format!(" {trace} {weight}"));
    }
    text
}

fn parsed(text: &str) -> Option<Sampled> {
    let mut words = text.split_whitespace();
    let mut number = || words.next()?.parse::<f64>().ok();
    let range = Range { estimate: number()?, low: number()?, high: number()? };
    let mut drawn = Vec::new();
    while let Some(trace) = words.next() {
        drawn.push((trace.parse().ok()?, words.next()?.parse().ok()?));
    }
    Some(Sampled::new(range, drawn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_survives_as_text() {
        let range = Range { estimate: 1.5e300, low: 1.0, high: f64::INFINITY };
        let sampled = Sampled::new(range, vec![(u64::MAX, 0.1), (7, 1e-9)]);
        assert_eq!(parsed(&text(&sampled)), Some(sampled));
        assert_eq!(parsed(""), None);
        assert_eq!(parsed("1 1 1 7"), None);
    }
}
