//! Random sets of atomic blocks, and programs made of them that differ in who runs what, and in the values at
//! the start.

use selvedge_testkit::Random;

/// What the blocks are made of, besides variables, branches and sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Arithmetic,
    Arrays,
    Spawning,
    Asserting,
    Waiting,
    Containers,
    /// Named blocks in threads, with local variables that are used later.
    Blocks,
    /// Many threads that mostly add, up to where integers end; half of them in blocks without a name.
    Counting,
}

/// A set of blocks.
pub(crate) struct Tasks {
    kind: Kind,
    /// The atomic procedures, or the threads with their blocks.
    text: String,
    procedures: usize,
}

impl Tasks {
    pub(crate) fn new(kind: Kind, random: &mut Random) -> Self {
        let mut writer = Writer { random, kind, names: &["x", "y", "z", "v"], temporaries: 0 };
        if kind == Kind::Blocks {
            return Self { kind, text: writer.threads(), procedures: 0 };
        }
        let mut text = String::new();
        if kind == Kind::Counting {
            let procedures = 2 + writer.random.below(2);
            for number in 0..procedures {
                let body = writer.counting();
                text.push_str(&format!("atomic proc p{number}(v: int) {{ {body}}}\n"));
            }
            return Self { kind, text, procedures };
        }
        let procedures = 3 + writer.random.below(2);
        for number in 0..procedures {
            let wait = match kind {
                Kind::Waiting if writer.random.one_in(3) => {
                    format!("await {}; ", writer.condition())
                }
                _ => String::new(),
            };
            let body = writer.statements(kind == Kind::Spawning);
            text.push_str(&format!("atomic proc p{number}(v: int) {{ {wait}{body}}}\n"));
        }
        if kind == Kind::Spawning {
            let body = writer.statements(false);
            text.push_str(&format!("atomic proc task(v: int) {{ {body}}}\n"));
        }
        Self { kind, text, procedures }
    }

    /// A program of these blocks.
    pub(crate) fn program(&self, random: &mut Random) -> String {
        let mut text = String::new();
        for name in ["x", "y", "z"] {
            text.push_str(&format!("shared {name} = {};\n", number(random)));
        }
        let [a, b] = [(); 2].map(|()| number(random));
        text.push_str(&format!("shared a[2] = [{a}, {b}];\n"));
        if self.kind == Kind::Containers {
            let filled = ["list q;\nmap m;\n", "list q = [1];\nmap m = {0: 1};\n"];
            text.push_str(filled[random.below(2)]);
        }
        if self.kind == Kind::Blocks {
            let k = number(random);
            return format!("{text}const K = {k};\n{}", self.text);
        }
        text.push_str(&self.text);
        if self.kind == Kind::Counting {
            return text + &self.wide(random);
        }
        let threads = 2 + random.below(3);
        let mut spare = 6 - threads;
        for thread in 0..threads {
            let more = random.below(3).min(spare);
            spare -= more;
            let call = |_| format!("p{}({}); ", random.below(self.procedures), number(random));
            let body: String = (0..=more).map(call).collect();
            text.push_str(&format!("thread t{thread} {{ {body}}}\n"));
        }
        text
    }
}

impl Tasks {
    /// Four to seven threads with one block each, and one of two.
    fn wide(&self, random: &mut Random) -> String {
        let mut text = String::new();
        for thread in 0..4 + random.below(4) {
            let v = LARGE[random.below(LARGE.len())];
            let (block, name) = (random.below(self.procedures), ["x", "y"][random.below(2)]);
            let body = match random.below(4) {
                0 => format!("let v = {v}; atomic {{ {name} = {name} + v; }}"),
                1 => format!("let k = {name}; atomic {{ x = x + k; }}"),
                _ => format!("p{block}({v});"),
            };
            let more = if thread == 0 { " p0(1);" } else { "" };
            text.push_str(&format!("thread t{thread} {{ {body}{more} }}\n"));
        }
        text
    }
}

struct Writer<'r> {
    random: &'r mut Random,
    kind: Kind,
    /// What can be read.
    names: &'static [&'static str],
    temporaries: usize,
}

