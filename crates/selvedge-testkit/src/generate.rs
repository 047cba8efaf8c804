//! Random programs over every construct of the language.
//!
//! Each program uses a few constructs only, so that threads meet: with all of them at once two
//! threads would hardly ever touch the same object. Programs end: loops are bounded.

use std::ops::RangeInclusive;

use crate::profile::{Construct, Profile};
use crate::random::Random;
use crate::sketch::{
    Alternative, Bits, Channel, Comparison, GhostOp, Guard, Index, Mutex, Op, Place, Share, Sketch,
    Test, ThreadSketch, Value, for_each_op,
};

/// The program of `profile` with this seed.
pub fn generate(profile: &Profile, seed: u64) -> Sketch {
    let mut generator = Generator::new(profile, Random::new(seed));
    let mut sketch = generator.sketch();
    while sketch.interleavings() > profile.interleavings {
        generator.make_smaller(&mut sketch);
    }
    sketch.add_idle(generator.random.within(&profile.idle));
    sketch.unused = generator.random.within(&profile.unused);
    sketch.elements = generator.random.within(&profile.elements);
    sketch
}

struct Generator<'a> {
    profile: &'a Profile,
    random: Random,
    /// The constructs of this program; more than once if it shall occur more often.
    constructs: Vec<Construct>,
    threads: usize,
    tasks: usize,
    /// How many bodies are around the operation that is made.
    depth: usize,
    /// Only what is allowed in an atomic block.
    in_atomic: bool,
    /// The first task that can be spawned here.
    first_task: usize,
    /// Mutexes that the operation around this one holds.
    held: Vec<Mutex>,
    /// What is tried most in this program.
    favourite: Option<usize>,
}

/// How many ways there are to try something.
const WAYS_TO_TRY: usize = 7;

impl<'a> Generator<'a> {
    fn new(profile: &'a Profile, mut random: Random) -> Self {
        let mut constructs = profile.always.clone();
        let mut others = profile.sometimes.clone();
        let wanted = random.within(&profile.how_many).min(others.len());
        for _ in 0..wanted {
            let index = random.below(others.len());
            constructs.push(others.swap_remove(index));
        }
        let threads = random.within(&profile.threads);
        let tasks = match constructs.contains(&Construct::Spawn) {
            true => random.within(&profile.tasks),
            false => 0,
        };
        let tries = constructs.contains(&Construct::Try);
        let favourite = tries.then(|| random.below(WAYS_TO_TRY));
        Self {
            profile,
            random,
            constructs,
            threads,
            tasks,
            depth: 0,
            in_atomic: false,
            first_task: 0,
            held: Vec::new(),
            favourite,
        }
    }

    fn sketch(&mut self) -> Sketch {
        let uses_daemons = self.constructs.contains(&Construct::Daemon);
        let mut threads = Vec::new();
        for _ in 0..self.threads {
            let daemon = uses_daemons && self.random.one_in(3);
            let body = self.ops(self.profile.ops.clone());
            threads.push(ThreadSketch { daemon, body });
        }
        let mut tasks = Vec::new();
        for number in 0..self.tasks {
            self.first_task = if self.profile.nested { number + 1 } else { self.tasks };
            tasks.push(self.ops(0..=2));
        }
        let parties = self.random.within(&(1..=self.threads)) as u32;
        let asserts = self.constructs.contains(&Construct::Assert);
        let finally = (asserts && self.random.one_in(2)).then(|| self.test_of_variable());
        // Last, so that programs without it are as they are.
        let is_checked = asserts && (self.profile.invariants || self.random.one_in(5));
        let always = is_checked.then(|| self.test_of_variable());
        Sketch { threads, tasks, parties, finally, always, unused: 0, elements: 0 }
    }

    /// Takes one operation away, perhaps an inner one.
    fn make_smaller(&mut self, sketch: &mut Sketch) {
        let mut count = 0;
        for body in sketch.bodies() {
            for_each_op(body, &mut |_| count += 1);
        }
        let mut index = self.random.below(count);
        for body in sketch.bodies_mut() {
            if remove_op(body, &mut index) {
                return;
            }
        }
    }

