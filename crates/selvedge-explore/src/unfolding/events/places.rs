//! Where events are in the object trees.
//!
//! Most events are never asked for that: their threads, or what they touch themselves, tell what they
//! are in conflict with. So an event gets its places, and those before it theirs, when it must have them.

use std::num::NonZeroU32;

use selvedge_core::Access;

use super::EventRef;
use super::forest::NodeRef;
use super::maxima::Maxima;
use super::objects::ObjectTrees;
use super::rows::{self, Rows};

/// The object trees, and the places in them of the events that have some.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) objects: ObjectTrees,
    /// For each event its row in what follows, if it has one.
    rows: Vec<Option<Row>>,
    /// The place that each access leads to.
    accesses: Rows<NodeRef>,
    /// `lmax`.
    maxima: Maxima,
}

/// Counted from 1, so that an optional one takes no more room.
#[derive(Clone, Copy, Debug)]
struct Row(NonZeroU32);

impl Row {
    fn of_index(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("internal error: more than 2^32 events"))
    }

    #[inline]
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl Places {
    pub(super) fn new(step: u32) -> Self {
        let (rows, accesses) = (Vec::new(), Rows::new());
        Self { objects: ObjectTrees::new(step), rows, accesses, maxima: Maxima::new() }
    }

    /// Returns whether the event has its places.
    #[inline]
    pub(super) fn has(&self, event: EventRef) -> bool {
        self.rows.get(event.index()).is_some_and(Option::is_some)
    }

    #[inline]
    fn row(&self, event: EventRef) -> usize {
        self.rows[event.index()].expect("internal error: an event without places").index()
    }

    /// Assigns an event its places. Its causes have theirs.
    pub(super) fn add(
        &mut self,
        event: EventRef,
        causes: impl Iterator<Item = EventRef>,
        accesses: &[Access],
    ) {
        let mut first = true;
        self.maxima.begin();
        for cause in causes {
            let row = self.row(cause);
            match first {
                true => self.maxima.copy(row),
                false => self.maxima.join(row, &mut self.objects),
            }
            first = false;
        }
        self.accesses.begin();
        for &access in accesses {
            let object = access.object.index();
            let place = self.objects.access(self.maxima.get_new(object), access, event);
            self.maxima.set_new(object, place);
            self.accesses.push(place);
        }
        let row = self.maxima.end();
        if self.rows.len() <= event.index() {
            self.rows.resize(event.index() + 1, None);
        }
        self.rows[event.index()] = Some(Row::of_index(row));
    }

    /// Returns the places that the accesses of an event lead to.
    #[inline]
    pub(super) fn of(&self, event: EventRef) -> &[NodeRef] {
        self.accesses.get(self.row(event))
    }

    /// Returns what the event knows of the object.
    #[inline]
    pub(super) fn known(&self, event: EventRef, access: Access) -> Option<NodeRef> {
        self.maxima.get(self.row(event), access.object.index())
    }

    /// Returns whether all that two events know of objects fits together.
    pub(super) fn are_compatible(&self, a: EventRef, b: EventRef) -> bool {
        self.maxima.are_compatible(self.row(a), self.row(b), &self.objects)
    }

    /// Keeps some events; `names` are the new ones.
    pub(super) fn retain(&mut self, keep: &[bool], names: &[Option<EventRef>]) {
        self.rows.resize(keep.len(), None);
        let mut is_kept = vec![false; self.maxima.len()];
        for (row, _) in self.rows.iter().zip(keep).filter(|(_, keep)| **keep) {
            if let Some(row) = row {
                is_kept[row.index()] = true;
            }
        }
        let mut kept = 0..;
        let rows: Vec<Option<Row>> = is_kept
            .iter()
            .map(|&is_kept| if is_kept { kept.next().map(Row::of_index) } else { None })
            .collect();
        rows::retain(&mut self.rows, keep);
        self.rows.iter_mut().for_each(|row| *row = row.and_then(|row| rows[row.index()]));
        self.accesses.retain(&is_kept);
        let mut used = self.maxima.retain(&is_kept, self.objects.forest().len());
        self.accesses.items_mut().iter().for_each(|place| used[place.index()] = true);
        let places = self.objects.retain(used, names);
        self.maxima.rename(&places);
        for place in self.accesses.items_mut() {
            *place = places[place.index()].expect("internal error: a place was dropped");
        }
    }
}
