//! Random variants of the litmus tests of the literature: programs in which every part of an axiom matters.

use selvedge_core::Order;

use crate::Random;

use super::{Instruction, LitmusProgram, add, cas, fence, join, load, spawn, store};

use Order::{AcqRel, Acquire, NonAtomic, Relaxed, Release, SeqCst};

/// Tests, as threads of accesses: `W`rite, `R`ead, `U`pdate, a `C`ompare-exchange that fails, each with its variable; and `F`ence. An
/// ordering may follow: `s`eqcst, `r`elease, `a`cquire, rela`x`ed, `n`one. `>` starts a thread with the rest, and `<`
/// joins a thread that did what is before it.
const TESTS: &[&str] = &[
    // Store buffering: with reads of the own store, with read-modify-writes, with a fence against SeqCst accesses.
    "Wx Ry|Wy Rx",
    "Wx Ry|Wy Rz|Wz Rx",
    "Wx Rx Ry|Wy Ry Rx",
    "Wxx Rxx Ryx|Wyx Ryx Rxx",
    "Ux Ry|Uy Rx",
    "Wx Uz Ry|Wy Uz Rx",
    "Wxx Cz Ryx|Wyx Cz Rxx",
    "Wxx Cy|Wyx Cx",
    "Wxs Rys|Wyx Fs Rxx",
    "Wxx Fs Ryx|Wyx Fs Rxx",
    "Wxx Fs Ryx|Wyx F Rxx",
    // The same, with a part of a thread in another one.
    "Wxs > Rys|Rzx Wys Rxs",
    "Wxs < Rys|Rzx Wys Rxs",
    "Wxx > Ryx|Wyx > Rxx",
    // Message passing, and release sequences.
    "Wx Wy|Ry Rx",
    "Wxn Wyr|Rya Rxn",
    "Wxx Fr Wyx|Ryx Fa Rxx",
    "Wxx Fr Wyn|Rya Rxx",
    "Wxx Wyr|Ryn Fa Rxx",
    "Wxx Wyr|Uy|Rya Rxx",
    "Wxx Wyr Wyx|Rya Rxx",
    // Two threads.
    "Wx Wy|Wy Wx",
    "Wx Wy|Ry Wx",
    "Wx Wy|Wy Rx",
    "Wxx Fs Wyx|Wyx Fs Rxx",
    // Independent reads of independent writes.
    "Wx|Wy|Rx Ry|Ry Rx",
    "Wxs|Wys|Rxs Rys|Rzx Rys Rxs",
    "Wxx|Wyx|Rxs Rys|Rys Rxs",
    "Wxs|Wys|Rxa Rys|Rya Rxs",
    "Wxx|Wyx|Rxx Fs Ryx|Ryx Fs Rxx",
    // Causality over three threads.
    "Wx|Rx Wy|Ry Rx",
    "Wx Wy|Ry Wz|Rz Rx",
    "Wx|Rx Ry|Wy Rx",
    "Wxx|Rxx Fs Ryx|Wyx Fs Rxx",
    "Wxs Wyr|Rya Rzs|Wzs Rxs",
    "Wxx Wyr|Rya Fs Rzx|Wzx Fs Rxx",
    "Wx Wy|Wy Wz|Rz Rx",
    "Wxs Wyr|Uys Rzx|Wzs Rxs",
    "Wxs Wyr|Uys Ryx|Wys Rxs",
];

/// A random variant of a test: most of its orderings, and something added or left out.
pub(super) fn random_classic(random: &mut Random) -> LitmusProgram {
    let test = *random.pick(TESTS);
    let mut author = Author { default: None, random };
    if author.random.one_in(2) {
        author.default = Some(*author.random.pick(&[Relaxed, AcqRel, SeqCst]));
    }
    let mut threads = Vec::new();
    let mut split = Vec::new();
    for thread in test.split('|') {
        author.thread(thread, &mut threads, &mut split);
    }
    for (parent, code, joins) in split {
        let child = threads.len();
        threads.push(code);
        let place = threads[parent].iter().position(|one| *one == spawn(HERE)).unwrap_or(0);
        threads[parent][place] = spawn(child);
        if joins {
            threads[parent].insert(place + 1, join(child));
        }
    }
    author.change(&mut threads);
    LitmusProgram::new(threads)
}