    fn ops(&mut self, range: RangeInclusive<usize>) -> Vec<Op> {
        (0..self.random.within(&range)).map(|_| self.op()).collect()
    }

    /// The body of an operation: short, hardly ever empty, and simple if it is deep inside.
    fn body(&mut self) -> Vec<Op> {
        self.depth += 1;
        let length = if self.random.one_in(8) { 0 } else { 1 + self.random.below(2) };
        let body = if self.depth > 2 {
            vec![self.read_or_write()]
        } else {
            (0..length).map(|_| self.op()).collect()
        };
        self.depth -= 1;
        body
    }

    fn op(&mut self) -> Op {
        // A construct that is not allowed here makes way for a read or a write.
        let construct = *self.random.pick(&self.constructs);
        let op = if self.in_atomic { self.op_in_atomic(construct) } else { self.op_of(construct) };
        let is_second = self.profile.kinds > 1 && op.has_second() && self.random.one_in(2);
        if is_second { op.second() } else { op }
    }

    fn op_in_atomic(&mut self, construct: Construct) -> Op {
        match construct {
            Construct::Semaphore if self.random.one_in(8) => Op::UpToTop,
            Construct::Semaphore => Op::Up,
            Construct::Mailbox | Construct::Timeout => self.send(),
            Construct::Mutex
            | Construct::TryLock
            | Construct::ReaderWriterLock
            | Construct::Condition
            | Construct::Barrier
            | Construct::Channel
            | Construct::Choose
            | Construct::Yield
            | Construct::Daemon
            | Construct::Try
            | Construct::Watch
            | Construct::Atomic => self.read_or_write(),
            Construct::Spawn if self.first_task < self.tasks => self.spawn_only(),
            _ => self.op_of(construct),
        }
    }

    fn op_of(&mut self, construct: Construct) -> Op {
        if self.profile.local_arrays && self.random.one_in(3) {
            return Op::Keep { index: self.index(), adds: self.random.one_in(3) };
        }
        match construct {
            Construct::ReadWrite | Construct::Array | Construct::Daemon => self.read_or_write(),
            Construct::Branch => self.branch(),
            Construct::Loop => self.repeat(),
            Construct::ReadModifyWrite => self.read_modify_write(),
            Construct::Call => self.call(),
            Construct::Mutex => self.lock(),
            Construct::TryLock => {
                let mutex = self.mutex();
                Op::TryLocked(mutex, self.body_with(mutex))
            }
            Construct::ReaderWriterLock => self.share(),
            Construct::Condition => self.condition(),
            Construct::Semaphore => self.semaphore(),
            Construct::Barrier => Op::Arrive,
            Construct::Mailbox => self.mail(false),
            Construct::Timeout => self.mail(true),
            Construct::Try => self.try_to(),
            Construct::Watch if !self.random.one_in(3) => self.send(),
            Construct::Watch => Op::JoinThread(self.random.below(self.threads) as u8),
            Construct::Monitor => self.monitor(),
            Construct::Spawn if self.first_task >= self.tasks => self.read_or_write(),
            Construct::Spawn => self.spawn(),
            Construct::Atomic => self.atomic(),
            Construct::Await => self.wait_for(),
            Construct::Assume => Op::Assume(self.test()),
            Construct::Assert => Op::Assert(self.test()),
            Construct::Choose => Op::Choose(self.random.within(&self.profile.alternatives) as u16),
            Construct::Yield => Op::Yield,
            Construct::List => self.list(),
            Construct::Map => self.map(),
            Construct::Channel => self.channel(),
            Construct::Ghost => self.ghost(),
        }
    }

    fn read_or_write(&mut self) -> Op {
        let place = self.place();
        match self.random.below(6) {
            0 | 1 => Op::Read(place),
            2..=4 => Op::Write(place, self.value()),
            _ if self.random.one_in(2) => Op::Increment(place),
            _ => Op::AddTo(place),
        }
    }

    fn read_modify_write(&mut self) -> Op {
        let place = self.place();
        match self.random.below(6) {
            0 => Op::FetchAdd(place, 1),
            1 => Op::Exchange(place, self.value()),
            2 => Op::TestAndSet(self.body()),
            _ => Op::CompareExchange(place, self.small(), self.small(), self.body()),
        }
    }

