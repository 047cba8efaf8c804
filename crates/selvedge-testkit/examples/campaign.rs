//! Goes through random programs of every profile with every explorer, and says how fast.
//!
//! `cargo run --release -p selvedge-testkit --example campaign -- SEED COUNT [ALGORITHM]`: `COUNT` programs in all,
//! of all profiles in turn, with the caps as they are and with tiny ones. Ctrl-C ends it with the summary so far. The exit
//! code is 1 if explorers disagree.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use selvedge_testkit::campaign::{Campaign, Checked};
use selvedge_testkit::generate;

#[derive(Clone, Default)]
struct Tally {
    tried: u64,
    compared: u64,
    failed: u64,
    spent: Duration,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
    let (Some(first), Some(count)) = (number(), number()) else {
        eprintln!(
            "campaign: expected SEED COUNT [ALGORITHM], two numbers and a name such as `quasi`"
        );
        return ExitCode::from(2);
    };
    let mut campaigns = Campaign::all();
    // The tests use brute force on larger programs; here the number of programs counts.
    campaigns.iter_mut().for_each(|campaign| campaign.most_interleavings = 500);
    if let Some(name) = arguments.next() {
        for campaign in &mut campaigns {
            campaign.variants.retain(|variant| variant.name() == name);
        }
        if campaigns[0].variants.is_empty() {
            eprintln!("campaign: `{name}` is not an algorithm");
            return ExitCode::from(2);
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    let interrupted = Arc::clone(&stop);
    ctrlc::set_handler(move || interrupted.store(true, Ordering::Relaxed))
        .expect("no other handler is set");
    // A panic is reported as a disagreement, with the program.
    std::panic::set_hook(Box::new(|_| {}));
    let mut tallies = vec![Tally::default(); campaigns.len()];
    let (start, mut shown) = (Instant::now(), Instant::now());
    for number in 0..count {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let which = (number % campaigns.len() as u64) as usize;
        let seed = first + number / campaigns.len() as u64;
        one(&campaigns[which], seed, &mut tallies[which]);
        if shown.elapsed() > Duration::from_secs(30) {
            shown = Instant::now();
            let rate = (number + 1) as f64 / start.elapsed().as_secs_f64();
            eprintln!("{} programs, {rate:.0}/s", number + 1);
        }
    }
    summary(&campaigns, &tallies, start.elapsed());
    ExitCode::from(u8::from(tallies.iter().any(|tally| tally.failed > 0)))
}

fn one(campaign: &Campaign, seed: u64, tally: &mut Tally) {
    let start = Instant::now();
    let sketch = generate(&campaign.profile, seed);
    tally.tried += 1;
    match campaign.check(&sketch) {
        Ok(Checked::Compared) => tally.compared += 1,
        Ok(Checked::TooLarge) => {}
        Err(failure) => {
            tally.failed += 1;
            let (small, failure) = campaign.shrink(sketch, failure);
            let (name, variant) = (campaign.name(), failure.variant.name());
            println!(
                "{variant} disagrees ({name}, seed {seed}): {}\n\n{small}",
                failure.disagreement
            );
        }
    }
    tally.spent += start.elapsed();
}

fn summary(campaigns: &[Campaign], tallies: &[Tally], spent: Duration) {
    println!("{:24} {:>9} {:>9} {:>7} {:>7}", "profile", "programs", "compared", "differ", "per s");
    let mut all = Tally::default();
    let line = |name: &str, tally: &Tally, seconds: f64| {
        let rate = tally.tried as f64 / seconds.max(1e-9);
        let Tally { tried, compared, failed, .. } = tally;
        println!("{name:24} {tried:>9} {compared:>9} {failed:>7} {rate:>7.0}");
    };
    for (campaign, tally) in campaigns.iter().zip(tallies) {
        line(&campaign.name(), tally, tally.spent.as_secs_f64());
        all.tried += tally.tried;
        all.compared += tally.compared;
        all.failed += tally.failed;
    }
    line("all", &all, spent.as_secs_f64());
}
