//! Channels without room: whether a message is there, whether the receiver is there to meet a sender, and how many
//! messages were taken.

use selvedge_core::Bits;

use super::words::{RECEIVER_GONE, SENDER, SENDERS_GONE};

const MESSAGE: Bits = 1;
const MEETS: Bits = 2;
const TAKEN: Bits = 4;

/// Returns how many messages were taken.
pub(super) fn taken(word: Bits) -> Bits {
    (word & (SENDER - 1)) / TAKEN
}

/// Returns whether the receiver is gone.
pub(super) fn is_left(word: Bits) -> bool {
    word & RECEIVER_GONE != 0
}

/// Returns whether a sender can leave its message, or need not.
pub(super) fn has_room_or_end(word: Bits) -> bool {
    word & MESSAGE == 0 || is_left(word)
}

/// Returns whether a sender that does not wait can.
pub(super) fn meets(word: Bits) -> bool {
    word & (MESSAGE | MEETS | RECEIVER_GONE) == MEETS
}

/// After that.
pub(super) fn sent(word: Bits) -> Bits {
    if is_left(word) { word } else { word | MESSAGE }
}

/// Returns whether a message is there.
pub(super) fn has_message(word: Bits) -> bool {
    word & MESSAGE != 0
}

/// Returns whether a receiver need not wait.
pub(super) fn has_message_or_end(word: Bits) -> bool {
    has_message(word) || word & SENDERS_GONE != 0
}

/// After receiving, if there is a message; the receiver is not there any more.
pub(super) fn received(word: Bits) -> Bits {
    if !has_message(word) {
        return word & !MEETS;
    }
    // The number of those taken may be too large for its place.
    let taken = (word + TAKEN) & (SENDER - 1) & !(TAKEN - 1);
    (word & !(SENDER - 1)) | taken
}

/// After receiving, or else the receiver is there to meet a sender.
pub(super) fn received_or_meets(word: Bits) -> Bits {
    if has_message_or_end(word) { received(word) } else { word | MEETS }
}
