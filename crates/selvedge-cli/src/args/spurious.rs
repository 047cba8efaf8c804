//! Options for operations of C programs that may end spuriously.

use clap::Args;
use serde::{Deserialize, Serialize};

/// How waits and weak compare-exchanges end spuriously.
#[derive(Args, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SpuriousArgs {
    /// How often waits on condition variables wake up, and weak compare-exchanges fail, spuriously: per thread and place,
    /// where the code does not recheck; 0: never [default: 1]
    #[arg(long = "spurious", value_name = "N", help_heading = "C programs")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) most: Option<u32>,

    /// Spurious wake-ups and failures also where the code rechecks and changes nothing
    #[arg(long = "spurious-everywhere", help_heading = "C programs")]
    #[serde(default)]
    pub(crate) everywhere: bool,
}

impl SpuriousArgs {
    /// Returns how often it is.
    pub(crate) fn most(self) -> u32 {
        self.most.unwrap_or(1)
    }

    /// Returns whether no option was given.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the options as they are typed, each with a space before it.
    pub(crate) fn typed(self) -> String {
        let most = self.most.map_or(String::new(), |most| format!(" --spurious {most}"));
        let everywhere = if self.everywhere { " --spurious-everywhere" } else { "" };
        format!("{most}{everywhere}")
    }

    /// Returns what a search left out, if it did. `is_bounded`: an operation could have ended spuriously more often;
    /// `is_left_out`: one did not where the code rechecks.
    pub(crate) fn unexplored(self, is_bounded: bool, is_left_out: bool) -> Option<String> {
        let most = self.most();
        let times = if most == 1 { "once".to_owned() } else { format!("{most} times") };
        let bounded = format!(
            "waits and weak compare-exchanges end spuriously at most {times} for each thread and place, and more might \
             matter (--spurious {})",
            most.saturating_add(1)
        );
        let left_out = "waits and weak compare-exchanges do not end spuriously where the code rechecks and changes \
                        nothing (--spurious-everywhere)";
        match (is_bounded, is_left_out) {
            (false, false) => None,
            (true, false) => Some(bounded),
            (false, true) => Some(left_out.to_owned()),
            (true, true) => Some(format!("{bounded}; {left_out}")),
        }
    }
}