    fn branch(&mut self) -> Op {
        let otherwise = if self.random.one_in(2) { self.body() } else { Vec::new() };
        match self.random.below(8) {
            0 => Op::ReturnIf(self.test()),
            _ => Op::If(self.test(), self.body(), otherwise),
        }
    }

    fn repeat(&mut self) -> Op {
        let test = self.random.one_in(2).then(|| self.test());
        // One loop inside another would take too long if both were long.
        let inside = self.depth > 0;
        let turns = if inside { 2 } else { self.random.within(&self.profile.turns) };
        Op::Repeat(turns as u8, test, self.body())
    }

    fn call(&mut self) -> Op {
        match self.random.below(3) {
            0 => Op::CallFunction,
            n => Op::CallProcedure { atomic: n == 1, value: self.value() },
        }
    }

    fn lock(&mut self) -> Op {
        let mutex = self.mutex();
        match self.random.below(24) {
            0 => Op::LockForGood(mutex),
            1 => Op::Unlock(mutex),
            _ => Op::Locked(mutex, self.body_with(mutex)),
        }
    }

    fn share(&mut self) -> Op {
        let share = if self.random.one_in(2) { Share::Read } else { Share::Write };
        match self.random.below(3) {
            0 => Op::TryShared(share, self.body()),
            _ => Op::Shared(share, self.body()),
        }
    }

    fn condition(&mut self) -> Op {
        match self.random.below(5) {
            0 if self.random.one_in(4) => Op::WaitOnly,
            0 | 1 => {
                let test = self.random.one_in(2).then(|| self.test_of_variable());
                Op::Wait(test, self.body())
            }
            2 | 3 => Op::Signal,
            _ => Op::Broadcast,
        }
    }

    fn semaphore(&mut self) -> Op {
        match self.random.below(5) {
            0 if self.random.one_in(6) => Op::UpToTop,
            0 | 1 => Op::Up,
            2 | 3 => Op::Down,
            _ => Op::TryDown(self.body()),
        }
    }

    fn mail(&mut self, timeout: bool) -> Op {
        if self.random.one_in(2) {
            return self.send();
        }
        let alternatives = (0..1 + self.random.below(2))
            .map(|_| Alternative {
                tag: (!self.random.one_in(3)).then(|| self.random.below(2) as u8),
                guard: match self.random.below(8) {
                    0 | 1 => Guard::Positive,
                    2 => Guard::Divides,
                    _ => Guard::None,
                },
                body: self.body(),
            })
            .collect();
        let after = (timeout && !self.random.one_in(3)).then(|| self.body());
        Op::Receive(alternatives, after)
    }

    fn monitor(&mut self) -> Op {
        let thread = self.random.below(self.threads) as u8;
        Op::Monitor(thread, self.random.below(2) as u8, self.value())
    }

    fn send(&mut self) -> Op {
        let to = self.random.below(self.threads) as u8;
        Op::Send(to, self.random.below(2) as u8, self.value())
    }

    /// Something that may fail, and then mostly ends the thread: at once, or after a step or two.
    fn try_to(&mut self) -> Op {
        let kind = match self.favourite {
            // Mostly the same in all threads, so that it does fail.
            Some(favourite) if !self.random.one_in(6) => favourite,
            _ => self.random.below(WAYS_TO_TRY),
        };
        let tried = match kind {
            0 => {
                let mutex = self.mutex();
                Op::TryLocked(mutex, self.body_with(mutex))
            }
            1 => Op::TryDown(self.body()),
            2 => {
                let share = if self.random.one_in(2) { Share::Read } else { Share::Write };
                Op::TryShared(share, self.body())
            }
            3 if self.random.one_in(3) => Op::TestAndSet(self.body()),
            3 => {
                let place = self.place();
                Op::CompareExchange(place, self.small(), self.small(), self.body())
            }
            4 => return self.receive_or_end(),
            5 => Op::Contains(self.small(), self.body()),
            _ => Op::Has(self.small(), self.body()),
        };
        if self.random.one_in(4) {
            return tried;
        }
        Op::Else(Box::new(tried), self.last_ops())
    }

