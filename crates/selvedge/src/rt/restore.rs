//! Static data, and what the closure captured: set back after every execution.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use super::image::points_to_memory;

/// How to set something back that outlives an execution.
pub(crate) type Reset = Box<dyn FnOnce()>;

/// What is to be set back, and how.
pub(crate) struct Outliving {
    /// Addresses of what is set back by that.
    covers: Range<usize>,
    reset: Reset,
}

impl Outliving {
    /// Returns whether what lies at an address was made in this execution, or is set back with this.
    pub(super) fn covers(&self, address: usize) -> bool {
        self.covers.contains(&address)
    }

    pub(super) fn reset(self) {
        (self.reset)();
    }
}

/// The contents that objects had when a check first used them, by address.
pub(crate) type Firsts = BTreeMap<usize, Rc<[MaybeUninit<u8>]>>;

/// How the content of an object that outlives an execution is set back.
pub(crate) enum Restorer {
    /// Like this.
    With(Reset),
    /// By dropping what lies at these addresses. `spends`: whether what makes it anew is used up, unless it
    /// lies in a static.
    Empties { covers: Range<usize>, reset: Reset, spends: bool },
    /// As the bytes that it had at first. `owns`: whether dropping it does something.
    Bytes { content: *mut u8, length: usize, drop: Reset, owns: bool },
}

/// Why something cannot be set back: it owns memory, and a copy of its bytes would own it, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// It lies in no static.
    Outside,
    /// It lies in a static, but is not what the compiler made.
    MadeLater,
}

impl Restorer {
    /// What restores the content of a value that lies at `content`.
    ///
    /// # Safety
    /// The pointer is valid for as long as the execution may touch it, and nothing uses the value
    /// when the reset runs.
    pub(crate) unsafe fn of<T: ?Sized>(content: *mut T) -> Self {
        // SAFETY: the caller promises that the pointer is valid.
        let length = unsafe { size_of_val(&*content) };
        let drop: Box<dyn FnOnce() + '_> = Box::new(move || {
            // SAFETY: the caller promises that nothing uses the value.
            unsafe { std::ptr::drop_in_place(content) };
        });
        // SAFETY: only the lifetime changes; the caller promises that the pointer stays valid.
        let drop = unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Reset>(drop) };
        let owns = std::mem::needs_drop::<T>();
        Restorer::Bytes { content: content.cast::<u8>(), length, drop, owns }
    }

    /// `pristine`: whether it was never used. `address`: of its object.
    pub(super) fn reset(
        self,
        pristine: bool,
        address: usize,
        is_static: bool,
        firsts: &mut Firsts,
    ) -> Result<Outliving, Refused> {
        let (content, length, drop, owns) = match self {
            Restorer::With(reset) => return Ok(Outliving { covers: 0..0, reset }),
            Restorer::Empties { spends: true, .. } if !is_static => return Err(Refused::Outside),
            Restorer::Empties { covers, reset, .. } => return Ok(Outliving { covers, reset }),
            Restorer::Bytes { content, length, drop, owns } => (content, length, drop, owns),
        };
        if owns && !is_static {
            return Err(Refused::Outside);
        }
        let known = firsts.get(&address).filter(|first| !pristine && first.len() == length);
        let first = match known {
            Some(first) => Rc::clone(first),
            None => {
                // SAFETY: the value is valid and `length` bytes long.
                let bytes = unsafe {
                    std::slice::from_raw_parts(content.cast::<MaybeUninit<u8>>(), length)
                };
                if owns && points_to_memory(content as usize, length) {
                    return Err(Refused::MadeLater);
                }
                let first: Rc<[MaybeUninit<u8>]> = bytes.into();
                firsts.insert(address, Rc::clone(&first));
                first
            }
        };
        let covers = content as usize..content as usize + length;
        let reset = Box::new(move || {
            // A destructor that panics has no caller to report to.
            let _ = catch_unwind(AssertUnwindSafe(drop));
            // SAFETY: the value was just dropped, nothing else uses it, and it is as long as its first
            // bytes. They own nothing, so that a copy of them is a value, too.
            unsafe {
                std::ptr::copy_nonoverlapping(first.as_ptr(), content.cast(), length);
            }
        });
        Ok(Outliving { covers, reset })
    }
}
