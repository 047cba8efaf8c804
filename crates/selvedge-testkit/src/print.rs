//! Sketches as `.sel` text. Only what is used is declared.

use std::collections::BTreeSet;
use std::fmt;

use crate::sketch::{
    Alternative, Bits, Comparison, GhostOp, Guard, Index, Mutex, Op, Place, Share, Sketch, Test,
    ThreadSketch, Value,
};

/// Routines that operations can call: name and text.
const ROUTINES: [(&str, &str); 5] = [
    (
        "look",
        "fn look(k: int) -> int {\n    if k > 0 {\n        return x0;\n    }\n    return k;\n}\n",
    ),
    ("poke", "proc poke(k: int) {\n    x0 = k;\n}\n"),
    ("peek", "fn peek(k: int) -> int {\n    return a[k];\n}\n"),
    (
        "chain",
        "proc chain(k: int) {\n    if k > 0 {\n        spawn chain(k - 1);\n    } else {\n        x0 = 1;\n    \
         }\n}\n",
    ),
    ("bump", "atomic proc bump(k: int) {\n    x0 = x0 + k;\n}\n"),
];

/// Everything that threads can share: name and declaration, which depends on the program for two of them.
const OBJECTS: [(&str, &str); 31] = [
    ("x0", "shared x0 = 0;"),
    ("x1", "shared x1 = 0;"),
    ("x2", "shared x2 = 0;"),
    ("x3", "shared x3 = 0;"),
    ("a", "of as many elements as the program says"),
    ("g", "shared g[2][2] = [[0, 1], [0, 0]];"),
    ("flag", "shared atomic flag = false;"),
    ("m0", "mutex m0;"),
    ("m1", "mutex m1;"),
    ("m2", "mutex m2;"),
    ("fork", "mutex fork[2];"),
    ("rw", "rwlock rw;"),
    ("rw1", "rwlock rw1;"),
    ("c", "cond c;"),
    ("c1", "cond c1;"),
    ("s", "semaphore s = 0;"),
    ("s1", "semaphore s1 = 1;"),
    ("top", "semaphore top = 2147483646;"),
    ("q", "list q = [1];"),
    ("q1", "list q1;"),
    ("table", "map table = {1: 2};"),
    ("table1", "map table1 = {0: 1, 2: 0};"),
    ("b", "for as many threads as the program says"),
    ("b1", "barrier b1(2);"),
    ("ch0", "channel ch0(1);"),
    ("ch1", "channel ch1(2);"),
    ("lossy", "lossy channel lossy(1);"),
    ("mixed", "reordering channel mixed(2);"),
    ("gh", "ghost gh = 0;"),
    ("gc", "ghost gc = 0;"),
    ("ga", "ghost ga[2] = 0;"),
];

/// What properties say about ghosts that threads update.
const ABOUT_GHOSTS: [(&str, &str); 3] =
    [("gh", "gh != 2"), ("gc", "gc <= 1"), ("ga", "ga[1] <= 0")];

