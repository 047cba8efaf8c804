//! Lists of different lengths, one after the other.

/// Numbered lists. What is in them is stored together.
#[derive(Debug)]
pub(super) struct Rows<T> {
    items: Vec<T>,
    /// Where each list begins. It ends where the next one begins.
    starts: Vec<u32>,
}

impl<T: Copy> Rows<T> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), starts: Vec::new() }
    }

    /// Returns how many lists there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Begins a new list.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.starts.push(u32::try_from(self.items.len()).expect("internal error: too many events"));
    }

    /// Adds to the last list.
    #[inline]
    pub(super) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Adds a whole list.
    #[inline]
    pub(super) fn push_row(&mut self, row: &[T]) {
        self.begin();
        self.items.extend_from_slice(row);
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> &[T] {
        let end = self.starts.get(row + 1).map_or(self.items.len(), |&start| start as usize);
        &self.items[self.starts[row] as usize..end]
    }

    /// Returns the items of all lists.
    pub(super) fn items_mut(&mut self) -> &mut [T] {
        &mut self.items
    }

    /// Keeps some of the lists, in place.
    pub(super) fn retain(&mut self, keep: &[bool]) {
        let (mut rows, mut len) = (0, 0);
        for row in (0..self.starts.len()).filter(|&row| keep[row]) {
            let start = self.starts[row] as usize;
            let end = start + self.get(row).len();
            self.items.copy_within(start..end, len);
            self.starts[rows] = len as u32;
            len += end - start;
            rows += 1;
        }
        self.items.truncate(len);
        self.starts.truncate(rows);
    }
}

/// Keeps some of the items of a list, in place.
pub(super) fn retain<T>(list: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    list.retain(|_| keep.next().is_some_and(|keep| *keep));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_what_they_are() {
        let lists: [&[u8]; 5] = [&[1, 2], &[], &[3], &[4, 5, 6], &[]];
        for number in 0..32 {
            let keep: Vec<bool> = (0..5).map(|bit| number >> bit & 1 == 1).collect();
            let mut rows = Rows::new();
            lists.iter().for_each(|list| rows.push_row(list));
            rows.retain(&keep);
            rows.begin();
            rows.push(7);
            let mut kept = lists.to_vec();
            retain(&mut kept, &keep);
            kept.push(&[7]);
            for (row, list) in kept.iter().enumerate() {
                assert_eq!(rows.get(row), *list);
            }
        }
    }
}
