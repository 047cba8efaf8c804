//! Draws parameters that are objects, and what is passed for them.

use super::artist::Artist;
use super::palette::Feature;

/// What a parameter stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Passed {
    /// A variable of type `int`.
    Variable,
    /// An array of two or three of them.
    Row,
    Mutex,
    Semaphore,
    List,
    Channel,
}

impl Passed {
    pub(super) fn written(self) -> &'static str {
        match self {
            Passed::Variable => "shared int",
            Passed::Row => "shared int[]",
            Passed::Mutex => "mutex",
            Passed::Semaphore => "semaphore",
            Passed::List => "list",
            Passed::Channel => "channel",
        }
    }
}

impl Artist {
    /// The kind of a parameter that the body has a use for.
    pub(super) fn passed_kind(&mut self) -> Passed {
        let mut kinds = vec![Passed::Variable, Passed::Row];
        let others = [
            (Feature::Mutexes, Passed::Mutex),
            (Feature::Semaphores, Passed::Semaphore),
            (Feature::Lists, Passed::List),
            (Feature::Channels, Passed::Channel),
        ];
        for (feature, kind) in others {
            if self.has(feature) {
                kinds.extend([kind; 3]);
            }
        }
        *self.random.pick(&kinds)
    }

    /// A parameter of this kind, mostly, if there is one.
    pub(super) fn object(&mut self, kind: Passed) -> Option<String> {
        let fits = |(_, other): &&(String, Passed)| *other == kind;
        let names: Vec<String> =
            self.objects.iter().filter(fits).map(|(name, _)| name.clone()).collect();
        if names.is_empty() || self.random.one_in(4) {
            return None;
        }
        Some(self.random.pick(&names).clone())
    }

    /// What is passed: a parameter of the caller, or something declared.
    pub(super) fn object_argument(&mut self, kind: Passed) -> String {
        match kind {
            Passed::Variable => match self.random.one_in(2) {
                true => self.element(),
                false => self.variable(),
            },
            Passed::Row => self.object(kind).unwrap_or_else(|| match self.random.below(4) {
                0 => "a2".to_owned(),
                1 | 2 => format!("g[{}]", self.index(2)),
                _ => "a".to_owned(),
            }),
            Passed::Mutex => self.any_mutex(),
            Passed::Semaphore => self.semaphore(),
            Passed::List => self.list(),
            Passed::Channel => self.channel(),
        }
    }
}
