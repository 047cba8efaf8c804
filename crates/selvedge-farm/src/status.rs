//! Which jobs there are; removing one.

use crate::job::Posted;
use crate::leader;
use crate::names::{ALL_UNITS, JobName};
use crate::server::{Error, Server, Trouble, codes};

/// A job on a server.
#[derive(Clone, PartialEq, Debug)]
pub struct JobStatus {
    /// Its name.
    pub name: JobName,
    /// The program's file, as the user named it; nothing if the job is not complete.
    pub file: Option<String>,
    /// The version and the build of the tool that submitted it.
    pub version: String,
    /// Where the submitter runs, or ran.
    pub submitter: Option<String>,
    /// Whether the submitter said that it left.
    pub has_left: bool,
    /// Executions that were added up, and the share of the search.
    pub executions: u64,
    /// The share of the search.
    pub share: f64,
    /// Batches that wait for a worker.
    pub waiting: u64,
    /// Batches at work.
    pub at_work: u64,
    /// Workers that wait for a batch.
    pub idle: u64,
    /// What its streams take on the server.
    pub bytes: u64,
}

/// Returns all jobs of a server, by name.
///
/// # Errors
/// If the server does not answer.
pub fn jobs(server: &Server) -> Result<Vec<JobStatus>, Error> {
    let found = || -> Result<Vec<JobStatus>, Trouble> {
        let mut names: Vec<JobName> =
            server.streams(ALL_UNITS)?.iter().filter_map(|name| JobName::of_units(name)).collect();
        names.sort();
        let mut all = Vec::new();
        for name in names {
            match status(server, name) {
                // It was removed in between.
                Err(trouble) if trouble.is(codes::NO_STREAM) => {}
                other => all.push(other?),
            }
        }
        Ok(all)
    };
    found().map_err(|trouble| server.error(&trouble, "be looked at"))
}

fn status(server: &Server, name: JobName) -> Result<JobStatus, Trouble> {
    let posted = Posted::find(server, &name)?;
    let word = leader::last_word(server, &name)?.map(|(_, word)| word);
    let consumer = server.consumer(&name.units_stream()).ok();
    let mut bytes = 0;
    for stream in [name.state_stream(), name.units_stream(), name.results_stream()] {
        bytes += server.stream(&stream).map_or(0, |state| state.bytes);
    }
    Ok(JobStatus {
        file: posted.as_ref().map(|posted| posted.job.file.clone()),
        version: posted.map(|posted| posted.job.version).unwrap_or_default(),
        submitter: word.as_ref().map(|word| word.who.clone()),
        has_left: word.as_ref().is_none_or(|word| word.has_left),
        executions: word.as_ref().map_or(0, |word| word.executions),
        share: word.map_or(0.0, |word| word.share),
        waiting: consumer.map_or(0, |consumer| consumer.num_pending),
        at_work: consumer.map_or(0, |consumer| consumer.num_ack_pending),
        idle: consumer.map_or(0, |consumer| consumer.num_waiting),
        bytes,
        name,
    })
}

/// Removes a job. Returns whether there was one.
///
/// # Errors
/// If its submitter is there, unless `force` says that this does not matter, or the server refuses.
pub fn clean(server: &Server, name: &JobName, force: bool) -> Result<bool, Error> {
    let refused = |trouble: &Trouble| server.error(trouble, "be removed");
    if !force {
        match leader::listen(server, name) {
            Ok(Some(word)) => {
                return Err(Error(format!(
                    "the job {name} has a submitter: {}\n  end that, or add --force",
                    word.who
                )));
            }
            Err(trouble) if !trouble.is(codes::NO_STREAM) => return Err(refused(&trouble)),
            _ => {}
        }
    }
    remove(server, name).map_err(|trouble| refused(&trouble))
}

/// Removes all of a job that is there. Returns whether there was something.
pub(crate) fn remove(server: &Server, name: &JobName) -> Result<bool, Trouble> {
    let mut was_there = false;
    // The queue first: workers find jobs by it. The state last: submitters find jobs by it, and see that a removal was interrupted.
    for stream in [name.units_stream(), name.results_stream(), name.state_stream()] {
        match server.delete_stream(&stream) {
            Ok(()) => was_there = true,
            Err(trouble) if trouble.is(codes::NO_STREAM) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(was_there)
}
