//! Random programs of actors: tasks that post others, wait for them and for conditions, and return values.
//!
//! A task posts only tasks with higher numbers, so that programs end. Two actors are of one declaration, so that their fields are
//! elements of arrays.

use std::fmt::Write;

use crate::random::Random;

/// The program with this number.
pub fn actors(number: u64) -> String {
    let mut random = Random::new(number);
    let count = random.within(&(2..=4));
    let tasks = (0..count).map(|number| Task {
        number,
        // Of `solo`, or of one of `pair`.
        solo: random.one_in(2),
        returns: random.one_in(2),
        awaits: random.one_in(4).then(|| random.one_in(2)),
    });
    let tasks: Vec<Task> = tasks.collect();
    let mut text = String::from("shared g = 0;\n");
    for (solo, head, fields) in [
        (true, "actor solo {", "shared x = 0; shared y = 0; list q;"),
        (false, "actor pair(i in 0..2) {", "shared x = 0; shared y = 0; shared a[2] = 0; list q;"),
    ] {
        // A field that is not used is only a warning.
        writeln!(text, "{head}\n    {fields}\n    fn sum(v: int) -> int {{ return v + x; }}")
            .expect("a string");
        for task in tasks.iter().filter(|task| task.solo == solo) {
            let mut author = Author::new(&tasks, Some(task), &mut random);
            let body = author.body();
            let parameter = match task.awaits {
                None => "",
                Some(false) => ", f: future",
                Some(true) => ", f: future int",
            };
            let result = if task.returns { " -> int" } else { "" };
            writeln!(text, "    task t{}(p: int{parameter}){result} {{\n{body}    }}", task.number)
                .expect("a string");
        }
        text.push_str("}\n");
    }
    for thread in 0..random.within(&(1..=2)) {
        let mut author = Author::new(&tasks, None, &mut random);
        writeln!(text, "thread p{thread} {{\n{}}}", author.body()).expect("a string");
    }
    if random.one_in(2) {
        let value = random.below(3);
        writeln!(text, "finally {{ assert solo.x + pair[1].x != {value}; }}").expect("a string");
    }
    text
}

/// What is needed to post a task.
struct Task {
    number: usize,
    solo: bool,
    /// An integer.
    returns: bool,
    /// It has a future as a parameter; whether of an integer.
    awaits: Option<bool>,
}

/// Writes the body of a task or a thread.
struct Author<'a> {
    tasks: &'a [Task],
    task: Option<&'a Task>,
    random: &'a mut Random,
    text: String,
    /// The futures at hand, and whether of an integer.
    futures: Vec<(String, bool)>,
    /// The integers at hand.
    locals: Vec<String>,
    names: usize,
    depth: usize,
    posts: usize,
}

impl<'a> Author<'a> {
    fn new(tasks: &'a [Task], task: Option<&'a Task>, random: &'a mut Random) -> Self {
        let future = task.and_then(|task| task.awaits).map(|of_int| ("f".to_owned(), of_int));
        Self {
            tasks,
            task,
            random,
            text: String::new(),
            futures: future.into_iter().collect(),
            locals: task.map(|_| "p".to_owned()).into_iter().collect(),
            names: 0,
            depth: 0,
            posts: 2,
        }
    }

    fn body(&mut self) -> String {
        for _ in 0..self.random.within(&(1..=3)) {
            self.statement();
        }
        if self.task.is_some_and(|task| task.returns) {
            let value = self.value();
            self.line(&format!("return {value};"));
        }
        std::mem::take(&mut self.text)
    }

