//! Random programs with two blocks, an observer that reads everything, and threads that evaluate
//! conditions.

use selvedge_testkit::Random;

/// What the blocks are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// Variables, branches, arithmetic, assertions.
    Arithmetic,
    /// The same with arrays and spawned tasks.
    Arrays,
    /// Lists and maps.
    Containers,
    /// Named blocks in threads, which use local variables later.
    Blocks,
}

/// The values at the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// `x`, `y`, the elements of `a`.
    numbers: [i32; 4],
    flag: bool,
    /// What the two blocks are given.
    given: [i32; 2],
    list: Vec<i32>,
    map: Vec<(i32, i32)>,
}

impl State {
    pub(crate) fn random(random: &mut Random, family: Family) -> Self {
        // Values that are equal, that differ by one, and the ends of the range.
        let extreme = [i32::MIN + 1, i32::MAX - 1, i32::MAX, i32::MIN + 2, 1 << 30];
        let mut number = || match random.below(12) {
            0 => *random.pick(&extreme),
            _ => random.below(6) as i32 - 2,
        };
        let numbers = [(); 4].map(|()| number());
        let given = [(); 2].map(|()| number());
        let flag = random.one_in(2);
        let mut list = Vec::new();
        let mut map = Vec::new();
        if family == Family::Containers {
            list = (0..random.below(4)).map(|_| random.below(3) as i32).collect();
            map = (0..random.below(3))
                .map(|_| (random.below(3) as i32, random.below(3) as i32))
                .collect();
        }
        Self { numbers, flag, given, list, map }
    }
}

/// Two blocks and conditions.
pub(crate) struct Pair {
    family: Family,
    bodies: [String; 2],
    conditions: Vec<String>,
}

impl Pair {
    /// The number of the thread that reads everything.
    pub(crate) const OBSERVER: usize = 2;

    pub(crate) fn new(random: &mut Random, family: Family) -> Self {
        let mut writer = Writer { random, family, depth: 0, temporaries: 0, prefix: 'a' };
        let first = writer.statements("v");
        writer.prefix = 'b';
        let second = writer.statements("w");
        Self { family, bodies: [first, second], conditions: Vec::new() }
    }

    pub(crate) fn add_condition(&mut self, condition: Option<String>) {
        self.conditions.push(condition.unwrap_or_else(|| "true".to_owned()));
    }

    pub(crate) fn conditions(&self) -> usize {
        self.conditions.len()
    }

    /// How many threads start at the beginning.
    pub(crate) fn threads(&self) -> usize {
        Self::OBSERVER + 1 + self.conditions.len()
    }

    /// The whole program, in a state.
    pub(crate) fn text(&self, state: &State) -> String {
        let State { numbers: [x, y, a, b], flag, given: [v, w], list, map } = state;
        let entries: Vec<String> = map.iter().map(|(k, v)| format!("{k}: {v}")).collect();
        let entries = entries.join(", ");
        let mut text = format!(
            "shared x = {x};\nshared y = {y};\nshared a[2] = [{a}, {b}];\nshared f = {flag};\n\
             list q = {list:?};\nmap m = {{{entries}}};\nshared hit = 0;\nshared late = 0;\n\
             proc task(k: int) {{ late = k; }}\n"
        );
        if map.is_empty() {
            text = text.replace("map m = {};", "map m;");
        }
        let [first, second] = &self.bodies;
        if self.family == Family::Blocks {
            text.push_str(&format!(
                "thread one {{ let v = {v}; let u = 0; atomic first {{ {first} }} late = v; late = u; }}\n\
                 thread two {{ let w = {w}; let u = 0; atomic second {{ {second} }} late = w; late = u; }}\n"
            ));
        } else {
            text.push_str(&format!(
                "atomic proc first(v: int) {{ {first} }}\natomic proc second(w: int) {{ {second} }}\n\
                 thread one {{ first({v}); }}\nthread two {{ second({w}); }}\n"
            ));
        }
        // Every key that can have come about.
        let mut keys: Vec<i32> = (-3..8).collect();
        for value in [*x, *y, *v, *w] {
            keys.extend([value.saturating_sub(1).max(-i32::MAX), value, value.saturating_add(1)]);
        }
        let keys = keys.iter().map(|key| format!("_7 = get(m, {key}, 77); "));
        text.push_str(&format!(
            "thread observer {{ let _1 = x; let _2 = y; let _3 = a[0]; let _4 = a[1]; let _5 = f;\n\
             for i in 0..8 {{ if i < len(q) {{ let _6 = q[i]; }} }}\n\
             let _7 = 0; {}\n let _8 = len(m); }}\n",
            keys.collect::<String>()
        ));
        for condition in &self.conditions {
            let condition = condition.replace("first.", "").replace("second.", "");
            text.push_str(&format!(
                "thread try_{} {{ let v = {v}; let w = {w}; let u = 0; let c = u;\n\
                 atomic {{ if {condition} {{ c = 1; }} }} if c == 1 {{ hit = 1; }} }}\n",
                text.len()
            ));
        }
        text
    }
}

