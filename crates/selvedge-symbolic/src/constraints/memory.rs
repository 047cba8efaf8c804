//! What blocks do to shared objects.

use selvedge_lang::ir::{
    BinaryOp, Change, Container, ObjectRef, Op, Operand, Query, Semaphore, SiteId, Type, Variable,
};

use super::GiveUp;
use super::arithmetic::Operation;
use super::path::{Exit, Path, Value};
use super::run::{Halt, Relation, Runner};
use super::store::{Content, List, Map, Objects};
use super::term::{Index, Opaque, Place, Poly};

/// Where an object stands in the store: which element of those that were touched.
struct Found {
    index: Index,
    /// `None`: it has not been touched yet.
    at: Option<usize>,
    content: Content,
}

impl Runner<'_, '_> {
    /// Runs an operation on shared objects.
    pub(super) fn visible(&mut self, path: &mut Path, op: &Op, site: SiteId) -> Result<(), Halt> {
        // From here on it may know what others have done.
        path.is_local &= matches!(op, Op::Variable(Variable::Write { .. }));
        match op {
            Op::Variable(op) => self.variable(path, op, site)?,
            Op::Semaphore(Semaphore::Up { semaphore }) => {
                self.add_to(path, *semaphore, &Poly::constant(1), site)?;
            }
            Op::Container(Container::Ask { target, container, query }) => {
                let answer = self.query(path, *container, query, site)?;
                self.set(path, *target, Value::Number(answer));
            }
            Op::Container(Container::Change { container, change }) => {
                self.change(path, *container, change, site)?;
            }
            _ => return Err(GiveUp::TooLarge("it has an operation without an encoding").into()),
        }
        path.has_effects |= !op.only_reads();
        Ok(())
    }

    fn variable(&mut self, path: &mut Path, op: &Variable, site: SiteId) -> Result<(), Halt> {
        let (target, result) = match op {
            Variable::Read { target, variable, .. } => (target, self.read(path, *variable)?),
            Variable::Write { variable, value, .. } => {
                let value = self.number(path, *value);
                let found = self.find(path, *variable)?;
                self.put(path, *variable, found, Content::Number(value));
                return Ok(());
            }
            Variable::CompareExchange { target, variable, expected, new, .. } => {
                let [expected, new] = [*expected, *new].map(|operand| self.number(path, operand));
                let found = self.find(path, *variable)?;
                let old = number(&found.content);
                let same = self.decide(path, Relation::Equal, &old, &expected)?;
                let now = if same { new } else { old };
                self.put(path, *variable, found, Content::Number(now));
                (target, Poly::constant(i32::from(same)))
            }
            Variable::Exchange { target, variable, new, .. } => {
                let new = self.number(path, *new);
                let found = self.find(path, *variable)?;
                let old = number(&found.content);
                self.put(path, *variable, found, Content::Number(new));
                (target, old)
            }
            Variable::FetchAdd { target, variable, delta, .. } => {
                let delta = self.number(path, *delta);
                (target, self.add_to(path, *variable, &delta, site)?)
            }
        };
        self.set(path, *target, Value::Number(result));
        Ok(())
    }

    /// Adds to a variable. Returns what it was.
    fn add_to(
        &mut self,
        path: &mut Path,
        object: ObjectRef,
        delta: &Poly,
        site: SiteId,
    ) -> Result<Poly, Halt> {
        let found = self.find(path, object)?;
        let old = number(&found.content);
        let new = self.ring(path, Operation { op: BinaryOp::Add, a: &old, b: delta, site })?;
        self.put(path, object, found, Content::Number(new));
        Ok(old)
    }

    pub(super) fn read(&mut self, path: &mut Path, variable: ObjectRef) -> Result<Poly, Halt> {
        if !self.written.contains(&variable.global) {
            // It is not written: two names of one element need not be distinguished.
            let index = self.index(path, variable);
            let objects = Objects::untouched(variable.global, self.kind(variable.global)?);
            return Ok(number(&self.words.original(&objects, &index)));
        }
        let found = self.find(path, variable)?;
        let value = number(&found.content);
        let content = found.content.clone();
        self.put(path, variable, found, content);
        Ok(value)
    }

    fn index(&mut self, path: &mut Path, object: ObjectRef) -> Index {
        let dims = &self.program.globals[object.global.index()].dims;
        match (object.index, dims.as_slice()) {
            (_, []) => Vec::new(),
            (Operand::Constant(flat), [_]) => vec![Poly::constant(flat)],
            (Operand::Constant(flat), [_, columns, ..]) => {
                let columns = i32::try_from((*columns).max(1)).unwrap_or(i32::MAX);
                vec![Poly::constant(flat / columns), Poly::constant(flat % columns)]
            }
            (Operand::Slot(_), _) => match self.value(path, object.index) {
                Value::Index(index) => index,
                Value::Number(number) => vec![number],
            },
        }
    }