    fn line(&mut self, line: &str) {
        let indent = "    ".repeat(self.depth + if self.task.is_some() { 2 } else { 1 });
        writeln!(self.text, "{indent}{line}").expect("a string");
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// An integer that is computed from locals and fields.
    fn value(&mut self) -> String {
        let field = self.field();
        match (self.random.below(5), field) {
            (0, Some(field)) => field,
            (1, Some(_)) => format!("sum({})", self.random.below(2)),
            (2 | 3, _) if !self.locals.is_empty() => self.random.pick(&self.locals).clone(),
            _ => self.random.below(3).to_string(),
        }
    }

    /// A field of the own actor; `None` in a thread.
    fn field(&mut self) -> Option<String> {
        let task = self.task?;
        let fields: &[&str] = if task.solo { &["x", "y"] } else { &["x", "y", "a[0]", "a[i]"] };
        Some((*self.random.pick(fields)).to_owned())
    }

    /// What is assigned to.
    fn target(&mut self) -> String {
        let is_shared = self.random.one_in(4);
        self.field().filter(|_| !is_shared).unwrap_or_else(|| "g".to_owned())
    }

    /// Something that can be posted here, with its arguments, and whether it returns an integer.
    fn posted(&mut self) -> Option<(String, bool)> {
        let first = self.task.map_or(0, |task| task.number + 1);
        let futures = &self.futures;
        let fits = |task: &&Task| {
            task.number >= first
                && task.awaits.is_none_or(|of_int| futures.iter().any(|it| it.1 == of_int))
        };
        let found: Vec<&Task> = self.tasks.iter().filter(fits).collect();
        if found.is_empty() || self.posts == 0 {
            return None;
        }
        self.posts -= 1;
        let task = *self.random.pick(&found);
        let mut arguments = self.value();
        if let Some(of_int) = task.awaits {
            let futures: Vec<_> = self.futures.iter().filter(|it| it.1 == of_int).collect();
            write!(arguments, ", {}", self.random.pick(&futures).0).expect("a string");
        }
        let is_own = self.task.is_some_and(|own| own.solo == task.solo) && self.random.one_in(2);
        let actor = match (is_own, task.solo) {
            (true, _) => String::new(),
            (false, true) => "solo.".to_owned(),
            (false, false) if !self.locals.is_empty() && self.random.one_in(6) => {
                format!("pair[{}].", self.random.pick(&self.locals))
            }
            (false, false) => format!("pair[{}].", self.random.below(2)),
        };
        Some((format!("post {actor}t{}({arguments})", task.number), task.returns))
    }

    fn statement(&mut self) {
        match self.random.below(12) {
            0 | 1 => {
                let (target, value) = (self.target(), self.value());
                self.line(&format!("{target} = {value};"));
            }
            2 => {
                let target = self.target();
                self.line(&format!("{target} += 1;"));
            }
            3 | 4 => match self.posted() {
                Some((post, of_int)) if self.random.one_in(2) => {
                    let name = self.name();
                    self.line(&format!("let {name} = {post};"));
                    self.futures.push((name, of_int));
                }
                Some((post, _)) => self.line(&format!("{post};")),
                None => self.line("skip;"),
            },
            5 | 6 => self.wait(),
            7 => match self.field() {
                Some(field) => {
                    let value = self.random.below(2);
                    let mut condition = format!("{field} == {value}");
                    // Which of two is read depends on the first.
                    if self.random.one_in(2) {
                        let sign = self.random.pick(&["&&", "||"]);
                        let other = self.random.below(2);
                        write!(condition, " {sign} y == {other}").expect("a string");
                    }
                    self.line(&format!("await {condition};"));
                }
                None => self.line("await g <= 1;"),
            },
            8 if self.depth < 1 => {
                let value = self.value();
                self.nested(&format!("if {value} == 1 {{"));
            }
            9 if self.depth < 1 => self.nested("for _k in 0..2 {"),
            10 => {
                let (value, bound) = (self.value(), self.random.below(4));
                self.line(&format!("assert {value} != {bound};"));
            }
            11 if self.task.is_some() => {
                let value = self.value();
                self.line(&format!("push(q, {value});"));
            }
            _ => {
                let (name, value) = (self.name(), self.value());
                self.line(&format!("let {name} = {value};"));
                self.locals.push(name);
            }
        }
    }

    /// Waits for a future, perhaps for its value.
    fn wait(&mut self) {
        if self.random.one_in(4)
            && let Some((post, _)) = self.posted()
        {
            return self.line(&format!("await {post};"));
        }
        if self.futures.is_empty() {
            return self.line("skip;");
        }
        let (future, of_int) = self.random.pick(&self.futures).clone();
        match (of_int, self.random.below(3)) {
            (true, 0) => {
                let target = self.target();
                self.line(&format!("{target} = await {future};"));
            }
            (true, 1) => {
                let name = self.name();
                self.line(&format!("let {name} = await {future};"));
                self.locals.push(name);
            }
            _ => self.line(&format!("await {future};")),
        }
    }

    /// One statement in a block; what it declares is not seen behind it.
    fn nested(&mut self, head: &str) {
        let (futures, locals) = (self.futures.len(), self.locals.len());
        self.line(head);
        self.depth += 1;
        self.statement();
        self.depth -= 1;
        self.line("}");
        self.futures.truncate(futures);
        self.locals.truncate(locals);
    }
}