    fn receive_or_end(&mut self) -> Op {
        match self.mail(true) {
            Op::Receive(alternatives, _) => Op::Receive(alternatives, Some(self.last_ops())),
            send => send,
        }
    }

    /// The last operations of a thread.
    fn last_ops(&mut self) -> Vec<Op> {
        let mut ops = if self.random.one_in(6) { self.body() } else { Vec::new() };
        ops.push(Op::Return);
        ops
    }

    fn wait_for(&mut self) -> Op {
        if self.profile.scans && !self.in_atomic && self.random.one_in(2) {
            // What is read first must be able to change before the rest is read.
            let first = Box::new(self.comparison_of_variable());
            return Op::Scan(Test::Both(first, Box::new(self.test_of_variable())));
        }
        match self.random.below(6) {
            0 => Op::AwaitEach(self.small()),
            1 => Op::AwaitCalls(self.small()),
            _ => Op::Await(self.test_of_variable()),
        }
    }

    fn channel(&mut self) -> Op {
        let channel = *self.random.pick(&Channel::ALL);
        match self.random.below(5) {
            0..=2 => Op::SendTo(channel, self.value()),
            _ => Op::ReceiveFrom(channel),
        }
    }

    fn ghost(&mut self) -> Op {
        Op::Ghost(match self.random.below(10) {
            0 | 1 => GhostOp::Keep,
            2 => GhostOp::Append,
            3 | 4 => GhostOp::CountUp,
            5 => GhostOp::CountDown,
            6 => GhostOp::Copy,
            7 => GhostOp::AssertKept(self.small()),
            8 => GhostOp::AssertCount(self.small()),
            _ => GhostOp::AssertMixed(self.small()),
        })
    }

    fn spawn(&mut self) -> Op {
        let deepest = *self.profile.chain.end();
        if deepest > 0 && self.random.one_in(2) {
            return Op::SpawnChain(self.random.within(&self.profile.chain) as u8);
        }
        if self.random.one_in(6) {
            return Op::JoinThread(self.random.below(self.threads) as u8);
        }
        let task = self.random.within(&(self.first_task..=self.tasks - 1)) as u8;
        let receives = self.constructs.contains(&Construct::Mailbox);
        let mail = receives && self.random.one_in(2);
        let join = self.random.one_in(2);
        Op::Spawn { task, value: self.value(), mail, body: self.body(), join }
    }

    fn spawn_only(&mut self) -> Op {
        let task = self.random.within(&(self.first_task..=self.tasks - 1)) as u8;
        Op::Spawn { task, value: self.value(), mail: false, body: Vec::new(), join: false }
    }

    fn atomic(&mut self) -> Op {
        self.in_atomic = true;
        let mut body = self.ops(1..=3);
        if self.profile.blocks_wait || self.random.one_in(4) {
            let place = self.random.below(body.len() + 1);
            body.insert(place, self.wait_for());
        }
        self.in_atomic = false;
        Op::Atomic(body)
    }

    fn list(&mut self) -> Op {
        match self.random.below(5) {
            0 | 1 => Op::Push(self.value()),
            2 => Op::PopFront { checked: true },
            3 => Op::PopFront { checked: false },
            _ => Op::Contains(self.small(), self.body()),
        }
    }

    fn map(&mut self) -> Op {
        let key = self.small();
        match self.random.below(5) {
            4 => Op::Lookup(key),
            0 => Op::Insert(key, self.value()),
            1 => Op::Remove(key),
            2 => Op::Get(key),
            _ => Op::Has(key, self.body()),
        }
    }

    fn place(&mut self) -> Place {
        if self.constructs.contains(&Construct::Array) && !self.random.one_in(3) {
            let index = self.index();
            if self.random.one_in(4) {
                return Place::Grid(self.random.below(2) as u8, index);
            }
            return Place::Element(index);
        }
        Place::Scalar(self.random.below(usize::from(self.profile.objects)) as u8)
    }

    fn index(&mut self) -> Index {
        match self.random.below(8) {
            0..=2 => Index::Fixed(self.random.below(2) as u8),
            7 => Index::Unchecked,
            _ => Index::Computed,
        }
    }