impl Writer<'_> {
    /// Three threads with one or two blocks each.
    fn threads(&mut self) -> String {
        self.names = &["x", "y", "z", "k"];
        let mut text = String::new();
        for thread in 0..3 {
            let mut body = String::new();
            for block in 0..=self.random.below(2) {
                let keep = if self.random.one_in(2) { "k = x; " } else { "" };
                let statements = self.statements(false);
                body.push_str(&format!("atomic b{thread}{block} {{ {keep}{statements}}} "));
                if self.random.one_in(3) {
                    body.push_str("y = k; ");
                }
            }
            text.push_str(&format!("thread t{thread} {{ let k = K; {body}}}\n"));
        }
        text
    }

    /// What a block does that counts.
    fn counting(&mut self) -> String {
        let name = *self.random.pick(&["x", "y"]);
        let bound = *self.random.pick(&LARGE);
        match self.random.below(6) {
            0 => format!("if {name} >= {bound} {{ z = z + 1; }} "),
            1 => format!("for i in 0..2 {{ {name} = {name} + v; }} "),
            2 => format!("{name} = {name} - v; z = z + 1; "),
            3 => format!("if v > 0 {{ {name} = {name} + v; }} else {{ {name} = {name} - 1; }} "),
            _ => format!("{name} = {name} + v; "),
        }
    }

    fn statements(&mut self, may_spawn: bool) -> String {
        (0..[1, 1, 2, 3][self.random.below(4)]).map(|_| self.guarded(may_spawn)).collect()
    }

    fn guarded(&mut self, may_spawn: bool) -> String {
        let action = self.action(may_spawn);
        match self.random.below(5) {
            0 | 1 => format!("if {} {{ {action}}} ", self.condition()),
            2 => {
                let other = self.action(may_spawn);
                format!("if {} {{ {action}}} else {{ {other}}} ", self.condition())
            }
            _ => action,
        }
    }

    fn action(&mut self, may_spawn: bool) -> String {
        if may_spawn && self.random.one_in(3) {
            return format!("spawn task({}); ", self.value());
        }
        if self.kind == Kind::Asserting && self.random.one_in(4) {
            return format!("assert {}; ", self.condition());
        }
        if self.kind == Kind::Containers && self.random.one_in(2) {
            return self.container();
        }
        if self.random.one_in(10) {
            self.temporaries += 1;
            let t = self.temporaries;
            return format!("let old{t} = x; x = y; y = old{t}; ");
        }
        let target = self.target();
        let value = match self.random.below(6) {
            0 => format!("min({target}, 5) + 1"),
            1 => format!("{target} - {}", self.name()),
            2 => format!("{target} + {}", self.name()),
            3 => format!("max({}, {target})", self.name()),
            _ => self.value(),
        };
        format!("{target} = {value}; ")
    }

    fn container(&mut self) -> String {
        let [a, b] = [(); 2].map(|()| self.value());
        match self.random.below(6) {
            0 => format!("push(q, {a}); "),
            1 => "if len(q) > 0 { x = pop_front(q); } ".to_owned(),
            2 => "y = len(q); ".to_owned(),
            3 => format!("m[{a}] = {b}; "),
            4 => format!("z = get(m, {a}, 0); "),
            _ => format!("remove(m, {a}); "),
        }
    }

    fn value(&mut self) -> String {
        match self.random.below(3) {
            0 => number(self.random).to_string(),
            1 if self.kind == Kind::Arrays => self.element(),
            _ => self.name(),
        }
    }

    fn target(&mut self) -> String {
        match self.random.below(2) {
            0 if self.kind == Kind::Arrays => self.element(),
            _ => (*self.random.pick(&["x", "y", "z"])).to_owned(),
        }
    }

    fn element(&mut self) -> String {
        match self.random.below(3) {
            0 => "a[0]".to_owned(),
            1 => "a[1]".to_owned(),
            _ => format!("a[abs({}) % 2]", self.name()),
        }
    }

    fn name(&mut self) -> String {
        (*self.random.pick(self.names)).to_owned()
    }

    fn condition(&mut self) -> String {
        let relation = *self.random.pick(&["<", ">=", "=="]);
        match self.random.below(4) {
            0 => format!("{} {relation} {}", self.name(), self.name()),
            _ => format!("{} {relation} {}", self.name(), number(self.random)),
        }
    }
}

/// Some of which add up to more than an integer holds.
const LARGE: [i32; 6] = [-1, 1, 2, 1 << 28, 1 << 30, -(1 << 30)];

fn number(random: &mut Random) -> i32 {
    [-1, 0, 1][random.below(3)]
}
