//! The state of a channel as a word, under a memory model: how many messages wait, how many senders there are beside one, and
//! which side was dropped. Messages themselves lie in
//! real memory, in the order of the updates of the word.

use std::sync::mpsc::{TryRecvError, TrySendError};

use selvedge_core::{Bits, Order};

/// How the state of a channel with a bound is changed, and how it is seen that it cannot be: taking a message makes room, which a
/// sender waits for.
pub(super) const TAKES: (Order, Order) = (Order::AcqRel, Order::Acquire);
/// How a message is taken from one without a bound, and how it is seen that there is none.
pub(super) const HEARS: (Order, Order) = (Order::Acquire, Order::Acquire);

pub(super) const SENDERS_GONE: Bits = 1 << 63;
pub(super) const RECEIVER_GONE: Bits = 1 << 62;
/// One more sender.
pub(super) const SENDER: Bits = 1 << 32;

/// Returns how many messages wait.
pub(super) fn length(word: Bits) -> Bits {
    word & (SENDER - 1)
}

/// After sending: nothing is sent if the receiver is gone.
pub(super) fn sent(word: Bits) -> Bits {
    if word & RECEIVER_GONE == 0 { word + 1 } else { word }
}

/// After receiving, if there is a message.
pub(super) fn received(word: Bits) -> Bits {
    if length(word) > 0 { word - 1 } else { word }
}

/// Returns whether a receiver need not wait.
pub(super) fn has_message_or_end(word: Bits) -> bool {
    length(word) > 0 || word & SENDERS_GONE != 0
}

/// Returns whether a sender need not wait in a channel with this bound.
pub(super) fn has_room_or_end(word: Bits, bound: usize) -> bool {
    length(word) < bound as Bits || word & RECEIVER_GONE != 0
}

/// After a sender was cloned.
pub(super) fn with_sender(word: Bits) -> Bits {
    word + SENDER
}

/// After a sender was dropped.
pub(super) fn without_sender(word: Bits) -> Bits {
    let others = word & (RECEIVER_GONE - 1) & !(SENDER - 1);
    if others == 0 { word | SENDERS_GONE } else { word - SENDER }
}

/// After the receiver was dropped.
pub(super) fn without_receiver(word: Bits) -> Bits {
    word | RECEIVER_GONE
}

/// What a receiver that found no message says.
pub(super) fn nothing(word: Bits) -> TryRecvError {
    if word & SENDERS_GONE == 0 { TryRecvError::Empty } else { TryRecvError::Disconnected }
}

/// What a sender that found no room says.
pub(super) fn no_room<T>(word: Bits, message: T) -> TrySendError<T> {
    match word & RECEIVER_GONE == 0 {
        true => TrySendError::Full(message),
        false => TrySendError::Disconnected(message),
    }
}
