//! A search that is not finished, as text.

use std::time::Duration;

use selvedge_explore::{Frontier, Part};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::journal::Told;
use crate::parts::PartJson;

/// What makes a text a checkpoint.
const FORMAT: &str = "selvedge-checkpoint-1";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A search that is not finished. `About` says what is searched: a front end knows that.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Checkpoint<About> {
    /// Always the same.
    format: String,
    /// The version that wrote it: another one may divide the search differently.
    version: String,
    /// What is searched.
    #[serde(flatten)]
    pub about: About,
    /// How long the search took so far.
    seconds: f64,
    /// What the process was told, if it ran compiled code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<Told>,
    /// The search, in order.
    parts: Vec<PartJson>,
}

/// Why a text is not a checkpoint that this version can go on with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unread {
    /// It is none: why.
    NotOne(String),
    /// It was written by this version, which is another one.
    Version(String),
}

impl<About: Serialize + DeserializeOwned> Checkpoint<About> {
    /// Returns the checkpoint of a search with this frontier, which took so long.
    pub fn new(about: About, frontier: &Frontier, told: Option<Told>, time: Duration) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION.to_owned(),
            about,
            seconds: time.as_secs_f64(),
            told,
            parts: frontier.parts.iter().map(PartJson::of).collect(),
        }
    }

    /// Returns it as text.
    pub fn to_text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("internal error: a checkpoint is not text") + "\n"
    }

    /// Reads it.
    ///
    /// # Errors
    /// If it is none, or one of another version.
    pub fn from_text(text: &str) -> Result<Self, Unread> {
        let kept: Self =
            serde_json::from_str(text).map_err(|error| Unread::NotOne(error.to_string()))?;
        if kept.format != FORMAT {
            let why = format!("its format is `{}`, not `{FORMAT}`", kept.format);
            return Err(Unread::NotOne(why));
        }
        if kept.version != VERSION {
            return Err(Unread::Version(kept.version));
        }
        Ok(kept)
    }

    /// Returns how long the search took so far.
    pub fn time(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }

    /// Returns what the process was told.
    pub fn told(&self) -> Told {
        self.told.clone().unwrap_or_default()
    }

    /// Returns the frontier of the search; nothing if its parts are not those of one.
    pub fn frontier(&self) -> Option<Frontier> {
        let parts = self.parts.iter().map(PartJson::part).collect::<Option<Vec<Part>>>();
        let parts = parts.filter(|parts| !parts.is_empty())?;
        Some(Frontier { parts })
    }
}

/// Returns a sentence that says that a checkpoint is one of another version.
pub fn of_version(writer: &str) -> String {
    format!(
        "was written by version {writer}, and this is {VERSION}, which may divide the search differently"
    )
}
