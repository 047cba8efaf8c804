//! Random programs with reader-writer locks.

use crate::litmus::{lock, share, skip_unless, unlock, unshare};

use super::{Author, Code};

impl Author<'_> {
    /// Sections of readers and writers: one after the other, nested in those of another lock, some without an end, some
    /// begun depending on what was read.
    pub(super) fn readers(&mut self) -> Vec<Code> {
        let threads = 2 + self.random.below(3);
        let most_sections = if threads == 4 { 1 } else { 2 };
        let locks = 1 + usize::from(self.random.one_in(4));
        (0..threads)
            .map(|_| {
                let mut code: Code = Vec::new();
                for _ in 0..1 + self.random.below(most_sections) {
                    if self.random.one_in(3) {
                        let (into, at) = (3 + code.len() % 4, self.random.below(2));
                        let access = if self.random.one_in(6) {
                            self.any_fence()
                        } else {
                            self.access(into, at)
                        };
                        code.push(access);
                    }
                    let (section, is_over) = self.section(locks, threads);
                    if code.len() == 1 && self.random.one_in(4) {
                        let condition = self.condition(4);
                        code.push(skip_unless(condition, section.len()));
                    }
                    code.extend(section);
                    // What a thread holds it does not take again.
                    if !is_over {
                        break;
                    }
                }
                if self.random.one_in(3) {
                    let at = self.random.below(2);
                    code.push(self.access(7, at));
                }
                code
            })
            .collect()
    }

    /// A section, and whether it has an end.
    fn section(&mut self, locks: usize, threads: usize) -> (Code, bool) {
        let mutex = self.random.below(locks);
        let reads = !self.random.one_in(3);
        let (begin, end) =
            if reads { (share(mutex), unshare(mutex)) } else { (lock(mutex), unlock(mutex)) };
        let mut code = vec![begin];
        let at = self.random.below(2);
        code.extend(match self.random.below(4) {
            0 if threads < 4 => self.body(at),
            1 => Vec::new(),
            _ => vec![self.access(1, at)],
        });
        if locks == 2 && threads == 2 && self.random.one_in(3) {
            let other = 1 - mutex;
            let is_read = self.random.one_in(2);
            code.extend(if is_read {
                [share(other), unshare(other)]
            } else {
                [lock(other), unlock(other)]
            });
        }
        let is_over = !self.random.one_in(10);
        if is_over {
            code.push(end);
        }
        (code, is_over)
    }
}
