//! Objects have the same number in every execution: they are known by where they lie.

use rustc_hash::FxHashMap;
use selvedge_core::ObjectId;

use super::operation::Spot;

/// Where an object lies, as a number that is the same in every execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Where {
    pub(crate) region: Region,
    pub(crate) offset: u64,
    /// Which of several objects that make up one thing at that place.
    pub(crate) part: u32,
}

/// Whose memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Region {
    /// Allocated by a thread.
    Heap(u32),
    /// On the stack of a thread.
    Stack(u32),
    /// The messages that a thread sends; the offset counts them.
    Messages(u32),
    /// Static data, or something that lives longer than an execution.
    Outside,
}

/// What is known about an object.
#[derive(Clone)]
pub(crate) struct About {
    pub(crate) kind: &'static str,
    /// Where it was created; of a thread's own objects, nowhere.
    pub(crate) created: Option<Spot>,
    /// How many of this kind were created there before it.
    nth: u32,
}

/// Numbers of objects. Once given they are kept.
#[derive(Default)]
pub(crate) struct Names {
    numbers: FxHashMap<Where, ObjectId>,
    about: Vec<About>,
}

impl Names {
    /// The object at a place.
    pub(crate) fn at(&mut self, place: Where, kind: &'static str, created: Spot) -> ObjectId {
        if let Some(&known) = self.numbers.get(&place) {
            let about = &mut self.about[known.index()];
            (about.kind, about.created) = (kind, Some(created));
            return known;
        }
        let new = self.add(kind, Some(created));
        self.numbers.insert(place, new);
        new
    }

    /// The `nth` message that a thread sends.
    pub(crate) fn message(&mut self, thread: usize, nth: u64) -> ObjectId {
        let place = Where { region: Region::Messages(thread as u32), offset: nth, part: 0 };
        if let Some(&known) = self.numbers.get(&place) {
            return known;
        }
        let new = self.add("message", None);
        self.numbers.insert(place, new);
        new
    }

    /// One more object, of a thread.
    pub(crate) fn add(&mut self, kind: &'static str, created: Option<Spot>) -> ObjectId {
        let id = ObjectId::new(self.about.len());
        let line = |spot: Spot| (spot.file(), spot.line());
        let same =
            |about: &&About| about.kind == kind && about.created.map(line) == created.map(line);
        let nth = match created {
            Some(_) => self.about.iter().filter(same).count() as u32,
            None => 0,
        };
        self.about.push(About { kind, created, nth });
        id
    }

    pub(crate) fn len(&self) -> usize {
        self.about.len()
    }

    /// As a person would call it: `Mutex@queue.rs:12`, and `#2` for the second one created there.
    pub(crate) fn name(&self, object: ObjectId) -> String {
        let Some(about) = self.about.get(object.index()) else { return format!("{object:?}") };
        let Some(spot) = about.created else { return about.kind.to_owned() };
        let file = spot.file().rsplit(['/', '\\']).next().unwrap_or(spot.file());
        let mut name = format!("{}@{file}:{}", about.kind, spot.line());
        if about.nth > 0 {
            name.push_str(&format!("#{}", about.nth + 1));
        }
        name
    }
}
