//! Memory that is never freed: at the end of an execution, blocks that nothing points to any more.
//!
//! A block is reachable if an aligned word of the program's variables, of a stack or of thread-local variables in use, or of a
//! reachable block is an address in it. What main's variables pointed to is not: main has returned.

use selvedge_core::{Violation, ViolationKind};

use crate::layout::{self, Region};
use crate::machine::{Machine, State};

impl Machine {
    /// Returns what is wrong with the memory at the end of an execution.
    pub(crate) fn leak(&self) -> Option<Violation> {
        let mut marked: Vec<Vec<bool>> =
            self.heap.arenas().iter().map(|blocks| vec![false; blocks.len()]).collect();
        let mut ranges = self.roots();
        while let Some((start, end)) = ranges.pop() {
            for at in (start.next_multiple_of(8)..end & !7).step_by(8) {
                // SAFETY: roots and blocks are mapped, and no code of the program runs now.
                let word = unsafe { (at as *const usize).read_volatile() };
                let Some((owner, Region::Heap)) = layout::region(word) else { continue };
                let Some(index) = self.heap.index(owner, word) else { continue };
                let block = &self.heap.arenas()[owner][index];
                let is_inside = word <= block.start + block.size.saturating_sub(1);
                if is_inside && block.freed.is_none() && !marked[owner][index] {
                    marked[owner][index] = true;
                    ranges.push((block.start, block.start + block.size));
                }
            }
        }
        let blocks = self.heap.arenas().iter().zip(&marked).flat_map(|(blocks, marked)| {
            blocks.iter().zip(marked).filter(|(block, marked)| !**marked && block.freed.is_none())
        });
        let mut lost = blocks.map(|(block, _)| block);
        let first = lost.next()?;
        let notes = match lost.count() {
            0 => Vec::new(),
            1 => vec!["so is one more block".to_owned()],
            more => vec![format!("so are {more} more blocks")],
        };
        Some(Violation {
            kind: ViolationKind::Leak,
            message: format!(
                "{} is never freed, and nothing points to it",
                self.block_name(first.start)
            ),
            places: self.place(first.made).into_iter().collect(),
            notes,
            thread: None,
        })
    }

    /// Returns where addresses of blocks are looked for first.
    fn roots(&self) -> Vec<(usize, usize)> {
        let mut roots = self.shared.module.variables();
        for (number, thread) in self.threads.iter().enumerate() {
            if matches!(thread.state, State::Absent | State::Finished) {
                continue;
            }
            let (limit, base) = layout::stack(number);
            if (limit..base).contains(&thread.frame) {
                roots.push((thread.frame, base));
            }
            let start = layout::tls(number).0;
            roots.push((start, start + self.shared.module.tls_size()));
        }
        roots
    }
}