    fn body_with(&mut self, mutex: Mutex) -> Vec<Op> {
        self.held.push(mutex);
        let body = self.body();
        self.held.pop();
        body
    }

    /// Hardly ever one that is held already: that is a misuse, and nothing else happens then.
    fn mutex(&mut self) -> Mutex {
        let mutex = self.any_mutex();
        if self.held.contains(&mutex) && !self.random.one_in(8) {
            return self.any_mutex();
        }
        mutex
    }

    fn any_mutex(&mut self) -> Mutex {
        if self.constructs.contains(&Construct::Array) && self.random.one_in(3) {
            return Mutex::Computed;
        }
        Mutex::Single(self.random.below(usize::from(self.profile.objects.min(3))) as u8)
    }

    fn value(&mut self) -> Value {
        if self.profile.extreme && self.random.one_in(2) {
            return self.extreme();
        }
        if self.profile.bits && self.random.one_in(2) {
            return Value::Bits(*self.random.pick(&Bits::ALL));
        }
        if self.profile.local_arrays && self.random.one_in(2) {
            return Value::Kept(self.index());
        }
        match self.random.below(8) {
            0..=3 => Value::Fixed(self.small()),
            4 | 5 => Value::Register,
            6 => Value::Next,
            _ => Value::Of(self.place()),
        }
    }

    /// Near the ends of the range, and arithmetic that leaves it.
    fn extreme(&mut self) -> Value {
        let ends = [i32::MIN, i32::MIN + 1, i32::MAX - 1, i32::MAX, -1, 0];
        match self.random.below(6) {
            0 => Value::Square,
            1 => Value::Negated,
            2 => Value::Quotient,
            _ => Value::Fixed(*self.random.pick(&ends)),
        }
    }

    fn test(&mut self) -> Test {
        if self.random.one_in(3) {
            return self.test_of_variable();
        }
        Test::Register(self.comparison(), self.small())
    }

    fn test_of_variable(&mut self) -> Test {
        let mut test = self.comparison_of_variable();
        for others in 1..self.profile.comparisons {
            // The more there are, the likelier is another.
            test = match self.random.below(if others == 1 { 6 } else { 3 }) {
                0 => Test::Both(Box::new(self.comparison_of_variable()), Box::new(test)),
                1 => Test::Either(Box::new(test), Box::new(self.comparison_of_variable())),
                _ => return test,
            };
        }
        test
    }

    fn comparison_of_variable(&mut self) -> Test {
        if self.profile.rich && self.random.one_in(2) {
            return self.rich_comparison();
        }
        let place = self.scalar();
        Test::Variable(place, self.comparison(), self.small())
    }

    fn rich_comparison(&mut self) -> Test {
        let (comparison, value) = (self.comparison(), self.small());
        match self.random.below(4) {
            0 if self.constructs.contains(&Construct::List) => Test::Length(comparison, value),
            1 if self.constructs.contains(&Construct::Map) => {
                Test::Entry(self.small(), comparison, value)
            }
            _ => Test::Sum(self.scalar(), self.scalar(), comparison, value),
        }
    }

    /// Without a computed index: it is also for the test of `finally`, which has no register.
    fn scalar(&mut self) -> Place {
        Place::Scalar(self.random.below(usize::from(self.profile.objects)) as u8)
    }

    fn comparison(&mut self) -> Comparison {
        *self.random.pick(&[Comparison::Equal, Comparison::NotEqual, Comparison::AtMost])
    }

    fn small(&mut self) -> i32 {
        if self.profile.extreme && self.random.one_in(4) {
            return *self.random.pick(&[i32::MIN, i32::MAX, -1]);
        }
        self.random.below(3) as i32
    }
}

/// Takes away the operation that has `index` others before it, counting outer ones before inner
/// ones; tells whether it was here. If not, `index` goes down by those that are.
fn remove_op(ops: &mut Vec<Op>, index: &mut usize) -> bool {
    for place in 0..ops.len() {
        if *index == 0 {
            ops.remove(place);
            return true;
        }
        *index -= 1;
        if ops[place].bodies_mut().into_iter().any(|body| remove_op(body, index)) {
            return true;
        }
    }
    false
}
