//! A program with its constants: what is declared, and where it is in the state.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::arithmetic;
use super::parser::parse;
use super::state::{Object, Value};
use super::syntax::{
    Block, Expr, ExprKind, Finally, Initial, ObjectDecl, ObjectKind, Routine, Source, ThreadDecl,
};

/// A program that can be run.
#[derive(Debug)]
pub struct Program {
    pub(super) constants: BTreeMap<String, Value>,
    pub(super) arrays: BTreeMap<String, Array>,
    pub(super) routines: BTreeMap<String, Rc<Routine>>,
    /// How many actors there are, if they have indices.
    pub(super) actors: BTreeMap<String, Option<i32>>,
    /// The threads that start at the beginning, in the order of the text.
    pub(super) threads: Vec<Started>,
    pub(super) finally: Option<Finally>,
    pub(super) invariants: Vec<Block>,
    /// The ghosts that no property reads.
    pub(super) unread: BTreeSet<String>,
    /// The initial state of everything that is shared.
    pub(super) objects: Vec<Object>,
}

/// Where the elements of something declared are, in row-major order. A scalar has no dimensions.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) kind: ObjectKind,
    pub(super) first: usize,
    pub(super) dimensions: Vec<i32>,
    /// Of a field of an actor: how many of the dimensions are its own.
    own: usize,
}

impl Array {
    /// The number of elements.
    pub(super) fn len(&self) -> usize {
        self.dimensions.iter().map(|&size| size as usize).product()
    }

    /// Where the element with these indices is; `None` if one of them is out of bounds.
    pub(super) fn element(&self, indices: &[i32]) -> Option<usize> {
        let mut offset = 0;
        for (&index, &size) in indices.iter().zip(&self.dimensions) {
            if !(0..size).contains(&index) {
                return None;
            }
            offset = offset * size as usize + index as usize;
        }
        Some(self.first + offset)
    }
}

/// A thread that starts at the beginning.
#[derive(Clone, Debug)]
pub(super) struct Started {
    /// Its name as the user would write it.
    pub(super) name: String,
    pub(super) declared: String,
    pub(super) daemon: bool,
    /// The name and the value of its index, if it is replicated.
    pub(super) index: Option<(String, i32)>,
    pub(super) body: Block,
}

impl Program {
    /// Reads a program and sets its constants to these values.
    ///
    /// # Errors
    /// What is not understood.
    pub fn new(text: &str, overridden: &[(String, i64)]) -> Result<Self, String> {
        let mut source = parse(text)?;
        expand_records(&mut source)?;
        let mut loader = Loader { source: &source, overridden, constants: BTreeMap::new() };
        for (name, number) in &source.members {
            loader.constants.insert(name.clone(), Value::Member(name.clone(), *number));
        }
        for (name, ..) in &source.tables {
            loader.constant(name)?;
        }
        for (name, _) in &source.constants {
            loader.constant(name)?;
        }
        let mut arrays = BTreeMap::new();
        let mut objects = Vec::new();
        for declaration in &source.objects {
            let dimensions = loader.dimensions(declaration)?;
            let (kind, first, own) = (declaration.kind, objects.len(), declaration.own);
            let array = Array { kind, first, dimensions, own };
            loader.initialise(declaration, &array, &mut objects)?;
            arrays.insert(declaration.name.clone(), array);
        }
        let mut actors = BTreeMap::new();
        for (name, count) in &source.actors {
            let count = count.as_ref().map(|count| loader.value(count)).transpose()?;
            actors.insert(name.clone(), count.map(|count| count.int()));
        }
        let mut threads = Vec::new();
        for declaration in &source.threads {
            loader.start(declaration, &mut threads)?;
        }
        let constants = loader.constants;
        let routines = source.routines.iter();
        let routines = routines.map(|routine| (routine.name.clone(), Rc::new(routine.clone())));
        Ok(Self {
            constants,
            arrays,
            routines: routines.collect(),
            actors,
            threads,
            finally: source.finally.clone(),
            invariants: source.invariants.clone(),
            unread: source.unread.clone(),
            objects,
        })
    }

    /// Whether a thread with this name starts at the beginning and is a daemon.
    pub(super) fn is_daemon(&self, name: &str) -> bool {
        let is_monitor = name.rsplit('/').next().is_some_and(|last| last.starts_with("monitor#"));
        is_monitor || self.threads.iter().any(|thread| thread.daemon && thread.name == name)
    }

    /// Whether an object is a ghost: an access to it belongs to the step before.
    pub(super) fn is_ghost(&self, object: usize) -> bool {
        let mut ghosts = self.arrays.values().filter(|array| array.kind == ObjectKind::Ghost);
        ghosts.any(|array| (array.first..array.first + array.len()).contains(&object))
    }

