//! Objects have the same number in every execution: they are known by where they lie.

use rustc_hash::FxHashMap;
use selvedge_core::{ObjectId, ObjectKey, ThreadKey};

use crate::world::World;

/// Where an object lies, as a number that is the same in every execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Where {
    /// Whose memory it is.
    pub region: Region,
    /// Where in it.
    pub offset: u64,
    /// Which of several objects that make up one thing at that place.
    pub part: u32,
}

/// Whose memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// Allocated by a thread.
    Heap(u32),
    /// On the stack of a thread.
    Stack(u32),
    /// What belongs to a thread itself.
    Thread(u32),
    /// The messages that a thread sends; the offset counts them.
    Messages(u32),
    /// Free memory of a size, which is the offset; the part is its alignment.
    Pool,
    /// What belongs to another object, by its number; the offset tells several apart.
    PartOf(u32),
    /// Static data, or something that lives longer than an execution.
    Outside,
}

/// What is known about an object.
struct About<W: World> {
    kind: &'static str,
    /// Where it was created; of a thread's own objects, nowhere.
    created: Option<W::Spot>,
    /// The line that is, as an index of lines.
    line: Option<usize>,
    /// How many that were created in that line were used before it, in this execution.
    nth: u32,
    /// The execution in which it was last seen, and who was at its place last.
    epoch: u64,
    latest: ObjectId,
    /// The execution in which it was named before it was used, as long as it is not.
    foreseen: Option<u64>,
    /// The object that comes to its place when this one was moved away, or is gone.
    next: Option<ObjectId>,
    /// What it is a part of, and its own parts.
    owner: Option<ObjectId>,
    parts: Vec<ObjectId>,
    /// A number that is the same for all systems of a check.
    stable: u64,
}

impl<W: World> About<W> {
    fn new(id: ObjectId, kind: &'static str, stable: u64) -> Self {
        Self {
            kind,
            stable,
            created: None,
            line: None,
            nth: 0,
            epoch: 0,
            latest: id,
            foreseen: None,
            next: None,
            owner: None,
            parts: Vec::new(),
        }
    }
}

/// A line in which objects of a kind are created.
struct Line {
    /// The first that was known, and whether there are more.
    first: ObjectId,
    crowded: bool,
    /// How many were seen in an execution, and in which.
    seen: u32,
    epoch: u64,
}

/// Numbers of objects. Once given they are kept. What they are called depends on the execution alone, so that it
/// is the same whatever ran before.
pub struct Names<W: World> {
    epoch: u64,
    numbers: FxHashMap<Where, ObjectId>,
    about: Vec<About<W>>,
    lines: Vec<Line>,
    line_of: FxHashMap<(&'static str, W::Line), usize>,
    /// Per thread, a number for who spawned it, and how many before it.
    threads: Vec<u64>,
    /// The same, as names.
    lineages: Vec<ThreadKey>,
}

/// One number for two, such that others give others: for one that is fixed, each other one has its own. Two long histories have
/// the same number with a probability of 2^-64, as for any hash of that size; that is the only way in which they are confused.
pub fn mix(a: u64, b: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (a.rotate_left(23) ^ b).wrapping_mul(ODD);
    mixed ^ (mixed >> 29)
}

impl<W: World> Default for Names<W> {
    fn default() -> Self {
        Self {
            epoch: 0,
            numbers: FxHashMap::default(),
            about: Vec::new(),
            lines: Vec::new(),
            line_of: FxHashMap::default(),
            threads: Vec::new(),
            lineages: Vec::new(),
        }
    }
}

impl<W: World> Names<W> {
    /// One more thread, which that thread spawned after so many others.
    pub fn add_thread(&mut self, creator: Option<(usize, u32)>) {
        let new =
            creator.map_or(1, |(creator, nth)| mix(self.threads[creator], u64::from(nth) + 1));
        self.threads.push(new);
        let lineage = match creator {
            Some((creator, nth)) => self.lineages[creator].child(nth),
            None => ThreadKey::root(0),
        };
        self.lineages.push(lineage);
    }

    /// The name of a thread that is the same in every process.
    pub(crate) fn thread_key(&self, thread: usize) -> ThreadKey {
        self.lineages[thread].clone()
    }

    /// The name of an object that is the same in every process.
    pub(crate) fn object_key(&self, object: ObjectId) -> ObjectKey {
        ObjectKey::hashed(self.stable(object))
    }

    /// A number for a thread that is the same for all systems of a check.
    pub fn stable_thread(&self, thread: usize) -> u64 {
        self.threads[thread]
    }

