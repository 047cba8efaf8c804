//! Goes through random programs of every profile with every explorer, and says how many were compared and how fast.
//!
//! `cargo run --release -p selvedge-campaigns --bin campaign -- FIRST COUNT [--profile NAME]… [--explorer NAME]…`
//!
//! Program number N is always the same: its profile, whether the caps are as they are or tiny, and its seed, which is N. So
//! runs with other ranges add up to one large run. Ctrl-C ends it with the summary so far. The exit code is 1 if explorers
//! disagree, and 2 if the arguments are wrong.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use selvedge_testkit::campaign::{Campaign, Checked};
use selvedge_testkit::generate;

/// How often to say how far it is.
const BETWEEN_MESSAGES: Duration = Duration::from_secs(30);

/// What came of the programs of one campaign.
#[derive(Clone, Default)]
struct Tally {
    tried: u64,
    compared: u64,
    /// Classes and disagreements of each explorer.
    explorers: Vec<(u64, u64)>,
    spent: Duration,
}

impl Tally {
    fn of(explorers: usize) -> Self {
        Self { explorers: vec![(0, 0); explorers], ..Self::default() }
    }

    fn classes(&self) -> u64 {
        self.explorers.iter().map(|(classes, _)| classes).sum()
    }

    fn failed(&self) -> u64 {
        self.explorers.iter().map(|(_, failed)| failed).sum()
    }

    fn add(&mut self, other: &Tally) {
        self.tried += other.tried;
        self.compared += other.compared;
        self.spent += other.spent;
        for (sum, more) in self.explorers.iter_mut().zip(&other.explorers) {
            *sum = (sum.0 + more.0, sum.1 + more.1);
        }
    }
}

fn main() -> ExitCode {
    let (first, count, campaigns) = match arguments() {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("campaign: {message}");
            return ExitCode::from(2);
        }
    };
    // The expensive ones less often.
    let mix: Vec<usize> = campaigns
        .iter()
        .enumerate()
        .flat_map(|(index, campaign)| std::iter::repeat_n(index, campaign.profile.share))
        .collect();
    let stop = Arc::new(AtomicBool::new(false));
    let interrupted = Arc::clone(&stop);
    ctrlc::set_handler(move || interrupted.store(true, Ordering::Relaxed))
        .expect("no other handler is set");
    // A panic is reported as a disagreement, with the program.
    std::panic::set_hook(Box::new(|_| {}));
    let mut tallies = vec![Tally::of(campaigns[0].variants.len()); campaigns.len()];
    let (start, mut shown) = (Instant::now(), Instant::now());
    let mut next = first;
    while next - first < count && !stop.load(Ordering::Relaxed) {
        let which = mix[(next % mix.len() as u64) as usize];
        one(&campaigns[which], next, &mut tallies[which]);
        next += 1;
        if shown.elapsed() > BETWEEN_MESSAGES {
            shown = Instant::now();
            let rate = (next - first) as f64 / start.elapsed().as_secs_f64();
            let failed: u64 = tallies.iter().map(Tally::failed).sum();
            eprintln!("programs {first} to {}, {rate:.0}/s, {failed} disagreements", next - 1);
        }
    }
    println!("programs {first} to {next} (not included)");
    let mut all = Tally::of(campaigns[0].variants.len());
    tallies.iter().for_each(|tally| all.add(tally));
    all.spent = start.elapsed();
    by_profile(&campaigns, &tallies, &all);
    by_explorer(&campaigns, &tallies, &all);
    ExitCode::from(u8::from(all.failed() > 0))
}

