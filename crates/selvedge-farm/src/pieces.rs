//! Texts that are larger than a message travel in pieces.

use std::collections::BTreeMap;

/// What the line before a piece takes at most, and what the server adds.
const ROOM: usize = 1024;
/// No piece is smaller.
const SMALLEST: usize = 1024;

/// Divides a text into messages of at most so many bytes. `name` is the same for all of them, and for no other text.
pub(crate) fn split(name: &str, text: &str, most: usize) -> Vec<Vec<u8>> {
    let size = most.saturating_sub(ROOM).max(SMALLEST);
    let bytes = text.as_bytes();
    let number = bytes.len().div_ceil(size).max(1);
    let message = |nth: usize| {
        let start = nth * size;
        let end = bytes.len().min(start + size);
        let mut message = format!("{name} {nth} {number}\n").into_bytes();
        message.extend_from_slice(&bytes[start..end]);
        message
    };
    (0..number).map(message).collect()
}

/// A piece.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    name: String,
    nth: usize,
    /// How many there are.
    pub(crate) number: usize,
    bytes: Vec<u8>,
}

impl Piece {
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let end = message.iter().position(|&byte| byte == b'\n')?;
        let mut words = std::str::from_utf8(&message[..end]).ok()?.split(' ');
        let name = words.next()?.to_owned();
        let (nth, number) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let is_whole = words.next().is_none() && nth < number;
        is_whole.then(|| Self { name, nth, number, bytes: message[end + 1..].to_vec() })
    }
}

/// Puts pieces together, in whatever order they come.
#[derive(Default)]
pub(crate) struct Pieces(BTreeMap<String, BTreeMap<usize, Vec<u8>>>);

impl Pieces {
    /// Adds a piece. Returns the text if it is complete.
    pub(crate) fn add(&mut self, piece: Piece) -> Option<String> {
        let pieces = self.0.entry(piece.name.clone()).or_default();
        pieces.insert(piece.nth, piece.bytes);
        if pieces.len() < piece.number {
            return None;
        }
        let pieces = self.0.remove(&piece.name)?;
        String::from_utf8(pieces.into_values().flatten().collect()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_text_again() {
        let text: String = (0..3_000).map(|n| format!("{n} é ")).collect();
        for most in [0, 3_000, 1_000_000] {
            let mut all = split("name", &text, most);
            assert!(all.iter().all(|piece| piece.len() <= most.max(SMALLEST) + ROOM));
            all.reverse();
            let mut pieces = Pieces::default();
            let mut whole = None;
            for message in &all {
                assert_eq!(whole, None);
                whole = pieces.add(Piece::read(message).expect("a piece"));
            }
            assert_eq!(whole.as_deref(), Some(text.as_str()));
        }
        assert_eq!(split("a", "", 0).len(), 1);
        assert_eq!(Piece::read(b"a 1 1\nx"), None);
        assert_eq!(Piece::read(b"a 0\nx"), None);
    }

    #[test]
    fn pieces_of_several_texts_do_not_mix() {
        let (one, other) = ("a".repeat(3_000), "b".repeat(3_000));
        let (ones, others) = (split("1", &one, 0), split("2", &other, 0));
        let mut pieces = Pieces::default();
        let mut found = Vec::new();
        for (a, b) in ones.iter().zip(&others) {
            found.extend(pieces.add(Piece::read(a).expect("a piece")));
            found.extend(pieces.add(Piece::read(b).expect("a piece")));
        }
        assert_eq!(found, [one, other]);
    }
}