    /// Finds an object, and decides which of the touched ones it is.
    fn find(&mut self, path: &mut Path, object: ObjectRef) -> Result<Found, Halt> {
        let index = self.index(path, object);
        let kind = self.kind(object.global)?;
        let untouched = Objects::untouched(object.global, kind);
        let objects = path.store.globals.get(&object.global).cloned().unwrap_or(untouched);
        for (at, (other, content)) in objects.elements.iter().enumerate() {
            if self.is_same(path, &index, other)? {
                return Ok(Found { index, at: Some(at), content: content.clone() });
            }
        }
        let content = self.words.original(&objects, &index);
        Ok(Found { index, at: None, content })
    }

    fn is_same(&mut self, path: &mut Path, a: &Index, b: &Index) -> Result<bool, Halt> {
        for (a, b) in a.iter().zip(b) {
            if !self.decide(path, Relation::Equal, a, b)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn put(&mut self, path: &mut Path, object: ObjectRef, found: Found, content: Content) {
        let Ok(kind) = self.kind(object.global) else { return };
        let objects = path.store.globals.entry(object.global);
        let objects = objects.or_insert_with(|| Objects::untouched(object.global, kind));
        match found.at {
            Some(at) => objects.elements[at].1 = content,
            None => objects.elements.push((found.index, content)),
        }
    }

    fn query(
        &mut self,
        path: &mut Path,
        container: ObjectRef,
        query: &Query,
        site: SiteId,
    ) -> Result<Poly, Halt> {
        let mut found = self.find(path, container)?;
        let answer = match (&mut found.content, query) {
            (Content::List(list), Query::Length) => list.length(),
            (Content::List(list), Query::Element(index)) => {
                let index = self.number(path, *index);
                self.require_element(path, list, &index, site)?;
                let position = list.low.plus(&index);
                let (_, item) = self.item(path, list, &position)?;
                item
            }
            (Content::List(list), Query::Contains(value)) => {
                let value = self.number(path, *value);
                self.contains(path, list, &value)?
            }
            (Content::Map(map), Query::Length) => self.map_length(map),
            (Content::Map(map), Query::Has(key)) => {
                let key = self.number(path, *key);
                let entry = self.entry(path, map, &key)?;
                Poly::constant(i32::from(map.entries[entry].1.is_some()))
            }
            (Content::Map(map), Query::Get(key)) => {
                let key = self.number(path, *key);
                let entry = self.entry(path, map, &key)?;
                map.entries[entry].1.clone().ok_or_else(|| Self::failed(site))?
            }
            (Content::Map(map), Query::GetOr(key, default)) => {
                let [key, default] = [*key, *default].map(|operand| self.number(path, operand));
                let entry = self.entry(path, map, &key)?;
                map.entries[entry].1.clone().unwrap_or(default)
            }
            _ => return Err(GiveUp::TooLarge("it asks something that has no encoding").into()),
        };
        let content = found.content.clone();
        self.put(path, container, found, content);
        Ok(answer)
    }

    fn change(
        &mut self,
        path: &mut Path,
        container: ObjectRef,
        change: &Change,
        site: SiteId,
    ) -> Result<(), Halt> {
        let mut found = self.find(path, container)?;
        let one = Poly::constant(1);
        let zero = Poly::constant(0);
        let mut taken = None;
        match (&mut found.content, change) {
            (Content::List(list), Change::Push(value)) => {
                let value = self.number(path, *value);
                let position = list.high.clone();
                self.set_item(path, list, &position, value)?;
                list.high = list.high.plus(&one);
            }
            (Content::List(list), Change::Set(index, value)) => {
                let [index, value] = [*index, *value].map(|operand| self.number(path, operand));
                self.require_element(path, list, &index, site)?;
                let position = list.low.plus(&index);
                self.set_item(path, list, &position, value)?;
            }
            (Content::List(list), Change::Pop(target) | Change::PopFront(target)) => {
                if !self.decide(path, Relation::Less, &zero, &list.length())? {
                    return Err(Self::failed(site));
                }
                let at_end = matches!(change, Change::Pop(_));
                let last = list.high.minus(&one);
                let position = if at_end { last.clone() } else { list.low.clone() };
                let (at, item) = self.item(path, list, &position)?;
                if at_end {
                    list.high = last;
                } else {
                    list.low = list.low.plus(&one);
                }
                if let Some(at) = at {
                    list.items.remove(at);
                }
                taken = target.map(|target| (target, item));
            }
            (Content::List(list), Change::Clear) => {
                *list = List { origin: None, low: zero.clone(), high: zero, items: Vec::new() };
            }
            (Content::Map(map), Change::Clear) => {
                *map = Map { origin: None, entries: Vec::new(), length: Some(zero) };
            }
            (Content::Map(map), Change::Insert(key, value)) => {
                let [key, value] = [*key, *value].map(|operand| self.number(path, operand));
                self.set_entry(path, map, container, &key, Some(value))?;
            }
            (Content::Map(map), Change::Remove(key)) => {
                let key = self.number(path, *key);
                self.set_entry(path, map, container, &key, None)?;
            }
            _ => return Err(GiveUp::TooLarge("it changes something that has no encoding").into()),
        }
        let content = found.content.clone();
        self.put(path, container, found, content);
        if let Some((target, item)) = taken {
            self.set(path, target, Value::Number(item));
        }
        Ok(())
    }

    fn require_element(
        &mut self,
        path: &mut Path,
        list: &List,
        index: &Poly,
        site: SiteId,
    ) -> Result<(), Halt> {
        let length = list.length();
        if self.decide(path, Relation::Less, index, &Poly::constant(0))?
            || !self.decide(path, Relation::Less, index, &length)?
        {
            return Err(Halt::Left(Exit::Failed(site, vec![Value::Number(length)])));
        }
        Ok(())
    }

    /// Returns the item at a position of a list, and where it is noted.
    fn item(
        &mut self,
        path: &mut Path,
        list: &List,
        position: &Poly,
    ) -> Result<(Option<usize>, Poly), Halt> {
        for (at, (other, value)) in list.items.iter().enumerate() {
            if self.decide(path, Relation::Equal, position, other)? {
                return Ok((Some(at), value.clone()));
            }
        }
        match &list.origin {
            Some(place) => {
                let opaque = Opaque::Item(place.clone(), position.clone());
                Ok((None, self.words.opaque(opaque, Type::Int)))
            }
            // Every position of a list that was cleared is noted: this is not reached.
            None => Err(GiveUp::TooLarge("a cleared list has an item of unknown origin").into()),
        }
    }

    fn set_item(
        &mut self,
        path: &mut Path,
        list: &mut List,
        position: &Poly,
        value: Poly,
    ) -> Result<(), Halt> {
        for at in 0..list.items.len() {
            let other = list.items[at].0.clone();
            if self.decide(path, Relation::Equal, position, &other)? {
                list.items[at].1 = value;
                return Ok(());
            }
        }
        list.items.push((position.clone(), value));
        Ok(())
    }

    /// Returns whether a list contains a value: only of a list that at most grew.
    fn contains(&mut self, path: &mut Path, list: &List, value: &Poly) -> Result<Poly, Halt> {
        let length = match &list.origin {
            Some(place) => self.words.opaque(Opaque::Length(place.clone()), Type::Int),
            None => Poly::constant(0),
        };
        let grown = list.high.minus(&length).as_constant();
        let appended = |position: &Poly| {
            position.minus(&length).as_constant().is_some_and(|offset| offset >= 0)
        };
        let only_grew = list.low.as_constant() == Some(0)
            && grown.is_some_and(|grown| grown >= 0)
            && list.items.iter().all(|(position, _)| appended(position));
        if !only_grew {
            let reason = "it asks whether a list contains something after taking from it";
            return Err(GiveUp::TooLarge(reason).into());
        }
        for (_, item) in &list.items {
            if self.decide(path, Relation::Equal, item, value)? {
                return Ok(Poly::constant(1));
            }
        }
        Ok(match &list.origin {
            None => Poly::constant(0),
            Some(place) => {
                let opaque = Opaque::Contains(place.clone(), value.clone());
                self.words.opaque(opaque, Type::Bool)
            }
        })
    }

    /// Returns the entry of a map for a key; it is noted from now on.
    fn entry(&mut self, path: &mut Path, map: &mut Map, key: &Poly) -> Result<usize, Halt> {
        for at in 0..map.entries.len() {
            let other = map.entries[at].0.clone();
            if self.decide(path, Relation::Equal, key, &other)? {
                return Ok(at);
            }
        }
        let value = match map.origin.clone() {
            None => None,
            Some(place) => self.original_entry(path, place, key)?,
        };
        map.entries.push((key.clone(), value));
        Ok(map.entries.len() - 1)
    }

    fn original_entry(
        &mut self,
        path: &mut Path,
        place: Place,
        key: &Poly,
    ) -> Result<Option<Poly>, Halt> {
        let has = self.words.opaque(Opaque::Has(place.clone(), key.clone()), Type::Bool);
        if !self.holds(path, &has)? {
            return Ok(None);
        }
        Ok(Some(self.words.opaque(Opaque::Item(place, key.clone()), Type::Int)))
    }

    fn set_entry(
        &mut self,
        path: &mut Path,
        map: &mut Map,
        object: ObjectRef,
        key: &Poly,
        value: Option<Poly>,
    ) -> Result<(), Halt> {
        if self.measured.contains(&object.global) {
            let at = self.entry(path, map, key)?;
            let change = i32::from(value.is_some()) - i32::from(map.entries[at].1.is_some());
            map.length = Some(self.map_length(map).plus(&Poly::constant(change)));
        }
        for at in 0..map.entries.len() {
            let other = map.entries[at].0.clone();
            if self.decide(path, Relation::Equal, key, &other)? {
                map.entries[at].1 = value;
                return Ok(());
            }
        }
        map.entries.push((key.clone(), value));
        Ok(())
    }

    fn map_length(&mut self, map: &Map) -> Poly {
        match (&map.length, &map.origin) {
            (Some(length), _) => length.clone(),
            (None, Some(place)) => self.words.opaque(Opaque::Length(place.clone()), Type::Int),
            (None, None) => Poly::constant(0),
        }
    }
}

fn number(content: &Content) -> Poly {
    match content {
        Content::Number(number) => number.clone(),
        Content::List(_) | Content::Map(_) => Poly::default(),
    }
}