/// Stands for a thread whose number is not known yet.
const HERE: usize = usize::MAX;

struct Author<'a> {
    random: &'a mut Random,
    /// The ordering of accesses that have none in the test; without it, any.
    default: Option<Order>,
}

/// A part of a thread that another one does: whose it was, its code, and whether it is joined.
type Part = (usize, Vec<Instruction>, bool);

impl Author<'_> {
    fn thread(&mut self, text: &str, threads: &mut Vec<Vec<Instruction>>, split: &mut Vec<Part>) {
        let mut code = Vec::new();
        let number = threads.len();
        let mut words = text.split(' ');
        while let Some(word) = words.next() {
            match word {
                ">" => {
                    let rest = words.by_ref().enumerate();
                    let rest = rest.map(|(at, word)| self.instruction(word, at + 4)).collect();
                    code.push(spawn(HERE));
                    split.push((number, rest, false));
                }
                "<" => {
                    split.push((number, std::mem::take(&mut code), true));
                    code.push(spawn(HERE));
                }
                _ => code.push(self.instruction(word, code.len())),
            }
        }
        threads.push(code);
    }

    fn instruction(&mut self, word: &str, into: usize) -> Instruction {
        let mut letters = word.chars();
        let kind = letters.next();
        if kind == Some('F') {
            let given = letters.next().and_then(ordering);
            let any = *self.random.pick(&[Acquire, Release, AcqRel, SeqCst]);
            return fence(given.filter(|_| !self.random.one_in(8)).unwrap_or(any));
        }
        let at = match letters.next() {
            Some('x') => 0,
            Some('y') => 1,
            _ => 2,
        };
        let given = letters.next().and_then(ordering).or(self.default);
        let given = given.filter(|_| !self.random.one_in(8));
        match kind {
            Some('W') => {
                let any = *self.random.pick(&[Relaxed, Release, SeqCst, SeqCst]);
                let order = given.unwrap_or(any);
                store(at, 1, if order == AcqRel { Release } else { order })
            }
            Some('R') => {
                let any = *self.random.pick(&[Relaxed, Acquire, SeqCst, SeqCst]);
                let order = given.unwrap_or(any);
                load(into, at, if order == AcqRel { Acquire } else { order })
            }
            _ => {
                let any = *self.random.pick(&[Relaxed, Acquire, Release, AcqRel, SeqCst]);
                let order = given.unwrap_or(any);
                if kind == Some('U') {
                    return add(into, at, 1, order);
                }
                cas(into, at, (7, 8), (order, order.of_read_part()))
            }
        }
    }

    /// Adds an instruction, or leaves one out.
    fn change(&mut self, threads: &mut [Vec<Instruction>]) {
        let thread = self.random.below(threads.len());
        let code = &mut threads[thread];
        let place = self.random.below(code.len() + 1);
        match self.random.below(8) {
            0 => {
                let order = *self.random.pick(&[Acquire, Release, AcqRel, SeqCst]);
                code.insert(place, fence(order));
            }
            1 => code.insert(place, load(7, self.random.below(2), Relaxed)),
            2 => code.insert(place, store(self.random.below(2), 2, Relaxed)),
            3 if place < code.len() => {
                let is_fixed =
                    |one: &Instruction| matches!(one, Instruction::Spawn(_) | Instruction::Join(_));
                if !is_fixed(&code[place]) {
                    code.remove(place);
                }
            }
            _ => {}
        }
    }
}

fn ordering(letter: char) -> Option<Order> {
    match letter {
        's' => Some(SeqCst),
        'r' => Some(Release),
        'a' => Some(Acquire),
        'x' => Some(Relaxed),
        'n' => Some(NonAtomic),
        _ => None,
    }
}