impl fmt::Display for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer { elements: self.elements.max(2), ..Printer::default() };
        for (number, thread) in self.threads.iter().enumerate() {
            printer.thread(number, thread);
        }
        for (number, body) in self.tasks.iter().enumerate() {
            let name = format!("task{number}");
            // Only a thread or a task with a lower number spawns it.
            if identifiers(&printer.text).contains(name.as_str()) {
                printer.routine(&format!("proc {name}(k: int)"), "k", body);
            }
        }
        if let Some(test) = &self.always {
            let (holds, test) = (test.holds_at_first(), printer.test(test));
            printer.line(&if holds {
                format!("always {test};")
            } else {
                format!("always !({test});")
            });
            for (name, condition) in ABOUT_GHOSTS {
                if identifiers(&printer.text).contains(name) {
                    printer.line(&format!("always {condition};"));
                }
            }
        }
        if let Some(test) = &self.finally {
            let updated = identifiers(&printer.text);
            let about = ABOUT_GHOSTS.iter().filter(|(name, _)| updated.contains(name));
            let about: Vec<String> =
                about.map(|(_, condition)| format!("assert {condition};")).collect();
            printer.open("finally");
            about.iter().for_each(|line| printer.line(line));
            // The register does not exist there; the generator uses variables only.
            let test = printer.test(test);
            printer.line(&format!("assert {test};"));
            printer.close();
        }
        let mut used = identifiers(&printer.text);
        for (name, text) in ROUTINES.iter().filter(|(name, _)| used.contains(name)) {
            debug_assert!(text.contains(name));
            f.write_str(text)?;
        }
        for (_, text) in ROUTINES {
            if ROUTINES.iter().any(|(name, other)| *other == text && used.contains(name)) {
                used.extend(identifiers(text));
            }
        }
        if self.unused > 0 {
            let count = self.unused;
            writeln!(f, "shared unused[{count}] = 0;\nmutex spare[{count}];")?;
        }
        for (name, declaration) in OBJECTS.iter().filter(|(name, _)| used.contains(name)) {
            match *name {
                "a" => writeln!(f, "shared a[{}] = 0;", printer.elements)?,
                "b" => writeln!(f, "barrier b({});", self.parties)?,
                _ => writeln!(f, "{declaration}")?,
            }
        }
        f.write_str(&printer.text)
    }
}

/// All names that occur in `text`.
fn identifiers(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect()
}

#[derive(Default)]
struct Printer {
    text: String,
    depth: usize,
    /// How many names were made up: each is used once, so that none hides another.
    names: usize,
    /// How many elements the array `a` has.
    elements: usize,
}

impl Printer {
    fn thread(&mut self, number: usize, thread: &ThreadSketch) {
        let daemon = if thread.daemon { "daemon " } else { "" };
        self.routine(&format!("{daemon}thread p{number}"), "0", &thread.body);
    }

    /// A body with its register, if it uses it.
    fn routine(&mut self, head: &str, register: &str, body: &[Op]) {
        self.open(head);
        let start = self.text.len();
        self.ops(body);
        let used = identifiers(&self.text[start..]);
        let (has_register, keeps) = (used.contains("r"), used.contains("k"));
        if keeps {
            self.text.insert_str(start, "    let k[2] = [0, 1];\n");
        }
        if has_register {
            self.text.insert_str(start, &format!("    let r = {register};\n"));
        }
        self.close();
    }