    /// A number for an object that is the same for all systems of a check.
    pub fn stable(&self, object: ObjectId) -> u64 {
        self.about[object.index()].stable
    }

    /// The same for what lies at a place.
    pub fn stable_place(&self, place: Where) -> u64 {
        let (code, of) = match place.region {
            Region::Heap(thread) => (1, self.threads[thread as usize]),
            Region::Stack(thread) => (2, self.threads[thread as usize]),
            Region::Thread(thread) => (7, self.threads[thread as usize]),
            Region::Messages(thread) => (3, self.threads[thread as usize]),
            Region::PartOf(owner) => (4, self.about[owner as usize].stable),
            Region::Outside => (5, 0),
            Region::Pool => (8, 0),
        };
        // Statics lie at the same distance from each other in every process, wherever the system has put them.
        static ANCHOR: u8 = 0;
        let offset = match place.region {
            Region::Outside => place.offset.wrapping_sub(&raw const ANCHOR as u64),
            _ => place.offset,
        };
        mix(mix(mix(code, of), offset), u64::from(place.part))
    }

    /// Another execution begins.
    pub fn start(&mut self, epoch: u64) {
        self.epoch = epoch;
    }

    /// The object at a place.
    pub fn at(&mut self, place: Where, kind: &'static str, created: W::Spot) -> ObjectId {
        let object = match self.numbers.get(&place) {
            Some(&known) => known,
            None => self.add_at(place, kind),
        };
        if self.about[object.index()].epoch != self.epoch {
            self.see(object, kind, created);
        }
        object
    }

    /// An object that was not seen in this execution yet. Others may have been at its place before it, and
    /// may live on elsewhere: how many is the same in every execution, too.
    pub fn enter(&mut self, place: Where, kind: &'static str, created: W::Spot) -> ObjectId {
        let object = self.next_at(place, kind);
        self.see(object, kind, created);
        object
    }

    /// The object `from` was moved to another place: it is another one with the same name.
    pub fn enter_moved(&mut self, place: Where, from: ObjectId) -> ObjectId {
        let About { kind, created, line, nth, .. } = self.about[from.index()];
        let object = self.next_at(place, kind);
        let about = &mut self.about[object.index()];
        (about.kind, about.created, about.line, about.nth) = (kind, created, line, nth);
        about.epoch = self.epoch;
        object
    }

    fn next_at(&mut self, place: Where, kind: &'static str) -> ObjectId {
        match self.numbers.get(&place) {
            Some(&first) if self.about[first.index()].foreseen == Some(self.epoch) => {
                self.about[first.index()].foreseen = None;
                first
            }
            Some(&first) if self.about[first.index()].epoch == self.epoch => {
                self.next_at_place(first, kind)
            }
            Some(&first) => {
                self.about[first.index()].latest = first;
                first
            }
            None => self.add_at(place, kind),
        }
    }

    /// The object that is at a place now; if none was there yet in this execution, the one that would be the first.
    pub fn foresee(&mut self, place: Where, kind: &'static str, created: W::Spot) -> ObjectId {
        let object = match self.numbers.get(&place) {
            Some(&first) => match &self.about[first.index()] {
                about if about.epoch == self.epoch => return about.latest,
                _ => first,
            },
            None => self.add_at(place, kind),
        };
        let about = &mut self.about[object.index()];
        (about.latest, about.foreseen) = (object, Some(self.epoch));
        self.see(object, kind, created);
        object
    }

    /// Where an object was created. A thread's own objects are not.
    pub fn created(&self, object: ObjectId) -> Option<W::Spot> {
        self.about[object.index()].created
    }

    /// The object after the latest at the place of `first`.
    #[cold]
    fn next_at_place(&mut self, first: ObjectId, kind: &'static str) -> ObjectId {
        let latest = self.about[first.index()].latest;
        let next = match self.about[latest.index()].next {
            Some(known) => known,
            None => {
                let stable = mix(self.about[latest.index()].stable, 6);
                self.add(kind, stable)
            }
        };
        self.about[latest.index()].next = Some(next);
        self.about[first.index()].latest = next;
        next
    }

    /// An object is used for the first time in this execution.
    fn see(&mut self, object: ObjectId, kind: &'static str, created: W::Spot) {
        let about = &mut self.about[object.index()];
        about.epoch = self.epoch;
        let is_same = about.created.is_some_and(|known| W::is_same(known, created));
        let line = match about.line {
            Some(line) if is_same && about.kind == kind => line,
            _ => self.note_line(object, kind, created),
        };
        let line = &mut self.lines[line];
        if line.crowded {
            if line.epoch != self.epoch {
                (line.epoch, line.seen) = (self.epoch, 0);
            }
            self.about[object.index()].nth = line.seen;
            line.seen += 1;
        }
    }

