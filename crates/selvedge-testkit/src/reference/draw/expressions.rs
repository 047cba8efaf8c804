//! Draws expressions.

use super::artist::{Artist, Level, Type};
use super::palette::Feature;
use super::passed::Passed;

impl Artist {
    /// An expression of type `int`.
    pub(super) fn int(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.one_in(3) {
            return self.int_leaf();
        }
        match self.random.below(10) {
            0..=3 => {
                let operators = match self.has(Feature::Bits) {
                    true => &["&", "|", "^", "<<", ">>", "+", "*"][..],
                    false => &["+", "-", "*", "/", "%"],
                };
                let operator = *self.random.pick(operators);
                let left = self.int(depth - 1);
                let right = match operator {
                    "/" | "%" => self.divisor(depth - 1),
                    "<<" | ">>" => self.distance(),
                    _ => self.int(depth - 1),
                };
                // Without parentheses what binds tighter decides.
                if self.random.one_in(2) {
                    format!("{left} {operator} {right}")
                } else {
                    format!("({left} {operator} {right})")
                }
            }
            4 => {
                let function = *self.random.pick(&["min", "max"]);
                format!("{function}({}, {})", self.int(depth - 1), self.int(depth - 1))
            }
            5 => format!("abs({})", self.int(depth - 1)),
            6 if self.has(Feature::Bits) => format!("~{}", self.int_leaf()),
            6 => format!("-{}", self.int_leaf()),
            7 => {
                let (condition, a, b) =
                    (self.bool(depth - 1), self.int(depth - 1), self.int(depth - 1));
                format!("if {condition} {{ {a} }} else {{ {b} }}").replacen("if", "(if", 1) + ")"
            }
            8 => self.call(Type::Int).unwrap_or_else(|| self.int_leaf()),
            _ => self.int_leaf(),
        }
    }

    /// Zero is a violation, so it is rare.
    fn divisor(&mut self, depth: usize) -> String {
        match self.random.below(6) {
            0 => self.int_leaf(),
            1 => format!("(abs({}) + 1)", self.int(depth)),
            _ => (*self.random.pick(&["2", "3", "-2", "-3", "-1", "LOW", "N"])).to_owned(),
        }
    }

    /// By how much to shift: out of range is a violation, so it is rare.
    fn distance(&mut self) -> String {
        match self.random.below(6) {
            0 => self.int_leaf(),
            1 => format!("({} & 31)", self.int_leaf()),
            _ => (*self.random.pick(&["0", "1", "2", "30", "31", "N"])).to_owned(),
        }
    }

    pub(super) fn int_leaf(&mut self) -> String {
        if self.has(Feature::Extremes) && self.random.one_in(3) {
            return (*self.random.pick(&["MOST", "-2147483648", "-MOST", "2147483646", "0x10000"]))
                .to_owned();
        }
        if self.random.one_in(3)
            && let Some(array) = self.local(Type::Ints, false)
        {
            return match self.random.below(5) {
                0 => format!("len({array})"),
                _ => format!("{array}[{}]", self.index(3)),
            };
        }
        if self.has(Feature::Arrays) && self.random.one_in(5) {
            let index = match self.level {
                Level::Local => "1".to_owned(),
                _ => self.index(3),
            };
            return format!("T[{index}]");
        }
        match self.random.below(10) {
            0..=2 => self.literal(),
            3..=5 => self.local(Type::Int, false).unwrap_or_else(|| self.literal()),
            _ => self.shared_int().unwrap_or_else(|| self.literal()),
        }
    }

    pub(super) fn literal(&mut self) -> String {
        if self.random.clone().one_in(4)
            && let Some(row) = self.object(Passed::Row)
        {
            return format!("len({row})");
        }
        (*self.random.pick(&[
            "0",
            "1",
            "2",
            "3",
            "-1",
            "-3",
            "7",
            "N",
            "LOW",
            "len(g[0])",
            "len(a)",
        ]))
        .to_owned()
    }