    fn ops(&mut self, ops: &[Op]) {
        for op in ops {
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Read(place) => self.line(&format!("r = {};", self.place(*place))),
            Op::AddTo(place) => self.line(&format!("r = r + {};", self.place(*place))),
            Op::Write(place, value) => {
                self.line(&format!("{} = {};", self.place(*place), self.value(*value)));
            }
            Op::Increment(place) => self.line(&format!("{} += 1;", self.place(*place))),
            Op::FetchAdd(place, d) => {
                self.line(&format!("r = fetch_add({}, {d});", self.place(*place)));
            }
            Op::Exchange(place, value) => {
                let (place, value) = (self.place(*place), self.value(*value));
                self.line(&format!("r = exchange({place}, {value});"));
            }
            Op::CompareExchange(place, old, new, body) => {
                let place = self.place(*place);
                self.block(&format!("if compare_exchange({place}, {old}, {new})"), body);
            }
            Op::TestAndSet(body) => self.block("if !exchange(flag, true)", body),
            Op::If(test, then, otherwise) => self.branch(test, then, otherwise),
            Op::Repeat(times, test, body) => self.repeat(*times, test, body),
            Op::ReturnIf(test) => self.line(&format!("if {} {{ return; }}", self.test(test))),
            Op::Return => self.line("return;"),
            Op::Else(op, otherwise) => {
                self.op(op);
                self.otherwise(otherwise);
            }
            Op::CallFunction => self.line("r = look(r);"),
            Op::CallProcedure { atomic, value } => {
                let name = if *atomic { "bump" } else { "poke" };
                self.line(&format!("{name}({});", self.value(*value)));
            }
            Op::Send(to, tag, value) => {
                self.line(&format!("send p{to}({tag}, {});", self.value(*value)));
            }
            Op::Monitor(to, tag, value) => {
                self.line(&format!("monitor p{to}({tag}, {});", self.value(*value)));
            }
            Op::Receive(alternatives, after) => self.receive(alternatives, after.as_deref()),
            Op::Spawn { task, value, mail, body, join } => {
                self.spawn(*task, *value, *mail, body, *join);
            }
            Op::SpawnChain(depth) => self.line(&format!("spawn chain({depth});")),
            Op::JoinThread(thread) => self.line(&format!("join p{thread};")),
            Op::Atomic(body) => self.block("atomic", body),
            Op::AwaitEach(value) => {
                let index = self.name("i");
                self.open("atomic");
                let elements = self.elements;
                self.line(&format!(
                    "for {index} in 0..{elements} {{ await a[{index}] <= {value}; }}"
                ));
                self.close();
            }
            Op::AwaitCalls(value) => {
                self.line(&format!("await peek(0) <= {value} && peek(1) <= {value};"));
            }
            Op::Keep { index, adds } => {
                let sign = if *adds { "+=" } else { "=" };
                self.line(&format!("k[{}] {sign} r;", show_index(*index, 2)));
            }
            Op::Ghost(ghost) => {
                self.line(&match ghost {
                    GhostOp::Keep => "gh = r;".to_owned(),
                    GhostOp::Append => "gh = (gh & 7) * 2 + (r & 1);".to_owned(),
                    GhostOp::CountUp => "gc += 1;".to_owned(),
                    GhostOp::CountDown => "gc -= 1;".to_owned(),
                    GhostOp::Copy => "ga[r & 1] = gc;".to_owned(),
                    GhostOp::AssertKept(value) => format!("assert gh != {value};"),
                    GhostOp::AssertCount(value) => format!("assert gc <= {value};"),
                    GhostOp::AssertMixed(value) => format!("assert gc == {value} || x0 != ga[1];"),
                });
            }
            Op::SendTo(channel, value) => {
                self.line(&format!("send {}({});", channel.name(), self.value(*value)));
            }
            Op::ReceiveFrom(channel) => {
                self.line(&format!("r = receive({});", channel.name()));
            }
            Op::Scan(test) => self.line(&format!("await scan {};", self.test(test))),
            Op::Await(test) => self.line(&format!("await {};", self.test(test))),
            Op::Assume(test) => self.line(&format!("assume {};", self.test(test))),
            Op::Assert(test) => self.line(&format!("assert {};", self.test(test))),
            Op::Choose(n) => self.line(&format!("r = choose(0..{n});")),
            Op::Yield => self.line("yield;"),
            Op::Second(op) => self.synchronisation_or_container(op, "1"),
            _ => self.synchronisation_or_container(op, ""),
        }
    }