    #[cold]
    fn note_line(&mut self, object: ObjectId, kind: &'static str, created: W::Spot) -> usize {
        let key = (kind, W::line(created));
        let next = self.lines.len();
        let number = *self.line_of.entry(key).or_insert(next);
        match self.lines.get_mut(number) {
            None => {
                self.lines.push(Line { first: object, crowded: false, seen: 0, epoch: 0 });
            }
            Some(line) if !line.crowded && line.first != object => {
                // From now on they are counted. The first may have been seen already.
                let first = &mut self.about[line.first.index()];
                let is_seen = first.epoch == self.epoch && first.line == Some(number);
                first.nth = 0;
                (line.crowded, line.epoch, line.seen) = (true, self.epoch, u32::from(is_seen));
            }
            Some(_) => {}
        }
        let about = &mut self.about[object.index()];
        (about.kind, about.created, about.line) = (kind, Some(created), Some(number));
        about.nth = 0;
        number
    }

    /// What belongs to another object.
    pub fn part(
        &mut self,
        owner: ObjectId,
        part: u32,
        kind: &'static str,
        created: W::Spot,
    ) -> ObjectId {
        let region = Region::PartOf(owner.index() as u32);
        let place = Where { region, offset: u64::from(part), part };
        if let Some(&known) = self.numbers.get(&place) {
            return known;
        }
        let new = self.add_at(place, kind);
        let about = &mut self.about[new.index()];
        (about.created, about.owner) = (Some(created), Some(owner));
        self.about[owner.index()].parts.push(new);
        new
    }

    /// What belongs to an object.
    pub fn parts(&self, owner: ObjectId) -> &[ObjectId] {
        &self.about[owner.index()].parts
    }

    /// The `nth` message that a thread sends.
    pub fn message(&mut self, thread: usize, nth: u64) -> ObjectId {
        let place = Where { region: Region::Messages(thread as u32), offset: nth, part: 0 };
        match self.numbers.get(&place) {
            Some(&known) => known,
            None => self.add_at(place, "message"),
        }
    }

    /// Free memory of this size and alignment.
    pub fn pool(&mut self, size: usize, align: usize) -> ObjectId {
        let (offset, part) = (size as u64, align as u32);
        let place = Where { region: Region::Pool, offset, part };
        match self.numbers.get(&place) {
            Some(&known) => known,
            None => self.add_at(place, "free memory"),
        }
    }

    fn add_at(&mut self, place: Where, kind: &'static str) -> ObjectId {
        let new = self.add(kind, self.stable_place(place));
        self.numbers.insert(place, new);
        new
    }

    /// An object that a thread has from its beginning.
    pub(crate) fn add_of(&mut self, thread: usize, which: u64, kind: &'static str) -> ObjectId {
        self.add(kind, mix(mix(7, self.threads[thread]), which))
    }

    /// An object of a thread, such as what it waits for when it parks. `which` tells several apart, and is at
    /// least 3: others have the numbers below.
    pub fn of_thread(&mut self, thread: usize, which: u64, kind: &'static str) -> ObjectId {
        let place = Where { region: Region::Thread(thread as u32), offset: which, part: 0 };
        match self.numbers.get(&place) {
            Some(&known) => known,
            None => self.add_at(place, kind),
        }
    }

    fn add(&mut self, kind: &'static str, stable: u64) -> ObjectId {
        let id = ObjectId::new(self.about.len());
        self.about.push(About::new(id, kind, stable));
        id
    }

    /// How many there are.
    #[allow(
        clippy::len_without_is_empty,
        reason = "a thread has objects, so that there are always some"
    )]
    pub fn len(&self) -> usize {
        self.about.len()
    }

    /// As a person would call it: `Mutex@queue.rs:12`, and `#2` for the second one of that line.
    pub fn name(&self, object: ObjectId) -> String {
        let Some(about) = self.about.get(object.index()) else { return format!("{object:?}") };
        let Some(spot) = about.created else { return about.kind.to_owned() };
        let mut name = W::object_name(about.kind, spot);
        // What belongs to another object is called as that is.
        let nth = about.owner.map_or(about.nth, |owner| self.about[owner.index()].nth);
        if nth > 0 {
            name.push_str(&format!("#{}", nth + 1));
        }
        name
    }
}
