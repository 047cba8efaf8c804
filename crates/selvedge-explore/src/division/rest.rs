//! What is left of some states when those who explore below them have come to an end.
//!
//! Where a search adds to what is explored from a state while it explores below it (`source`), a unit asks for steps from
//! states that are not its own: [`Ask`]. What it leads to does not depend on whether it gets them, so it is a unit like
//! any other. What is asked for is explored after all that is known to be explored from that state; so it is the same for any number
//! of workers if requests are granted in the order in which one worker alone comes to them. A [`Rest`] does that: it stands
//! behind the parts that can ask it, and knows what is explored from each of its states. Since a state is asked for one thread after
//! the other, and what sleeps when a thread is explored is those before it, each request that is granted is a unit at once, even
//! if no worker has begun with those before it.
//!
//! A *node* is a state on the way of a unit, by its number from the initial one on. Each part of a search has a *floor*: it
//! explores from the nodes with this number and higher ones, and asks for threads at lower ones. A rest has the parts before
//! it whose floor is above its own, as far as there is no other in between.
//!
//! Text: the nodes, joined by dots. Each has the names of the threads that are explored from it, in order: before the last `-` those
//! that come before the one that is on the way, which has `:` and the number of its alternative if that is not the first one; after `+`
//! those that come after it. `1-0.2`: in the initial state thread 1 was explored, and thread 0 is on the way; then thread 2.

use std::fmt;
use std::str::FromStr;

use selvedge_core::ThreadKey;

use super::frontier::{Part, Pending, Tally};

/// A request for a thread to be explored from a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ask {
    /// The state.
    pub node: usize,
    /// One of these threads: the first one, unless another is explored anyway.
    pub threads: Vec<ThreadKey>,
}

/// The threads that are explored from a state, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Node {
    pub(crate) threads: Vec<ThreadKey>,
    /// Which of them is on the way, and the number of its alternative.
    pub(crate) taken: Option<(usize, u32)>,
}

impl Node {
    /// Returns the threads before the one that is on the way.
    pub(crate) fn before(&self) -> &[ThreadKey] {
        &self.threads[..self.taken.map_or(self.threads.len(), |(index, _)| index)]
    }

    /// Returns it without what comes after the thread that is on the way.
    fn up_to_taken(&self) -> Self {
        let end = self.taken.map_or(self.threads.len(), |(index, _)| index + 1);
        Self { threads: self.threads[..end].to_vec(), taken: self.taken }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for thread in self.before().iter().filter(|_| self.taken.is_some()) {
            write!(f, "{thread}-")?;
        }
        let mut after = 0;
        if let Some((index, choice)) = self.taken {
            write!(f, "{}", self.threads[index])?;
            if choice > 0 {
                write!(f, ":{choice}")?;
            }
            after = index + 1;
        }
        self.threads[after..].iter().try_for_each(|thread| write!(f, "+{thread}"))
    }
}

impl FromStr for Node {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut node = Self::default();
        let mut parts = text.split('+');
        let way = parts.next().ok_or(())?;
        if !way.is_empty() {
            let (names, choice) = way.split_once(':').unwrap_or((way, "0"));
            for name in names.split('-') {
                node.threads.push(name.parse().map_err(|_| ())?);
            }
            node.taken = Some((node.threads.len() - 1, choice.parse().map_err(|_| ())?));
        }
        for name in parts {
            node.threads.push(name.parse().map_err(|_| ())?);
        }
        Ok(node)
    }
}

/// The nodes from the initial state on.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Nodes(pub(crate) Vec<Node>);

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, node) in self.0.iter().enumerate() {
            write!(f, "{}{node}", if index > 0 { "." } else { "" })?;
        }
        Ok(())
    }
}