    /// An operation on an object whose name ends with `nth`, where there are two of the kind.
    fn synchronisation_or_container(&mut self, op: &Op, nth: &str) {
        match op {
            Op::Locked(mutex, body) => self.block(&format!("lock {}", show_mutex(*mutex)), body),
            Op::LockForGood(mutex) => self.line(&format!("lock {};", show_mutex(*mutex))),
            Op::Unlock(mutex) => self.line(&format!("unlock {};", show_mutex(*mutex))),
            Op::TryLocked(mutex, body) => self.try_locked(*mutex, body),
            Op::Shared(share, body) => {
                self.block(&format!("{}_lock rw{nth}", show_share(*share)), body);
            }
            Op::TryShared(share, body) => {
                let share = show_share(*share);
                self.open(&format!("if try_{share}_lock(rw{nth})"));
                self.ops(body);
                self.line(&format!("{share}_unlock rw{nth};"));
                self.close();
            }
            Op::Wait(test, body) => {
                self.open("lock m0");
                match test {
                    Some(test) => {
                        self.line(&format!("if {} {{ wait(c{nth}, m0); }}", self.test(test)));
                    }
                    None => self.line(&format!("wait(c{nth}, m0);")),
                }
                self.ops(body);
                self.close();
            }
            Op::WaitOnly => self.line(&format!("wait(c{nth}, m0);")),
            Op::Signal => self.line(&format!("signal(c{nth});")),
            Op::Broadcast => self.line(&format!("broadcast(c{nth});")),
            Op::Up => self.line(&format!("up(s{nth});")),
            Op::UpToTop => self.line("up(top);"),
            Op::Down => self.line(&format!("down(s{nth});")),
            Op::TryDown(body) => self.block(&format!("if try_down(s{nth})"), body),
            Op::Arrive => self.line(&format!("arrive(b{nth});")),
            Op::Push(value) => self.line(&format!("push(q{nth}, {});", self.value(*value))),
            Op::PopFront { checked: true } => {
                self.line(&format!("if len(q{nth}) > 0 {{ r = pop_front(q{nth}); }}"))
            }
            Op::PopFront { checked: false } => self.line(&format!("r = pop_front(q{nth});")),
            Op::Contains(value, body) => self.block(&format!("if contains(q{nth}, {value})"), body),
            Op::Insert(key, value) => {
                self.line(&format!("table{nth}[{key}] = {};", self.value(*value)));
            }
            Op::Remove(key) => self.line(&format!("remove(table{nth}, {key});")),
            Op::Get(key) => self.line(&format!("r = get(table{nth}, {key}, 0);")),
            Op::Lookup(key) => self.line(&format!("r = table{nth}[{key}];")),
            Op::Has(key, body) => self.block(&format!("if has(table{nth}, {key})"), body),
            _ => unreachable!("internal error: `op` prints all others"),
        }
    }

    /// The index of `fork[…]` must be the same when it is given back, whatever the body does to `r`.
    fn try_locked(&mut self, mutex: Mutex, body: &[Op]) {
        let (lock, unlock) = match mutex {
            Mutex::Single(_) => (show_mutex(mutex), show_mutex(mutex)),
            Mutex::Computed => {
                let index = self.name("i");
                self.line(&format!("let {index} = abs(r) % 2;"));
                (format!("fork[{index}]"), format!("fork[{index}]"))
            }
        };
        self.open(&format!("if try_lock({lock})"));
        self.ops(body);
        self.line(&format!("unlock {unlock};"));
        self.close();
    }

    fn branch(&mut self, test: &Test, then: &[Op], otherwise: &[Op]) {
        self.open(&format!("if {}", self.test(test)));
        self.ops(then);
        if !otherwise.is_empty() {
            self.depth -= 1;
            self.line("} else {");
            self.depth += 1;
            self.ops(otherwise);
        }
        self.close();
    }

    /// What is done if the condition of the block that was just closed is false.
    fn otherwise(&mut self, body: &[Op]) {
        let closed = self.text.trim_end().len();
        self.text.truncate(closed);
        self.text.push_str(" else {\n");
        self.depth += 1;
        self.ops(body);
        self.close();
    }

    fn repeat(&mut self, times: u8, test: &Option<Test>, body: &[Op]) {
        let index = self.name("i");
        self.open(&format!("for {index} in 0..{times}"));
        if let Some(test) = test {
            self.line(&format!("if {} {{ break; }}", self.test(test)));
        }
        self.ops(body);
        self.close();
    }

    fn receive(&mut self, alternatives: &[Alternative], after: Option<&[Op]>) {
        self.open("receive");
        for alternative in alternatives {
            let value = self.name("v");
            let tag = alternative.tag.map_or("_".to_owned(), |tag| tag.to_string());
            let guard = match alternative.guard {
                Guard::None => String::new(),
                Guard::Positive => format!(" if {value} > 0"),
                Guard::Divides => format!(" if 6 / {value} > 2"),
            };
            self.open(&format!("({tag}, let {value}){guard} =>"));
            self.line(&format!("r = {value};"));
            self.ops(&alternative.body);
            self.close();
        }
        if let Some(after) = after {
            self.block("after =>", after);
        }
        self.close();
    }