    /// A read of something shared, or an operation that returns an integer, if it is allowed here.
    fn shared_int(&mut self) -> Option<String> {
        if self.level == Level::Local || !self.burn() {
            return None;
        }
        let feature = *self.random.pick(&self.palette);
        match feature {
            Feature::Arrays => Some(self.element()),
            Feature::Lists => Some(self.list_value()),
            Feature::Maps => Some(self.map_value()),
            Feature::Semaphores => Some(format!("count({})", self.semaphore())),
            Feature::Enums => Some(format!("int({})", self.coloured())),
            Feature::Channels if self.level == Level::Everything && !self.random.one_in(3) => {
                Some(format!("receive({})", self.channel()))
            }
            Feature::Channels => Some(format!("len({})", self.channel())),
            // Orderings are for atomic variables, outside of atomic blocks.
            Feature::ReadModifyWrite
                if self.level == Level::Everything && self.random.one_in(3) =>
            {
                let value = self.int(1);
                Some(match self.random.below(3) {
                    0 => "load(z, acquire)".to_owned(),
                    1 => format!("fetch_add(z, {value}, relaxed)"),
                    _ => format!("exchange(z, {value}, acq_rel)"),
                })
            }
            Feature::ReadModifyWrite if self.level >= Level::Atomic => {
                let place = self.variable();
                let value = self.int(1);
                let name = *self.random.pick(&["fetch_add", "exchange"]);
                Some(format!("{name}({place}, {value})"))
            }
            Feature::Choose if self.level == Level::Everything => Some(self.choose()),
            Feature::Passed => Some(self.variable()),
            _ => Some((*self.random.pick(&["x", "y", "z"])).to_owned()),
        }
    }

    pub(super) fn channel(&mut self) -> String {
        if let Some(passed) = self.object(Passed::Channel) {
            return passed;
        }
        match self.random.below(4) {
            0 => format!("chs[{}]", self.index(2)),
            1 => "lost".to_owned(),
            _ => "ch".to_owned(),
        }
    }

    /// A variable of an enumeration.
    pub(super) fn coloured(&mut self) -> String {
        if self.random.one_in(3) { format!("es[{}]", self.index(2)) } else { "e".to_owned() }
    }

    /// A value of an enumeration, next to a variable of it.
    pub(super) fn colour(&mut self) -> String {
        match self.random.below(6) {
            0 if self.burn() => self.coloured(),
            1 => format!("(if {} {{ Red }} else {{ Blue }})", self.bool(0)),
            _ => (*self.random.pick(&["Red", "Green", "Blue"])).to_owned(),
        }
    }

    /// A variable of type `int` to read or to write.
    pub(super) fn variable(&mut self) -> String {
        if let Some(passed) = self.object(Passed::Variable) {
            return passed;
        }
        if self.has(Feature::Arrays) && self.random.one_in(2) {
            return self.element();
        }
        (*self.random.pick(&["x", "x", "y", "z"])).to_owned()
    }

    pub(super) fn element(&mut self) -> String {
        if let Some(passed) = self.object(Passed::Row) {
            return format!("{passed}[{}]", self.index(2));
        }
        match self.random.below(6) {
            4 => format!("recs[{}].{}", self.index(2), self.random.pick(&["u", "w"])),
            5 => "rec.w".to_owned(),
            0 => format!("g[{}][{}]", self.index(2), self.index(3)),
            1 => format!("a2[{}]", self.index(2)),
            _ => format!("a[{}]", self.index(3)),
        }
    }

    /// An index, hardly ever out of bounds.
    pub(super) fn index(&mut self, size: usize) -> String {
        match self.random.below(8) {
            0 => self.int(1),
            1..=3 => format!("abs({}) % {size}", self.int_leaf()),
            _ => self.random.below(size).to_string(),
        }
    }

    pub(super) fn choose(&mut self) -> String {
        let low = self.random.below(4) as i32 - 2;
        match self.random.below(6) {
            0 => format!("choose({low}..{})", self.int(1)),
            _ => format!("choose({low}..{})", low + 2),
        }
    }

    pub(super) fn list(&mut self) -> String {
        if let Some(passed) = self.object(Passed::List) {
            return passed;
        }
        if self.random.one_in(3) { format!("qs[{}]", self.index(2)) } else { "q".to_owned() }
    }

    pub(super) fn map(&mut self) -> String {
        if self.random.one_in(3) { format!("ts[{}]", self.index(2)) } else { "t".to_owned() }
    }