struct Writer<'r> {
    random: &'r mut Random,
    family: Family,
    depth: usize,
    temporaries: usize,
    prefix: char,
}

impl Writer<'_> {
    fn statements(&mut self, given: &str) -> String {
        let count = 1 + self.random.below(3);
        (0..count).map(|_| self.statement(given)).collect::<Vec<_>>().join(" ")
    }

    fn statement(&mut self, given: &str) -> String {
        if self.depth < 2 && self.random.one_in(3) {
            return self.branch(given);
        }
        match (self.family, self.random.below(10)) {
            (_, 0) => format!("f = {};", self.condition(given)),
            (Family::Arithmetic, 1) => format!("assert {};", self.condition(given)),
            (Family::Arrays, 1 | 2) => format!("spawn task({});", self.expression(given)),
            (Family::Arrays, 3..=6) => {
                format!("a[{}] = {};", self.index(given), self.expression(given))
            }
            (Family::Containers, 1..=8) => self.container(given),
            (Family::Blocks, 1 | 2) => format!("u = {};", self.expression(given)),
            (Family::Blocks, 3) => format!("{given} = {};", self.expression(given)),
            (_, 9) => {
                self.temporaries += 1;
                let name = format!("{}{}", self.prefix, self.temporaries);
                let value = self.expression(given);
                format!("let {name} = {value}; y = {name};")
            }
            _ => {
                let target = ["x", "y"][self.random.below(2)];
                let sign = ["=", "=", "+=", "-="][self.random.below(4)];
                format!("{target} {sign} {};", self.expression(given))
            }
        }
    }

    fn branch(&mut self, given: &str) -> String {
        self.depth += 1;
        let condition = self.condition(given);
        let then = self.statements(given);
        let text = match self.random.one_in(2) {
            true => format!("if {condition} {{ {then} }}"),
            false => {
                format!("if {condition} {{ {then} }} else {{ {} }}", self.statements(given))
            }
        };
        self.depth -= 1;
        text
    }

    fn condition(&mut self, given: &str) -> String {
        match self.random.below(8) {
            0 => "f".to_owned(),
            1 => "!f".to_owned(),
            2 if self.family == Family::Containers => format!("has(m, {})", self.small(given)),
            3 if self.family == Family::Containers => format!("contains(q, {})", self.small(given)),
            _ => {
                let sign = ["==", "!=", "<", "<=", ">", ">="][self.random.below(6)];
                format!("{} {sign} {}", self.expression(given), self.small(given))
            }
        }
    }

    fn expression(&mut self, given: &str) -> String {
        let sign = ["+", "-", "*"][self.random.below(3)];
        match self.random.below(9) {
            0..=3 => self.small(given),
            4 => format!("{} {sign} {}", self.small(given), self.random.below(3)),
            5 => format!("min({}, {})", self.small(given), self.small(given)),
            6 if self.random.one_in(3) => format!("{} / 2", self.small(given)),
            7 if self.random.one_in(4) => format!("{} % 3", self.small(given)),
            _ => format!("{} + {}", self.small(given), self.small(given)),
        }
    }

    fn small(&mut self, given: &str) -> String {
        match self.random.below(8) {
            0 | 1 => "x".to_owned(),
            2 => "y".to_owned(),
            3 | 4 => given.to_owned(),
            5 if self.family == Family::Arrays => format!("a[{}]", self.index(given)),
            6 if self.family == Family::Containers => "len(q)".to_owned(),
            7 if self.family == Family::Containers => format!("get(m, {given}, 1)"),
            _ => (self.random.below(4) as i32 - 1).to_string(),
        }
    }

    fn index(&mut self, given: &str) -> String {
        match self.random.below(4) {
            0 => "0".to_owned(),
            1 => "1".to_owned(),
            2 => "x".to_owned(),
            _ => given.to_owned(),
        }
    }

    fn container(&mut self, given: &str) -> String {
        let value = self.small(given);
        match self.random.below(9) {
            0 | 1 => format!("push(q, {value});"),
            2 => "x = pop(q);".to_owned(),
            3 => "y = pop_front(q);".to_owned(),
            4 => format!("q[0] = {value};"),
            5 => format!("m[{value}] = {};", self.small(given)),
            6 => format!("remove(m, {value});"),
            7 if self.random.one_in(3) => "clear(q);".to_owned(),
            7 if self.random.one_in(3) => "clear(m);".to_owned(),
            8 if self.random.one_in(3) => "x = len(m);".to_owned(),
            _ => "x = q[0];".to_owned(),
        }
    }
}
