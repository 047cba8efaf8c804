//! `selvedge serve`: a workbench in the browser, for this machine alone.
//!
//! It listens on 127.0.0.1 and answers only requests with the token in its address. A program comes with the request, and is checked
//! in a process of its own, with limits; the only files are those of that process, in a private folder. `http.rs` has the protocol,
//! `routes.rs` which requests are allowed, `jobs.rs` the processes.

mod diagnose;
mod examples;
mod http;
mod jobs;
#[cfg(test)]
mod looks;
mod ndjson;
mod routes;
mod token;

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::args::ServeArgs;
use crate::exit::{self, Exit, Failure};
use crate::screen::Screen;
use routes::Workbench;

/// More connections at once are refused: each is a thread.
const MOST_CONNECTIONS: usize = 64;

/// Serves until it is interrupted.
pub(crate) fn run(args: &ServeArgs, screen: &Screen) -> Result<Exit, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|error| {
        Failure::User(format!(
            "port {} cannot be used: {error}\n  choose another one with --port, or leave it out for any that is free",
            args.port
        ))
    })?;
    let port = listener.local_addr().map_or(args.port, |address| address.port());
    let workbench = Arc::new(Workbench::new(port, args)?);
    let handler = Arc::clone(&workbench);
    // Without a handler signals end the process as they always do; then its folder stays.
    let _ = ctrlc::set_handler(move || {
        handler.end();
        std::process::exit(exit::INTERRUPTED);
    });
    screen.print(&format!(
        "the workbench is at http://127.0.0.1:{port}/{}/\n  the address contains a token, and only this machine can open it; Ctrl-C ends the workbench\n",
        workbench.token()
    ))?;
    serve(&listener, &workbench);
    Ok(Exit::Good)
}

fn serve(listener: &TcpListener, workbench: &Arc<Workbench>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        if open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
            let busy = http::Response::refusal(503, "too many connections at once");
            let _ = http::write(&mut stream, &busy);
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (workbench, counted) = (Arc::clone(workbench), Arc::clone(&open));
        let connection = std::thread::Builder::new().name("connection".to_owned());
        let started = connection.spawn(move || {
            // The client may have disconnected.
            let _ = workbench.answer(stream);
            counted.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
