//! Shared objects while blocks run, and when two states of them are the same.
//!
//! Only objects that were touched are listed. Those of one declaration have indices that differ on
//! the current path; all others are as they were.

use std::collections::BTreeMap;

use selvedge_lang::ir::{GlobalId, GlobalKind, Program, Type};

use super::term::{CallId, Index, Opaque, Place, Poly};
use super::words::Words;
use crate::circuit::Word;
use crate::solver::Lit;

/// Counts that start no larger never overflow: an execution with 2^30 steps does not fit the memory.
const LARGE: i32 = 1 << 30;

/// The touched objects of all declarations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Store {
    pub(super) globals: BTreeMap<GlobalId, Objects>,
}

/// The touched objects of one declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Objects {
    pub(super) global: GlobalId,
    pub(super) kind: Kind,
    /// The loop that last changed them as a whole, if one did.
    pub(super) after: Option<CallId>,
    pub(super) elements: Vec<(Index, Content)>,
}

/// What a declaration declares, as far as blocks can see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A variable, or the count of a semaphore.
    Number(Type),
    /// The count of a semaphore that is not large at first: it is never incremented 2³¹ times.
    Count,
    List,
    Map,
}

impl Kind {
    /// Of a declaration; `None` if blocks cannot touch it.
    pub(super) fn of(program: &Program, global: GlobalId) -> Option<Self> {
        match &program.globals[global.index()].kind {
            GlobalKind::Variable { ty, .. } => Some(Kind::Number(*ty)),
            GlobalKind::Semaphore { initial } => {
                match initial.iter().all(|&count| count <= LARGE) {
                    true => Some(Kind::Count),
                    false => Some(Kind::Number(Type::Int)),
                }
            }
            GlobalKind::List { .. } => Some(Kind::List),
            GlobalKind::Map { .. } => Some(Kind::Map),
            _ => None,
        }
    }
}

/// What an object holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Content {
    Number(Poly),
    List(List),
    Map(Map),
}

/// A list: positions `low`, …, `high - 1`. At first `low` is 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct List {
    /// What it was at first; `None` once it has been cleared.
    pub(super) origin: Option<Place>,
    pub(super) low: Poly,
    pub(super) high: Poly,
    /// Touched positions; they differ on the current path.
    pub(super) items: Vec<(Poly, Poly)>,
}

impl List {
    pub(super) fn length(&self) -> Poly {
        self.high.minus(&self.low)
    }
}

/// A map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Map {
    /// What it was at first; `None` once it has been cleared.
    pub(super) origin: Option<Place>,
    /// Touched keys, which differ on the current path, with the value if there is one.
    pub(super) entries: Vec<(Poly, Option<Poly>)>,
    /// How many keys it has, if a block asks.
    pub(super) length: Option<Poly>,
}

impl Objects {
    pub(super) fn untouched(global: GlobalId, kind: Kind) -> Self {
        Self { global, kind, after: None, elements: Vec::new() }
    }

    fn place(&self, index: &Index) -> Place {
        Place { global: self.global, after: self.after, index: index.clone() }
    }
}

