//! `selvedge farm status` and `selvedge farm clean`.

use selvedge_farm::JobStatus;
use selvedge_report::grouped;
use serde::Serialize;

use crate::args::{FarmCleanArgs, FarmStatusArgs};
use crate::exit::{Exit, Failure};
use crate::screen::Screen;

/// A job as JSON.
#[derive(Serialize)]
struct JobJson<'a> {
    job: String,
    file: Option<&'a str>,
    version: &'a str,
    submitter: Option<&'a str>,
    submitter_left: bool,
    executions: u64,
    share: f64,
    batches_waiting: u64,
    batches_at_work: u64,
    workers_idle: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct StatusJson<'a> {
    server: &'a str,
    jobs: Vec<JobJson<'a>>,
}

/// Shows the jobs on a server.
pub(super) fn run(args: &FarmStatusArgs, screen: &Screen) -> Result<Exit, Failure> {
    let server = super::connect(&args.access)?;
    let jobs = selvedge_farm::jobs(&server).map_err(super::failure)?;
    let text = if args.json {
        let jobs = jobs.iter().map(json).collect();
        selvedge_report::to_text(&StatusJson { server: server.shown(), jobs })
    } else if jobs.is_empty() {
        format!("no jobs on {}\n", server.shown())
    } else {
        jobs.iter().map(text).collect()
    };
    screen.print(&text)?;
    Ok(Exit::Good)
}

fn json(job: &JobStatus) -> JobJson<'_> {
    JobJson {
        job: job.name.to_string(),
        file: job.file.as_deref(),
        version: &job.version,
        submitter: job.submitter.as_deref(),
        submitter_left: job.has_left,
        executions: job.executions,
        share: job.share,
        batches_waiting: job.waiting,
        batches_at_work: job.at_work,
        workers_idle: job.idle,
        bytes: job.bytes,
    }
}

fn text(job: &JobStatus) -> String {
    let file = job.file.as_deref().unwrap_or("(not complete)");
    let submitter = match (&job.submitter, job.has_left) {
        (Some(who), false) => who.clone(),
        (Some(who), true) => format!("none; the last one was {who}"),
        (None, _) => "none".to_owned(),
    };
    format!(
        "{}\n  program    {file}, selvedge {}\n  submitter  {submitter}\n  done       {} executions\n  \
         batches    {} waiting, {} at work\n  workers    {} idle\n  storage    {} kB\n",
        job.name,
        job.version,
        grouped(job.executions),
        grouped(job.waiting),
        grouped(job.at_work),
        grouped(job.idle),
        grouped(job.bytes.div_ceil(1_000)),
    )
}

/// Removes jobs from a server.
pub(super) fn clean(args: &FarmCleanArgs, screen: &Screen) -> Result<Exit, Failure> {
    let server = super::connect(&args.access)?;
    let names = match &args.job {
        Some(name) => vec![name.clone()],
        None => {
            let jobs = selvedge_farm::jobs(&server).map_err(super::failure)?;
            jobs.into_iter().map(|job| job.name).collect()
        }
    };
    for name in names {
        if selvedge_farm::clean(&server, &name, args.force).map_err(super::failure)? {
            screen.print(&format!("removed the job {name}\n"))?;
        } else if args.job.is_some() {
            return Err(Failure::User(format!(
                "there is no job {name} on {}\n  list them: selvedge farm status",
                server.shown()
            )));
        }
    }
    Ok(Exit::Good)
}
