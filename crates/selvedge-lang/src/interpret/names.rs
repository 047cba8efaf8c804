//! Numbers of threads and objects that come into being while the program runs.

use std::sync::{Arc, Mutex};

use selvedge_core::{ObjectId, ObjectKey, ThreadId, ThreadKey};

use crate::ir::ProcedureId;

/// Numbers given to threads and objects while running. They are kept for the whole search: the `nth` thread
/// or message of a creator has the same number in every execution.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) threads: Vec<ThreadName>,
    /// Per thread, the threads that it spawned in any execution.
    children: Vec<Vec<usize>>,
    /// Per thread, the messages that it sent in any execution.
    posts: Vec<Vec<ObjectId>>,
    first_free_object: u32,
    /// What the objects after those of the globals are.
    objects: Vec<Named>,
    /// The receiver of the names of threads.
    pub(crate) told: Option<ThreadNames>,
}

/// What threads are called, by their numbers.
pub type ThreadNames = Arc<Mutex<Vec<String>>>;

/// Who a thread is.
pub(crate) struct ThreadName {
    /// Who spawned it, and how many it spawned before; `None` for one that starts at the
    /// beginning.
    pub(crate) creator: Option<(ThreadId, u32)>,
    /// What it runs; of a spawned thread, what it ran most recently.
    pub(crate) procedure: ProcedureId,
    mailbox: ObjectId,
}

/// What an object is that does not belong to a global.
#[derive(Clone, Copy)]
pub(crate) enum Named {
    Mailbox(ThreadId),
    Life(ThreadId),
    Wake(ThreadId),
    Message(ThreadId, u32),
}

impl Names {
    /// Objects are numbered from `first_free_object` on.
    pub(crate) fn behind(first_free_object: u32) -> Self {
        Self { first_free_object, ..Self::default() }
    }

    pub(crate) fn add_thread(&mut self, creator: Option<(ThreadId, u32)>, procedure: ProcedureId) {
        let id = ThreadId::new(self.threads.len());
        let mailbox = self.add_object(Named::Mailbox(id));
        self.add_object(Named::Life(id));
        self.add_object(Named::Wake(id));
        self.threads.push(ThreadName { creator, procedure, mailbox });
        self.children.push(Vec::new());
        self.posts.push(Vec::new());
    }

    fn add_object(&mut self, what: Named) -> ObjectId {
        self.objects.push(what);
        ObjectId::new(self.first_free_object as usize + self.objects.len() - 1)
    }

    pub(crate) fn object(&self, object: ObjectId) -> Option<Named> {
        self.objects.get(object.index().checked_sub(self.first_free_object as usize)?).copied()
    }

    pub(crate) fn mailbox(&self, thread: usize) -> ObjectId {
        self.threads[thread].mailbox
    }

    #[inline]
    pub(crate) fn life(&self, thread: usize) -> ObjectId {
        ObjectId::new(self.threads[thread].mailbox.index() + 1)
    }

    pub(crate) fn wake(&self, thread: usize) -> ObjectId {
        ObjectId::new(self.threads[thread].mailbox.index() + 2)
    }

    /// Puts threads into an order that is the same in every system: by their creators, and when they were created.
    /// Their numbers are not: they are given in the order in which an exploration meets them.
    pub(crate) fn sort(&self, threads: &mut [usize]) {
        let is_spawned = |&thread: &usize| self.threads[thread].creator.is_some();
        if threads.iter().filter(|thread| is_spawned(thread)).nth(1).is_some() {
            threads.sort_by_cached_key(|&thread| self.thread_key(thread));
        } else {
            threads.sort_unstable();
        }
    }

    /// Returns the name of a thread that is the same in every system.
    pub(crate) fn thread_key(&self, thread: usize) -> ThreadKey {
        let mut path: Vec<u32> = Vec::new();
        let mut at = thread;
        while let Some((creator, nth)) = self.threads[at].creator {
            path.push(nth);
            at = creator.index();
        }
        path.iter().rev().fold(ThreadKey::root(at as u32), |creator, &nth| creator.child(nth))
    }

    /// Returns the name of an object that is the same in every system.
    pub(crate) fn object_key(&self, object: ObjectId) -> ObjectKey {
        let (kind, thread, nth) = match self.object(object) {
            None => return ObjectKey::declared(object.number()),
            Some(Named::Mailbox(thread)) => (0, thread, 0),
            Some(Named::Life(thread)) => (1, thread, 0),
            Some(Named::Wake(thread)) => (2, thread, 0),
            Some(Named::Message(thread, nth)) => (3, thread, nth),
        };
        ObjectKey::of_thread(&self.thread_key(thread.index()), kind, nth)
    }

    pub(crate) fn child(&self, creator: usize, nth: u32) -> Option<usize> {
        self.children[creator].get(nth as usize).copied()
    }

    pub(crate) fn adopt(&mut self, creator: usize, child: usize) {
        self.children[creator].push(child);
    }

    /// Returns the object of the `nth` message of a thread.
    pub(crate) fn message(&mut self, sender: usize, nth: u32) -> ObjectId {
        if let Some(&known) = self.posts[sender].get(nth as usize) {
            return known;
        }
        let object = self.add_object(Named::Message(ThreadId::new(sender), nth));
        self.posts[sender].push(object);
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of the beginning come first, then the others by their creators, whatever their numbers.
    #[test]
    fn threads_are_ordered_by_who_created_them() {
        let mut names = Names::behind(7);
        let creators = [None, None, Some((1, 0)), Some((0, 1)), Some((0, 0)), Some((4, 0))];
        for creator in creators {
            let creator = creator.map(|(thread, nth)| (ThreadId::new(thread), nth));
            names.add_thread(creator, ProcedureId::new(0));
        }
        let mut all = [5, 4, 3, 2, 1, 0];
        names.sort(&mut all);
        assert_eq!(all, [0, 1, 4, 5, 3, 2]);
        let mut one_is_spawned = [4, 1, 0];
        names.sort(&mut one_is_spawned);
        assert_eq!(one_is_spawned, [0, 1, 4]);
    }
}