    fn spawn(&mut self, task: u8, value: Value, mail: bool, body: &[Op], join: bool) {
        let value = self.value(value);
        if mail || join {
            let handle = self.name("t");
            self.line(&format!("let {handle} = spawn task{task}({value});"));
            if mail {
                self.line(&format!("send {handle}(1, 1);"));
            }
            self.ops(body);
            if join {
                self.line(&format!("join {handle};"));
            }
        } else {
            self.line(&format!("spawn task{task}({value});"));
            self.ops(body);
        }
    }

    fn place(&self, place: Place) -> String {
        match place {
            Place::Scalar(number) => format!("x{number}"),
            Place::Element(index) => format!("a[{}]", show_index(index, self.elements)),
            Place::Grid(row, index) => format!("g[{row}][{}]", show_index(index, 2)),
        }
    }

    fn value(&self, value: Value) -> String {
        match value {
            Value::Fixed(value) => value.to_string(),
            Value::Register => "r".to_owned(),
            Value::Next => "r + 1".to_owned(),
            Value::Square => "r * r".to_owned(),
            Value::Negated => "-r".to_owned(),
            Value::Quotient => "7 / r".to_owned(),
            Value::Bits(bits) => bits_text(bits).to_owned(),
            Value::Kept(index) => format!("k[{}]", show_index(index, 2)),
            Value::Of(place) => self.place(place),
        }
    }

    fn test(&self, test: &Test) -> String {
        match test {
            Test::Register(comparison, value) => format!("r {} {value}", sign(*comparison)),
            Test::Variable(place, comparison, value) => {
                format!("{} {} {value}", self.place(*place), sign(*comparison))
            }
            Test::Sum(a, b, comparison, value) => {
                let (a, b) = (self.place(*a), self.place(*b));
                format!("{a} + {b} {} {value}", sign(*comparison))
            }
            Test::Length(comparison, value) => format!("len(q) {} {value}", sign(*comparison)),
            Test::Entry(key, comparison, value) => {
                format!("get(table, {key}, 0) {} {value}", sign(*comparison))
            }
            Test::Both(a, b) => format!("({} && {})", self.test(a), self.test(b)),
            Test::Either(a, b) => format!("({} || {})", self.test(a), self.test(b)),
        }
    }

    fn block(&mut self, head: &str, body: &[Op]) {
        self.open(head);
        self.ops(body);
        self.close();
    }

    fn open(&mut self, head: &str) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    fn line(&mut self, line: &str) {
        self.text.extend(std::iter::repeat_n("    ", self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }
}

fn show_index(index: Index, elements: usize) -> String {
    match index {
        Index::Fixed(index) => index.to_string(),
        Index::Computed => format!("abs(r) % {elements}"),
        Index::Unchecked => "r".to_owned(),
    }
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "==",
        Comparison::NotEqual => "!=",
        Comparison::AtMost => "<=",
    }
}

fn show_mutex(mutex: Mutex) -> String {
    match mutex {
        Mutex::Single(number) => format!("m{number}"),
        Mutex::Computed => "fork[abs(r) % 2]".to_owned(),
    }
}

fn show_share(share: Share) -> &'static str {
    match share {
        Share::Read => "read",
        Share::Write => "write",
    }
}

fn bits_text(bits: Bits) -> &'static str {
    match bits {
        Bits::And => "r & 3",
        Bits::Or => "r | 2",
        Bits::Xor => "r ^ 3",
        Bits::Complement => "~r",
        Bits::Bit => "1 << r",
        Bits::Left => "r << 30",
        Bits::Right => "r >> 1",
    }
}
