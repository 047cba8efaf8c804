//! What cannot be done is said, with the reason and the next step.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use super::nats::{Nats, Worker, free_port};
use super::result;
use crate::common::{Folder, LOCKED, LOST, finish};

#[test]
fn a_server_that_is_not_there() {
    let folder = Folder::with("lost.sel", LOST);
    let url = format!("nats://user:secret@127.0.0.1:{}", free_port());
    for command in ["check lost.sel", "work", "status", "clean one"] {
        let run = folder.run(&format!("farm {command} --nats {url}")).exits(2);
        assert!(!run.err.contains("secret"), "{}", run.err);
        run.complains("cannot be reached").complains("nats-server -js");
    }
    let run = folder.run("farm status --nats http://:x").exits(2);
    run.complains("is not the address of a NATS server").complains("nats://host:4222");
}

#[test]
fn a_server_without_jetstream() {
    let Some(nats) = Nats::start("# no jetstream") else { return };
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run(&format!("farm check lost.sel --nats {}", nats.url())).exits(2);
    run.complains("has no JetStream").complains("start it with -js");
}

/// Says that it is a server of a version, and nothing else of use.
fn old_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let port = listener.local_addr().expect("it has an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let info = r#"INFO {"server_id":"x","version":"2.1.9","proto":1,"host":"h","port":1,"max_payload":1048576}"#;
            let _ = write!(stream, "{info}\r\n");
            let Ok(clone) = stream.try_clone() else { return };
            for line in BufReader::new(clone).lines() {
                if line.is_ok_and(|line| line.starts_with("PING")) {
                    let _ = stream.write_all(b"PONG\r\n");
                }
            }
        }
    });
    port
}

#[test]
fn a_server_that_is_too_old() {
    let folder = Folder::with("lost.sel", LOST);
    let url = format!("nats://127.0.0.1:{}", old_server());
    let run = folder.run(&format!("farm check lost.sel --nats {url}")).exits(2);
    run.complains("is NATS 2.1.9, and 2.9 is the oldest that will do");
}

#[test]
fn a_server_whose_storage_is_full() {
    let small = "jetstream { store_dir: store, max_file_store: 1KB }";
    let Some(nats) = Nats::start(small) else { return };
    let folder = Folder::with("lost.sel", LOST);
    let run =
        folder.run(&format!("farm check lost.sel --const N=5 --nats {}", nats.url())).exits(2);
    run.complains("its storage is full").complains("max_file_store").complains("nothing is lost");
}

#[test]
fn a_server_that_asks_for_a_password() {
    let users = "authorization { users: [ { user: me, password: secret } ] }";
    let Some(nats) = Nats::start(users) else { return };
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run(&format!("farm check lost.sel --nats {}", nats.url())).exits(2);
    run.complains("does not let this client in").complains("--creds");
    let url = format!("nats://me:secret@127.0.0.1:{}", nats.port());
    folder.run(&format!("farm status --nats {url}")).exits(0).says("no jobs on nats://127.0.0.1");
    let run = folder.run(&format!("farm status --nats {url} --creds lost.sel")).exits(2);
    run.complains("the credentials lost.sel cannot be used");
}

#[test]
fn two_submitters() {
    let Some(nats) = Nats::start("") else { return };
    let folder = Folder::with("lost.sel", LOST);
    let farm =
        format!("farm check lost.sel --const N=4 --keep-going --nats {} --job twice", nats.url());
    let first = folder.spawn(&farm);
    nats.wait_for(&folder, |job| job["submitter"].is_string());
    let second = folder.run(&farm).exits(2);
    second.complains("the job twice has a submitter already").complains("--job");
    // The first one is not disturbed.
    let worker = Worker::start(&nats, &folder, "--jobs 1");
    let alone = folder.run("check lost.sel --const N=4 --keep-going -a parsimonious");
    assert_eq!(result(&finish(first)), result(&alone));
    drop(worker);
}

#[test]
fn wrong_jobs() {
    let folder = Folder::with("lost.sel", LOST);
    for name in ["a.b", "a*", "a/b", "x-units"] {
        for command in ["check lost.sel --job", "work --job", "clean"] {
            let run = folder.run(&format!("farm {command} {name}")).exits(2);
            run.complains("the name of a job");
        }
    }
    let run = folder.run("farm check program.c").exits(2);
    run.complains("is a C program").complains("selvedge check program.c");
    let run = folder.run("farm check lost.sel --preemptions 2").exits(2);
    run.complains("--preemptions does not apply to `parsimonious`");

    let Some(nats) = Nats::start("") else { return };
    folder.write("locked.sel", LOCKED.as_bytes());
    let farm = |what: &str| {
        folder.run(&format!("farm check {what} --nats {} --job one --time 300ms", nats.url()))
    };
    farm("lost.sel").exits(3);
    for (other, why) in [
        ("locked.sel", "of another program"),
        ("lost.sel --const N=3", "of another program, or with other constants"),
        ("lost.sel --races", "with other options"),
    ] {
        farm(other).exits(2).complains(why).complains("selvedge farm clean one");
    }
}

/// The same version, but another executable.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_of_another_build() {
    let Some(nats) = Nats::start("") else { return };
    let folder = Folder::with("lost.sel", LOST);
    let mut bytes = std::fs::read(env!("CARGO_BIN_EXE_selvedge")).expect("it can be read");
    // What follows the sections is not looked at.
    bytes.extend_from_slice(b"another build");
    folder.write("other", &bytes);
    let other = folder.path().join("other");
    assert!(Command::new("chmod").arg("+x").arg(&other).status().expect("chmod runs").success());
    let farm = format!("farm check lost.sel --nats {} --job mine", nats.url());
    let check = folder.spawn(&farm);
    nats.wait_for(&folder, |job| job["submitter"].is_string());
    let work = |options: &str| {
        let mut command = Command::new(&other);
        command.args(["farm", "work", "--nats", &nats.url()]).args(options.split_whitespace());
        finish(folder.start(command))
    };
    work("--job mine")
        .exits(2)
        .complains("another build")
        .complains("start workers with the executable");
    work("--idle 2s").exits(0).complains("the job mine is left out: it is of another build");
    // And it cannot take the job over.
    let mut command = Command::new(&other);
    command.args(farm.split_whitespace());
    finish(folder.start(command)).exits(2).complains("of another build of selvedge");
    let worker = Worker::start(&nats, &folder, "--jobs 1");
    finish(check).exits(1);
    drop(worker);
}

#[test]
fn a_worker_ends_when_there_is_nothing_to_do() {
    let Some(nats) = Nats::start("") else { return };
    let folder = Folder::new();
    let began = std::time::Instant::now();
    let run = folder.run(&format!("farm work --nats {} --idle 1s --jobs 1", nats.url())).exits(0);
    run.complains("working for nats://127.0.0.1").complains("worked on 0 batches");
    assert!(began.elapsed() >= Duration::from_secs(1));
}
