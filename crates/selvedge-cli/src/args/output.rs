//! How to show results.

use std::path::{Path, PathBuf};

use clap::Args;

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

    /// Show long executions in full
    #[arg(long)]
    pub(crate) full: bool,
}

impl OutputArgs {
    /// Checks that there is one thing to print.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.json && self.page_is_printed() {
            return Err(Failure::User(
                "--json and --html - both write to standard output\n  name a file: --html page.html"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Returns whether the page goes to standard output.
    pub(crate) fn page_is_printed(&self) -> bool {
        self.html.as_deref() == Some(Path::new("-"))
    }

    /// Writes the page to its file, if there is one.
    pub(crate) fn write_page(&self, page: impl FnOnce() -> String) -> Result<(), Failure> {
        match &self.html {
            Some(path) if !self.page_is_printed() => exit::write_file(path, "the page", &page()),
            _ => Ok(()),
        }
    }
}
