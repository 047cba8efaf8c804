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
    /// What belongs to another object, by its number; the offset tells several apart.
    PartOf(u32),
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
    /// The execution in which it, or another at its place, was last seen, and who was there last.
    epoch: u64,
    latest: ObjectId,
    /// The object that comes to its place when this one was moved away, or is gone.
    next: Option<ObjectId>,
}

/// Numbers of objects. Once given they are kept.
#[derive(Default)]
pub(crate) struct Names {
    numbers: FxHashMap<Where, ObjectId>,
    about: Vec<About>,
    /// How many of a kind were created in a line.
    created: FxHashMap<(&'static str, &'static str, u32), u32>,
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

    /// An object that was not seen in this execution yet. Others may have been at its place before it, and
    /// may live on elsewhere: how many is the same in every execution, too.
    pub(crate) fn enter(
        &mut self,
        place: Where,
        kind: &'static str,
        created: Spot,
        epoch: u64,
    ) -> ObjectId {
        let Some(&first) = self.numbers.get(&place) else {
            let new = self.at(place, kind, created);
            self.about[new.index()].epoch = epoch;
            return new;
        };
        let about = &mut self.about[first.index()];
        let object = match about.epoch == epoch {
            true => self.next_at_place(first, kind, created),
            false => {
                (about.epoch, about.latest) = (epoch, first);
                first
            }
        };
        let about = &mut self.about[object.index()];
        (about.kind, about.created) = (kind, Some(created));
        object
    }

    /// The object after the latest at the place of `first`.
    #[cold]
    fn next_at_place(&mut self, first: ObjectId, kind: &'static str, created: Spot) -> ObjectId {
        let latest = self.about[first.index()].latest;
        let next = match self.about[latest.index()].next {
            Some(known) => known,
            None => self.add(kind, Some(created)),
        };
        self.about[latest.index()].next = Some(next);
        self.about[first.index()].latest = next;
        next
    }

    /// What belongs to another object.
    pub(crate) fn part(
        &mut self,
        owner: ObjectId,
        part: u32,
        kind: &'static str,
        created: Spot,
    ) -> ObjectId {
        let region = Region::PartOf(owner.index() as u32);
        let place = Where { region, offset: u64::from(part), part };
        if let Some(&known) = self.numbers.get(&place) {
            return known;
        }
        // It is called as its owner is.
        let nth = self.about[owner.index()].nth;
        let new = self.push(kind, Some(created), nth);
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
        let nth = created.map_or(0, |spot| {
            let before = self.created.entry((kind, spot.file(), spot.line())).or_default();
            *before += 1;
            *before - 1
        });
        self.push(kind, created, nth)
    }

    fn push(&mut self, kind: &'static str, created: Option<Spot>, nth: u32) -> ObjectId {
        let id = ObjectId::new(self.about.len());
        self.about.push(About { kind, created, nth, epoch: 0, latest: id, next: None });
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