    /// The variables, lists and maps, by the names that a program would use, and where they are.
    pub(super) fn values(&self) -> Vec<(String, usize)> {
        let mut values = Vec::new();
        for (name, array) in &self.arrays {
            // What is left out has no value.
            if self.unread.contains(name) {
                continue;
            }
            let has_value = matches!(
                array.kind,
                ObjectKind::Variable | ObjectKind::Ghost | ObjectKind::List | ObjectKind::Map
            );
            if !has_value {
                continue;
            }
            for offset in 0..array.len() {
                let (mut name, mut field) = match name.split_once('.') {
                    Some((record, field)) => (record.to_owned(), format!(".{field}")),
                    None => (name.clone(), String::new()),
                };
                let outer = array.dimensions.len() - array.own;
                let mut below = array.len();
                for (number, &size) in array.dimensions.iter().enumerate() {
                    below /= size as usize;
                    let part = if number < outer { &mut name } else { &mut field };
                    *part += &format!("[{}]", offset / below % size as usize);
                }
                values.push((name + &field, array.first + offset));
            }
        }
        values
    }
}

struct Loader<'a> {
    source: &'a Source,
    overridden: &'a [(String, i64)],
    constants: BTreeMap<String, Value>,
}

impl Loader<'_> {
    /// Declarations may appear in any order, so a constant is computed when it is first needed.
    fn constant(&mut self, name: &str) -> Result<Value, String> {
        if let Some(value) = self.constants.get(name) {
            return Ok(value.clone());
        }
        if let Some((_, size, initial)) = self.source.tables.iter().find(|it| it.0 == name) {
            let size = self.value(size)?.int() as usize;
            let elements: Result<Vec<Value>, String> = match initial {
                Initial::All(value) => (0..size).map(|_| self.value(value)).collect(),
                Initial::List(items) => items
                    .iter()
                    .map(|item| match item {
                        Initial::All(value) => self.value(value),
                        _ => Err("a constant array of arrays".to_owned()),
                    })
                    .collect(),
                _ => Err("a constant array that is a map".to_owned()),
            };
            let value = Value::Table(elements?);
            self.constants.insert(name.to_owned(), value.clone());
            return Ok(value);
        }
        let Some((_, expr)) = self.source.constants.iter().find(|(other, _)| other == name) else {
            return Err(format!("`{name}` is not a constant"));
        };
        let mut value = self.value(expr)?;
        if let Some(&(_, other)) = self.overridden.iter().find(|(other, _)| other == name) {
            value = match value {
                Value::Bool(_) => Value::Bool(other != 0),
                _ => Value::Int(i32::try_from(other).map_err(|error| error.to_string())?),
            };
        }
        self.constants.insert(name.to_owned(), value.clone());
        Ok(value)
    }

    /// The value of a constant expression.
    fn value(&mut self, expr: &Expr) -> Result<Value, String> {
        let faulty = |_| format!("line {}: this constant has no value", expr.line);
        Ok(match &expr.kind {
            ExprKind::Int(value) => Value::Int(*value),
            ExprKind::Bool(value) => Value::Bool(*value),
            ExprKind::Place(place) if place.indices.is_empty() => self.constant(&place.name)?,
            ExprKind::Place(place) => {
                let Value::Table(elements) = self.constant(&place.name)? else {
                    return Err(format!("line {}: an index of something else", expr.line));
                };
                let index = self.value(&place.indices[0])?.int();
                let element = usize::try_from(index).ok().and_then(|at| elements.get(at));
                element.cloned().ok_or(format!("line {}: no such element", expr.line))?
            }
            ExprKind::Not(inner) => Value::Bool(!self.value(inner)?.bool()),
            ExprKind::Minus(inner) => {
                arithmetic::minus(self.value(inner)?.int()).map_err(faulty)?
            }
            ExprKind::Complement(inner) => {
                arithmetic::complement(self.value(inner)?.int()).map_err(faulty)?
            }
            ExprKind::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                arithmetic::binary(*operator, &left, &right).map_err(faulty)?
            }
            ExprKind::And(left, right) => {
                Value::Bool(self.value(left)?.bool() && self.value(right)?.bool())
            }
            ExprKind::Or(left, right) => {
                Value::Bool(self.value(left)?.bool() || self.value(right)?.bool())
            }
            ExprKind::If(condition, then, otherwise) => {
                if self.value(condition)?.bool() {
                    self.value(then)?
                } else {
                    self.value(otherwise)?
                }
            }
            ExprKind::Call(name, arguments) if name == "len" => self.length(arguments)?,
            ExprKind::Call(name, arguments) => {
                let values: Result<Vec<Value>, String> =
                    arguments.iter().map(|argument| self.value(argument)).collect();
                arithmetic::call(name, &values?)
                    .ok_or_else(|| format!("line {}: `{name}` is not constant", expr.line))?
                    .map_err(faulty)?
            }
            _ => return Err(format!("line {}: this is not constant", expr.line)),
        })
    }

    fn length(&mut self, arguments: &[Expr]) -> Result<Value, String> {
        let [Expr { kind: ExprKind::Place(place), line }] = arguments else {
            return Err("`len` of something that is no array".to_owned());
        };
        if self.source.tables.iter().any(|it| it.0 == place.name) {
            let Value::Table(elements) = self.constant(&place.name)? else { unreachable!() };
            return Ok(Value::Int(elements.len() as i32));
        }
        let declared = self.source.objects.iter().find(|object| object.name == place.name);
        let dimensions = self.dimensions(declared.ok_or("`len` of something unknown")?)?;
        let size = dimensions.get(place.indices.len());
        size.map(|&size| Value::Int(size)).ok_or(format!("line {line}: `len` of an element"))
    }

    fn dimensions(&mut self, declaration: &ObjectDecl) -> Result<Vec<i32>, String> {
        declaration.dimensions.iter().map(|size| Ok(self.value(size)?.int())).collect()
    }

    fn initialise(
        &mut self,
        declaration: &ObjectDecl,
        array: &Array,
        objects: &mut Vec<Object>,
    ) -> Result<(), String> {
        // A list of initial values has one for each element, in the same order; that of a single list or map is its content.
        let mut leaves = Vec::new();
        flatten(&declaration.initial, array.dimensions.len(), &mut leaves);
        for offset in 0..array.len() {
            let initial = if leaves.len() == 1 { leaves[0] } else { leaves[offset] };
            objects.push(self.object(declaration.kind, initial)?);
        }
        Ok(())
    }

    fn object(&mut self, kind: ObjectKind, initial: &Initial) -> Result<Object, String> {
        Ok(match (kind, initial) {
            (ObjectKind::Variable | ObjectKind::Ghost, Initial::All(value)) => {
                Object::Variable(self.value(value)?)
            }
            (ObjectKind::Semaphore, Initial::All(value)) => {
                Object::Semaphore(self.value(value)?.int())
            }
            (ObjectKind::Barrier, Initial::All(value)) => {
                Object::Barrier { parties: self.value(value)?.int(), arrived: 0, opened: 0 }
            }
            (ObjectKind::Channel { lossy, reordering }, Initial::All(value)) => {
                let capacity = self.value(value)?.int();
                Object::Channel { capacity, lossy, reordering, values: Vec::new() }
            }
            (ObjectKind::Mutex, Initial::None) => Object::Mutex(None),
            (ObjectKind::RwLock, Initial::None) => {
                Object::RwLock { writer: None, readers: Default::default() }
            }
            (ObjectKind::Cond, Initial::None) => Object::Cond(Default::default()),
            (ObjectKind::List, Initial::None) => Object::List(Vec::new()),
            (ObjectKind::List, Initial::List(items)) => {
                let mut values = Vec::new();
                for item in items {
                    let Initial::All(item) = item else { return Err("a list of lists".to_owned()) };
                    values.push(self.value(item)?.int());
                }
                Object::List(values)
            }
            (ObjectKind::Map, Initial::None) => Object::Map(BTreeMap::new()),
            (ObjectKind::Map, Initial::Map(entries)) => {
                let mut map = BTreeMap::new();
                for (key, value) in entries {
                    map.insert(self.value(key)?.int(), self.value(value)?.int());
                }
                Object::Map(map)
            }
            _ => return Err(format!("an initial value that {kind:?} does not have")),
        })
    }

    fn start(
        &mut self,
        declaration: &ThreadDecl,
        threads: &mut Vec<Started>,
    ) -> Result<(), String> {
        let started = |name: String, index| Started {
            name,
            declared: declaration.name.clone(),
            daemon: declaration.daemon,
            index,
            body: Rc::clone(&declaration.body),
        };
        let Some((index, low, high)) = &declaration.range else {
            threads.push(started(declaration.name.clone(), None));
            return Ok(());
        };
        for value in self.value(low)?.int()..self.value(high)?.int() {
            let name = format!("{}[{value}]", declaration.name);
            threads.push(started(name, Some((index.clone(), value))));
        }
        Ok(())
    }
}

/// The initial values of the elements of an array with so many dimensions.
fn flatten<'a>(initial: &'a Initial, dimensions: usize, leaves: &mut Vec<&'a Initial>) {
    match initial {
        Initial::List(items) if dimensions > 0 => {
            items.iter().for_each(|item| flatten(item, dimensions - 1, leaves));
        }
        _ => leaves.push(initial),
    }
}

/// A variable that is a record is a variable for each field.
fn expand_records(source: &mut Source) -> Result<(), String> {
    for (name, dimensions, record) in std::mem::take(&mut source.of_records) {
        let found = source.records.iter().find(|(other, _)| *other == record);
        let (_, fields) = found.ok_or(format!("what is {record}?"))?;
        for (field, value) in fields {
            source.objects.push(ObjectDecl {
                kind: ObjectKind::Variable,
                name: format!("{name}.{field}"),
                dimensions: dimensions.clone(),
                initial: Initial::All(value.clone()),
                own: 0,
            });
        }
    }
    Ok(())
}