/// The first number, how many, and what to compare.
fn arguments() -> Result<(u64, u64, Vec<Campaign>), String> {
    let mut campaigns = Campaign::all();
    for campaign in &mut campaigns {
        // The tests use brute force on larger programs; here the number of programs counts.
        (campaign.most_interleavings, campaign.most_asleep) = (500, 5_000);
    }
    let (mut numbers, mut profiles, mut explorers) = (Vec::new(), Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut name = || arguments.next().ok_or(format!("`{argument}` needs a name"));
        match argument.as_str() {
            "--profile" => profiles.push(name()?),
            "--explorer" => explorers.push(name()?),
            number => {
                numbers.push(number.parse::<u64>().map_err(|_| {
                    format!("`{number}` is not a number, `--profile` or `--explorer`")
                })?)
            }
        }
    }
    let [first, count] = numbers[..] else {
        return Err("expected FIRST COUNT, two numbers, then `--profile` and `--explorer`".into());
    };
    keep(&mut campaigns, &profiles, |campaign| campaign.profile.name.to_owned(), "profile")?;
    for campaign in &mut campaigns {
        keep(&mut campaign.variants, &explorers, |variant| variant.name(), "explorer")?;
    }
    Ok((first, count, campaigns))
}

/// Keeps what has one of these names, if there are any.
fn keep<T>(
    all: &mut Vec<T>,
    names: &[String],
    name_of: impl Fn(&T) -> String,
    what: &str,
) -> Result<(), String> {
    let known: Vec<String> = all.iter().map(&name_of).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        return Err(format!("`{unknown}` is no {what}: choose from {}", known.join(", ")));
    }
    all.retain(|one| names.is_empty() || names.contains(&name_of(one)));
    Ok(())
}

fn one(campaign: &Campaign, seed: u64, tally: &mut Tally) {
    let start = Instant::now();
    let sketch = generate(&campaign.profile, seed);
    tally.tried += 1;
    match campaign.check(&sketch) {
        Ok(Checked::Compared(classes)) => {
            tally.compared += 1;
            tally.explorers.iter_mut().zip(classes).for_each(|(sum, more)| sum.0 += more);
        }
        Ok(Checked::TooLarge) => {}
        Err(failure) => {
            let which = campaign.variants.iter().position(|variant| *variant == failure.variant);
            // The reference itself counts with the first explorer.
            tally.explorers[which.unwrap_or(0)].1 += 1;
            let (small, failure) = campaign.shrink(sketch, failure);
            let (name, variant) = (campaign.name(), failure.variant.name());
            println!(
                "{variant} disagrees ({name}, program {seed}): {}\n\n{small}",
                failure.disagreement
            );
        }
    }
    tally.spent += start.elapsed();
}

fn by_profile(campaigns: &[Campaign], tallies: &[Tally], all: &Tally) {
    let [a, b, c, d, e, f] = ["profile", "programs", "compared", "classes", "differ", "per s"];
    println!("\n{a:24} {b:>9} {c:>9} {d:>11} {e:>7} {f:>7}");
    let line = |name: &str, tally: &Tally| {
        let rate = tally.tried as f64 / tally.spent.as_secs_f64().max(1e-9);
        let Tally { tried, compared, .. } = tally;
        let (classes, failed) = (tally.classes(), tally.failed());
        println!("{name:24} {tried:>9} {compared:>9} {classes:>11} {failed:>7} {rate:>7.0}");
    };
    for (campaign, tally) in campaigns.iter().zip(tallies) {
        line(&campaign.name(), tally);
    }
    line("all", all);
}

/// How many classes were compared, and how often explorers disagreed.
fn by_explorer(campaigns: &[Campaign], tallies: &[Tally], all: &Tally) {
    let names: Vec<String> = campaigns[0].variants.iter().map(|variant| variant.name()).collect();
    let line = |head: &str, cells: &mut dyn Iterator<Item = String>| {
        print!("{head:24}");
        for (cell, name) in cells.zip(&names) {
            print!(" {cell:>width$}", width = name.len().max(9));
        }
        println!();
    };
    println!();
    line("classes compared", &mut names.iter().cloned());
    for (campaign, tally) in campaigns.iter().zip(tallies) {
        line(&campaign.name(), &mut tally.explorers.iter().map(|(classes, _)| classes.to_string()));
    }
    line("all", &mut all.explorers.iter().map(|(classes, _)| classes.to_string()));
    line("differ", &mut all.explorers.iter().map(|(_, failed)| failed.to_string()));
}