impl Words<'_> {
    /// Returns what an object holds before anything is done to it.
    pub(super) fn original(&mut self, objects: &Objects, index: &Index) -> Content {
        let place = objects.place(index);
        match objects.kind {
            Kind::Number(ty) => Content::Number(self.opaque(Opaque::Variable(place), ty)),
            Kind::Count => {
                let count = self.opaque(Opaque::Variable(place), Type::Int);
                let word = self.word(&count);
                let most = self.circuit.at_most(&word, &Word::integer(LARGE + LARGE / 2));
                self.circuit.require(&[most]);
                self.circuit.require(&[!word.sign()]);
                Content::Number(count)
            }
            Kind::List => Content::List(List {
                high: self.opaque(Opaque::Length(place.clone()), Type::Int),
                low: Poly::constant(0),
                origin: Some(place),
                items: Vec::new(),
            }),
            Kind::Map => {
                Content::Map(Map { origin: Some(place), entries: Vec::new(), length: None })
            }
        }
    }

    /// Returns whether two states of the objects of one declaration are the same. May say no too often.
    pub(super) fn same_objects(&mut self, a: &Objects, b: &Objects) -> Lit {
        let mut all = vec![self.same_after(a.after, b.after)];
        if all[0] == Lit::FALSE || a.global != b.global {
            return Lit::FALSE;
        }
        for (one, other) in [(a, b), (b, a)] {
            for (index, content) in &one.elements {
                let same = self.same_at(index, content, other);
                all.push(same);
            }
        }
        self.circuit.all(&all)
    }

    /// Returns whether `objects` hold `content` at `index`.
    fn same_at(&mut self, index: &Index, content: &Content, objects: &Objects) -> Lit {
        let mut listed = Vec::new();
        for (other, there) in &objects.elements {
            let here = self.same_index(index, other);
            if here != Lit::FALSE {
                listed.push((here, self.same_content(content, there)));
            }
        }
        self.same_where(&listed, |words| {
            let original = words.original(objects, index);
            words.same_content(content, &original)
        })
    }

    /// Returns whether two things are the same, if each of these says whether it is the place to look, and whether
    /// they are the same there; `elsewhere` counts if none is.
    fn same_where(
        &mut self,
        listed: &[(Lit, Lit)],
        elsewhere: impl FnOnce(&mut Self) -> Lit,
    ) -> Lit {
        let mut all = Vec::new();
        for &(here, same) in listed {
            all.push(self.circuit.or(!here, same));
        }
        let mut found: Vec<Lit> = listed.iter().map(|(here, _)| *here).collect();
        if !found.contains(&Lit::TRUE) {
            found.push(elsewhere(self));
            all.push(self.circuit.any(&found));
        }
        self.circuit.all(&all)
    }

    pub(super) fn same_content(&mut self, a: &Content, b: &Content) -> Lit {
        match (a, b) {
            (Content::Number(a), Content::Number(b)) => self.equal(a, b),
            (Content::List(a), Content::List(b)) => self.same_list(a, b),
            (Content::Map(a), Content::Map(b)) => self.same_map(a, b),
            _ => Lit::FALSE,
        }
    }

    /// Lists that were shifted differently count as different, unless both are empty.
    fn same_list(&mut self, a: &List, b: &List) -> Lit {
        let length = self.equal(&a.length(), &b.length());
        let empty = self.equal(&a.length(), &Poly::constant(0));
        let mut all = vec![self.equal(&a.low, &b.low)];
        let origin = match (&a.origin, &b.origin) {
            (None, None) => Lit::TRUE,
            (Some(p), Some(q)) if p.global == q.global => {
                let after = self.same_after(p.after, q.after);
                let index = self.same_index(&p.index, &q.index);
                self.circuit.and(after, index)
            }
            _ => Lit::FALSE,
        };
        all.push(origin);
        if !all.contains(&Lit::FALSE) {
            for (one, other) in [(a, b), (b, a)] {
                for (position, value) in &one.items {
                    let same = self.same_item(position, value, one, other);
                    all.push(same);
                }
            }
        }
        let same = self.circuit.all(&all);
        let same = self.circuit.or(empty, same);
        self.circuit.and(length, same)
    }

    /// Returns whether `other` has `value` at `position`, or the position is not in the list `one` any more.
    fn same_item(&mut self, position: &Poly, value: &Poly, one: &List, other: &List) -> Lit {
        let before = self.less(position, &one.low);
        let behind = !self.less(position, &one.high);
        let outside = self.circuit.or(before, behind);
        let mut listed = Vec::new();
        for (there, item) in &other.items {
            let here = self.equal(position, there);
            if here != Lit::FALSE {
                listed.push((here, self.equal(value, item)));
            }
        }
        let same = self.same_where(&listed, |words| match &other.origin {
            None => Lit::FALSE,
            Some(place) => {
                let item = Opaque::Item(place.clone(), position.clone());
                let item = words.opaque(item, Type::Int);
                words.equal(value, &item)
            }
        });
        self.circuit.or(outside, same)
    }

    fn same_map(&mut self, a: &Map, b: &Map) -> Lit {
        let mut all = Vec::new();
        match (&a.origin, &b.origin) {
            (None, None) => {}
            (Some(p), Some(q)) if p.global == q.global => {
                all.push(self.same_after(p.after, q.after));
                all.push(self.same_index(&p.index, &q.index));
            }
            _ => return Lit::FALSE,
        }
        for (one, other) in [(a, b), (b, a)] {
            for (key, value) in &one.entries {
                let same = self.same_entry(key, value.as_ref(), other);
                all.push(same);
            }
        }
        self.circuit.all(&all)
    }

    fn same_entry(&mut self, key: &Poly, value: Option<&Poly>, other: &Map) -> Lit {
        let mut listed = Vec::new();
        for (there, entry) in &other.entries {
            let here = self.equal(key, there);
            if here != Lit::FALSE {
                let same = match (value, entry) {
                    (None, None) => Lit::TRUE,
                    (Some(value), Some(entry)) => self.equal(value, entry),
                    _ => Lit::FALSE,
                };
                listed.push((here, same));
            }
        }
        self.same_where(&listed, |words| match &other.origin {
            None => Lit::constant(value.is_none()),
            Some(place) => words.same_as_original(place, key, value),
        })
    }

    fn same_as_original(&mut self, place: &Place, key: &Poly, value: Option<&Poly>) -> Lit {
        let has = self.opaque(Opaque::Has(place.clone(), key.clone()), Type::Bool);
        let has = self.truth(&has);
        match value {
            None => !has,
            Some(value) => {
                let item = self.opaque(Opaque::Item(place.clone(), key.clone()), Type::Int);
                let equal = self.equal(value, &item);
                self.circuit.and(has, equal)
            }
        }
    }
}