    fn list_value(&mut self) -> String {
        let list = self.list();
        match self.random.below(7) {
            0 if self.level >= Level::Atomic => format!("pop({list})"),
            1 if self.level >= Level::Atomic => format!("pop_front({list})"),
            2 => format!("{list}[{}]", self.index(2)),
            3..=5 => match self.random.below(3) {
                0 => format!("index_of({list}, {})", self.int(0)),
                1 => format!("max({list})"),
                _ => format!("min({list})"),
            },
            _ => format!("len({list})"),
        }
    }

    fn map_value(&mut self) -> String {
        let map = self.map();
        match self.random.below(4) {
            0 => format!("len({map})"),
            1 => format!("{map}[{}]", self.key()),
            _ => {
                let (key, otherwise) = (self.key(), self.int(1));
                format!("get({map}, {key}, {otherwise})")
            }
        }
    }

    pub(super) fn key(&mut self) -> String {
        if self.random.one_in(4) {
            self.int(1)
        } else {
            (*self.random.pick(&["1", "2", "LOW"])).to_owned()
        }
    }

    /// An expression of type `bool`.
    pub(super) fn bool(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.one_in(5) {
            return self.bool_leaf();
        }
        match self.random.below(10) {
            0..=3 => {
                let operator = *self.random.pick(&["==", "!=", "<", "<=", ">", ">="]);
                format!("{} {operator} {}", self.int(depth), self.int(depth - 1))
            }
            4 | 5 => format!("{} && {}", self.bool(depth - 1), self.bool(depth - 1)),
            6 => format!("({} || {})", self.bool(depth - 1), self.bool(depth - 1)),
            7 => format!("!({})", self.bool(depth - 1)),
            8 => {
                let (left, right) = (self.bool(depth - 1), self.bool(depth - 1));
                format!("({left}) {} ({right})", self.random.pick(&["==", "!="]))
            }
            _ => self.call(Type::Bool).unwrap_or_else(|| self.bool_leaf()),
        }
    }

    fn bool_leaf(&mut self) -> String {
        if self.random.one_in(4)
            && let Some(flags) = self.local(Type::Flags, false)
        {
            return format!("{flags}[{}]", self.index(2));
        }
        match self.random.below(6) {
            0 => (*self.random.pick(&["true", "false", "YES"])).to_owned(),
            1 if self.has(Feature::Arrays) => format!("B[{}]", self.random.below(3)),
            1 => self.local(Type::Bool, false).unwrap_or_else(|| "false".to_owned()),
            2 => format!("{} {} {}", self.int(0), self.random.pick(&["==", "<="]), self.literal()),
            _ => self.shared_bool().unwrap_or_else(|| "true".to_owned()),
        }
    }

    fn shared_bool(&mut self) -> Option<String> {
        if self.level == Level::Local || !self.burn() {
            return None;
        }
        let feature = *self.random.pick(&self.palette);
        match feature {
            Feature::Lists => Some(format!("contains({}, {})", self.list(), self.int(1))),
            Feature::Enums if self.level >= Level::Atomic && self.random.one_in(3) => {
                let (place, old) = (self.coloured(), self.colour());
                Some(format!("compare_exchange({place}, {old}, {})", self.colour()))
            }
            Feature::Enums => {
                let (place, other) = (self.coloured(), self.colour());
                Some(format!("{place} {} {other}", self.random.pick(&["==", "!="])))
            }
            Feature::Maps => Some(format!("has({}, {})", self.map(), self.key())),
            Feature::ReadModifyWrite if self.level >= Level::Atomic => {
                Some(match self.random.below(3) {
                    0 => format!("exchange(b, {})", self.bool(1)),
                    1 => format!("compare_exchange(f[{}], true, {})", self.index(2), self.bool(1)),
                    _ => {
                        let place = self.variable();
                        format!("compare_exchange({place}, {}, {})", self.int(1), self.int(1))
                    }
                })
            }
            Feature::Choose if self.level == Level::Everything => Some("choose()".to_owned()),
            Feature::Semaphores if self.level == Level::Everything => {
                Some(format!("try_down({})", self.semaphore()))
            }
            Feature::Arrays => Some(format!("f[{}]", self.index(2))),
            _ if self.random.one_in(2) => Some(format!(
                "{} {} {}",
                self.variable(),
                self.random.pick(&["==", "!=", "<"]),
                self.literal()
            )),
            _ => Some("b".to_owned()),
        }
    }
}
