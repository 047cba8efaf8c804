//! What a step did, in words: kept only in replays.

use selvedge_core::{Description, ObjectId, ValueChange};

use crate::world::World;

/// The words for the last step.
pub(crate) struct Told<W: World> {
    /// What it did.
    pub(crate) text: String,
    spot: W::Spot,
    /// What it found in objects and what it left there, as far as the operation says so.
    pub(crate) values: Vec<(ObjectId, ValueChange)>,
}

impl<W: World> Told<W> {
    /// A step that did nothing yet but begin with this operation.
    pub(crate) fn new(text: String, spot: W::Spot) -> Self {
        Self { text, spot, values: Vec::new() }
    }

    /// What a step did.
    pub(crate) fn description(last: Option<&Self>) -> Description {
        match last {
            Some(told) => Description { text: told.text.clone(), place: Some(W::place(told.spot)) },
            None => Description { text: String::new(), place: None },
        }
    }

    /// Notes what the step found in an object and what it left there. Of several notes for an object, the first says what
    /// was found, and the last what was left.
    pub(crate) fn note_values(&mut self, object: ObjectId, change: ValueChange) {
        match self.values.iter_mut().find(|(known, _)| *known == object) {
            Some((_, known)) => known.after = change.after,
            None => self.values.push((object, change)),
        }
    }
}
