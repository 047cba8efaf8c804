//! The result of a check, as the user sees it: as text or as JSON, with the trace saved and the exit code.

use selvedge_core::Verdict;
use selvedge_explore::Memory;
use selvedge_report::{
    Advice, Method, Outcome, Style, TextOptions, execution, page, to_text, violation,
};

use crate::args::{Annotations, CheckArgs, Form};
use crate::exit::{self, Exit, Failure};
use crate::saved;
use crate::screen::Screen;
use crate::source::Source;

/// The result of a check, and everything needed to show it.
pub(crate) struct Shown<'a> {
    pub(crate) outcome: Outcome,
    /// What the program was loaded from.
    pub(crate) source: Source<'a>,
    /// What its schedules depend on besides.
    pub(crate) locals: String,
    /// The memory model, if there is one.
    pub(crate) memory: Option<Memory>,
    pub(crate) args: &'a CheckArgs,
    /// What a proof says in one line.
    pub(crate) verified: String,
    /// The lines under the verdict.
    pub(crate) summary: String,
    /// Statistics, if requested.
    pub(crate) statistics: Option<String>,
}

impl Shown<'_> {
    /// Prints the result and saves the trace.
    pub(crate) fn show(&self, screen: &Screen) -> Result<Exit, Failure> {
        let output = &self.args.output;
        let text = match output.printed_form() {
            Some(form) => self.form(form).unwrap_or_default(),
            None if self.args.quiet => self.verdict_line(screen),
            None => self.text(screen),
        };
        let printed = screen.print(&text);
        if output.has_picture() && self.outcome.found.is_empty() {
            screen.warn("no violation was found, so there is no execution to draw");
        }
        let mut done = output.write(|form| self.form(form));
        if let Some(Annotations::Github) = self.args.annotations {
            exit::complain(&selvedge_report::github(&self.outcome));
        }
        let path = self.args.save_trace.as_deref();
        let first = self.outcome.found.first();
        let texts = &self.outcome.source;
        done.extend([
            printed,
            saved::save(path, self.source, &self.locals, self.memory, first, texts, screen),
        ]);
        exit::after(self.outcome.verdict().into(), done)
    }

    /// Returns the result in another form than text. A picture shows the first violation, if there is one.
    fn form(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(to_text(&self.outcome)),
            Form::Page => Some(page(&self.outcome)),
            Form::Picture(picture) => self.outcome.found.first().map(|trace| picture.of(trace)),
        }
    }

    fn verdict_line(&self, screen: &Screen) -> String {
        let verdict = self.outcome.verdict();
        let (style, rest) = match verdict {
            Verdict::Verified => (Style::Good, self.verified.clone()),
            Verdict::Violated => (Style::Bad, format!("{}{}", self.violated(), self.under())),
            Verdict::Inconclusive => {
                let first = self.outcome.report.inconclusive.first();
                (
                    Style::Unsure,
                    first.map_or(String::new(), |reason| (self.outcome.advice)(reason).what),
                )
            }
        };
        format!("{}: {rest}\n", screen.paint.style(style, verdict.name()))
    }

    /// Says under which memory model, if there is one.
    fn under(&self) -> String {
        self.memory.map_or(String::new(), |memory| format!(", under {}", memory.name()))
    }

    fn violated(&self) -> String {
        match self.outcome.found.as_slice() {
            [one] => one.violations[0].message.clone(),
            many => format!("{} different violations", many.len()),
        }
    }

    fn text(&self, screen: &Screen) -> String {
        let mut out = self.verdict_line(screen);
        self.add_violations(&mut out, &screen.text_options(self.args.output.full), screen);
        self.add_reasons(&mut out);
        if self.outcome.verdict() != Verdict::Verified {
            out.push('\n');
        }
        out.push_str(&self.summary);
        self.add_remarks(&mut out, screen);
        out.push_str(self.statistics.as_deref().unwrap_or_default());
        out
    }

    /// Each violation: its execution and the command that replays it.
    fn add_violations(&self, out: &mut String, options: &TextOptions, screen: &Screen) {
        let found = &self.outcome.found;
        let is_symbolic = matches!(self.outcome.method, Method::Symbolic(..));
        for (i, trace) in found.iter().enumerate() {
            let first = &trace.violations[0];
            if found.len() > 1 {
                let head = format!("{} of {}: {}", i + 1, found.len(), first.message);
                out.push_str(&format!("\n{}\n", screen.paint.style(Style::Strong, &head)));
            }
            out.push_str(&violation(first, options));
            out.push_str(&format!("\n{}\n", execution(trace, options)));
            let inputs = if is_symbolic { trace.inputs() } else { Vec::new() };
            if !inputs.is_empty() {
                out.push_str(&format!("inputs: {}\n", inputs.join(", ")));
            }
            out.push_str(&format!("replay: {}\n", first.replay));
        }
    }

    /// Why nothing is proved, or why not everything was seen, each with the next step.
    fn add_reasons(&self, out: &mut String) {
        let is_violated = self.outcome.verdict() == Verdict::Violated;
        if is_violated && !self.args.keep_going {
            return;
        }
        for (i, reason) in self.outcome.report.inconclusive.iter().enumerate() {
            let Advice { what, next } = (self.outcome.advice)(reason);
            if is_violated {
                out.push_str(&format!("\nthere may be more violations: {what}\n"));
            } else if i > 0 {
                out.push_str(&format!("also: {what}\n"));
            }
            for line in next {
                out.push_str(&format!("  {line}\n"));
            }
        }
    }

    /// Warns about a vacuous proof.
    fn add_remarks(&self, out: &mut String, screen: &Screen) {
        let counts = self.outcome.report.counts;
        let is_verified = self.outcome.verdict() == Verdict::Verified;
        if is_verified && counts.complete == 0 && counts.blocked > 0 {
            let word = screen.paint.style(Style::Unsure, "note");
            out.push_str(&format!(
                "{word}: no execution is complete: each one is blocked by an `assume` that is false, \
                 so nothing was checked to the end\n"
            ));
        }
    }
}
