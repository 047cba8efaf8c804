//! How to show results.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use selvedge_report::TraceView;

use super::CheckArgs;
use crate::exit::{self, Failure};

/// How to show results.
#[derive(Args, Clone, Debug)]
pub(crate) struct OutputArgs {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the result as one HTML page to look at in a browser; `-` prints it instead of text
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write the execution (of the first violation) as a drawing for documents; `-` prints it
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Write the execution as a graph for Graphviz, with happens-before as edges; `-` prints it
    #[arg(long, value_name = "FILE")]
    pub(crate) dot: Option<PathBuf>,

    /// Write the execution as a Mermaid sequence diagram for Markdown, at most 40 steps; `-` prints it
    #[arg(long, value_name = "FILE")]
    pub(crate) mermaid: Option<PathBuf>,

    /// Show long executions in full
    #[arg(long)]
    pub(crate) full: bool,
}

/// A form of a result other than text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// All of it, for programs.
    Json,
    /// All of it, for a browser.
    Page,
    /// The execution.
    Picture(Picture),
}

/// A form of an execution alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Picture {
    Svg,
    Dot,
    Mermaid,
}

impl Picture {
    /// Returns the picture of an execution.
    pub(crate) fn of(self, trace: &TraceView) -> String {
        match self {
            Picture::Svg => selvedge_report::svg(trace),
            Picture::Dot => selvedge_report::dot(trace),
            Picture::Mermaid => selvedge_report::mermaid(trace),
        }
    }
}

impl CheckArgs {
    /// Returns whether the explored executions are recorded.
    pub(crate) fn wants_tree(&self) -> bool {
        self.tree || self.output.html.is_some()
    }
}

impl OutputArgs {
    /// Checks that there is at most one thing to print.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let all: Vec<&str> = self.printed().map(|(name, _)| name).collect();
        match all.as_slice() {
            [] | [_] => Ok(()),
            [first, second, ..] => Err(Failure::User(format!(
                "{first} and {second} both write to standard output\n  name a file: {} FILE",
                second.trim_end_matches(" -")
            ))),
        }
    }

    /// Returns what goes to standard output instead of text.
    pub(crate) fn printed_form(&self) -> Option<Form> {
        self.printed().map(|(_, form)| form).next()
    }

    /// Writes the files. `render` returns `None` for a form that the result does not have.
    pub(crate) fn write(
        &self,
        render: impl Fn(Form) -> Option<String>,
    ) -> Vec<Result<(), Failure>> {
        let files = self.files().into_iter().filter_map(|(_, path, form)| Some((path?, form)));
        files
            .filter(|(path, _)| !is_standard_output(path))
            .filter_map(|(path, form)| {
                let what = if form == Form::Page { "the page" } else { "the picture" };
                Some(exit::write_file(path, what, &render(form)?))
            })
            .collect()
    }

    /// Returns whether an execution is to be drawn.
    pub(crate) fn has_picture(&self) -> bool {
        self.svg.is_some() || self.dot.is_some() || self.mermaid.is_some()
    }

    fn printed(&self) -> impl Iterator<Item = (&'static str, Form)> {
        let json = self.json.then_some(("--json", Form::Json));
        let files = self
            .files()
            .into_iter()
            .filter_map(|(name, path, form)| is_standard_output(path?).then_some((name, form)));
        json.into_iter().chain(files)
    }

    fn files(&self) -> [(&'static str, Option<&Path>, Form); 4] {
        [
            ("--html -", self.html.as_deref(), Form::Page),
            ("--svg -", self.svg.as_deref(), Form::Picture(Picture::Svg)),
            ("--dot -", self.dot.as_deref(), Form::Picture(Picture::Dot)),
            ("--mermaid -", self.mermaid.as_deref(), Form::Picture(Picture::Mermaid)),
        ]
    }
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Arguments of `fmt`.
#[derive(Args, Debug)]
pub(crate) struct FormatArgs {
    /// The programs (.sel), or folders with programs; `-` formats standard input to standard output
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Write nothing; list the files that are not formatted, and exit with 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
}

/// Which service shows violations beside the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Annotations {
    /// GitHub Actions.
    Github,
}