impl FromStr for Nodes {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.split('.').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

/// What is left of some states on the way to a node when all before it have come to an end: what they ask for.
#[derive(Clone, PartialEq, Debug)]
pub struct Rest {
    /// The number of the first node that can be asked; the last one is the last of `nodes`.
    pub(crate) floor: usize,
    /// All that is in them is explored by somebody.
    pub(crate) nodes: Nodes,
    /// Its estimated share of the search.
    pub(crate) share: f64,
}

impl Rest {
    /// Returns it as a unit, which no worker can run.
    pub fn pending(&self) -> Pending {
        Pending { unit: self.nodes.to_string(), share: self.share, floor: self.floor }
    }

    /// Returns the rest that was written as a unit; nothing if this is none.
    pub fn of(pending: &Pending) -> Option<Self> {
        let &Pending { share, floor, .. } = pending;
        let nodes: Nodes = pending.unit.parse().ok()?;
        let (last, way) = nodes.0.split_last()?;
        let is_one = last.taken.is_none() && way.iter().all(|node| node.taken.is_some());
        (is_one && floor <= way.len()).then_some(Self { floor, nodes, share })
    }

    /// Grants requests, which come in order. Returns what takes the place of the rest.
    fn grant(mut self, mut asks: Vec<Ask>) -> Vec<Part> {
        let mut parts = Vec::new();
        // Each node has a list of its own, so only the order of requests to the same one matters.
        asks.sort_by_key(|ask| std::cmp::Reverse(ask.node));
        for Ask { node, threads } in asks {
            let is_known = |known: &Node| threads.iter().any(|it| known.threads.contains(it));
            let (Some(thread), Some(known)) = (threads.first(), self.nodes.0.get(node)) else {
                continue;
            };
            if is_known(known) {
                continue;
            }
            if node + 1 < self.nodes.0.len() {
                // What is deeper comes first, with what may still be asked for there.
                parts.push(Part::Rest(Self { floor: node + 1, share: 0.0, ..self.clone() }));
                self.nodes.0.truncate(node + 1);
                self.nodes.0[node].taken = None;
            }
            let last = &mut self.nodes.0[node];
            last.threads.push(thread.clone());
            let taken = Some((last.threads.len() - 1, 0));
            let way = self.nodes.0[..node].iter().map(Node::up_to_taken);
            let last = Node { taken, ..self.nodes.0[node].clone() };
            let unit = Nodes(way.chain([last]).collect()).to_string();
            self.share /= 2.0;
            parts.push(Part::ToDo(Pending { unit, share: self.share, floor: node + 1 }));
        }
        parts.push(Part::Rest(self));
        parts
    }
}

/// A part of a search, in a list of parts.
pub(super) trait Piece {
    fn floor(&self) -> usize;

    /// Returns what came of it, if it was run.
    fn done(&mut self) -> Option<&mut Tally>;

    fn rest(&self) -> Option<&Rest>;
}

/// Grants what was asked for by parts that have nothing to be run before them that can ask the same rest. Rests that no part can ask any
/// more are removed.
pub(super) fn settle<P: Piece>(pieces: &mut Vec<P>, mut piece: impl FnMut(Part) -> P) {
    let mut at = 0;
    while at < pieces.len() {
        let Some(floor) = pieces[at].rest().map(|rest| rest.floor) else {
            at += 1;
            continue;
        };
        let below = pieces[..at].iter().rev().take_while(|piece| piece.floor() > floor).count();
        if below == 0 {
            let share = pieces.remove(at).rest().map_or(0.0, |rest| rest.share);
            if let Some(before) = at.checked_sub(1).and_then(|before| pieces[before].done()) {
                before.share += share;
            }
            continue;
        }
        let Some(first) = pieces[at - below].done() else {
            at += 1;
            continue;
        };
        first.floor = floor;
        let (asks, others) = first.asks.drain(..).partition(|ask| ask.node >= floor);
        first.asks = others;
        let granted = pieces[at].rest().map(|rest| rest.clone().grant(asks)).unwrap_or_default();
        pieces.splice(at..=at, granted.into_iter().map(&mut piece));
    }
}

#[cfg(test)]
mod tests;
