//! Campaigns: random programs of a profile, every explorer against one reference.
//!
//! The reference is brute force where that ends within a budget of executions, and else `sleep`, the simplest
//! of the reductions: it looks at no races, and so shares no code with those that do. Both budgets are of work, not
//! of time: the same programs are compared on every machine.

use selvedge_core::Inconclusive;
use selvedge_explore::{Algorithm, Caps, Equivalence, Options};

use crate::classes::Classes;
use crate::compare::{self, Disagreement};
use crate::profile::Profile;
use crate::shrink::shrink;
use crate::sketch::Sketch;
use crate::subject::{Findings, Subject};
use crate::variant::Variant;

/// The bound on the interleavings of a program is so many times too high, often: it knows nothing of blocking.
const BLOCKING: f64 = 4.0;

/// No explorer may need so many times the executions of the reference.
const GENEROUS: u64 = 10;

/// What is compared on the programs of a profile.
pub struct Campaign {
    /// Which programs.
    pub profile: Profile,
    /// Which explorers.
    pub variants: Vec<Variant>,
    /// Where they stop trying.
    pub caps: Caps,
    /// Where the interpreter stops following code.
    pub followed: selvedge_lang::Caps,
    /// Brute force ends after so many executions.
    pub most_interleavings: u64,
    /// `sleep` ends after so many executions, redundant ones included.
    pub most_asleep: u64,
}

/// What came of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Checked {
    /// All agree. So many classes were compared, for each of the campaign's variants.
    Compared(Vec<u64>),
    /// No reference ends within its budget.
    TooLarge,
}

/// Which explorer failed, and how.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which explorer.
    pub variant: Variant,
    /// How.
    pub disagreement: Disagreement,
}

impl Campaign {
    /// All explorers but brute force, as they are.
    pub fn new(profile: Profile) -> Self {
        let mut variants = Variant::all();
        variants.retain(|variant| variant.algorithm != Algorithm::Oracle);
        Self {
            profile,
            variants,
            caps: Caps::default(),
            followed: selvedge_lang::Caps::default(),
            most_interleavings: 30_000,
            most_asleep: 10_000,
        }
    }

    /// All explorers with tiny caps.
    pub fn tiny(profile: Profile) -> Self {
        Self { caps: Caps::tiny(), followed: selvedge_lang::Caps::tiny(), ..Self::new(profile) }
    }

    /// Every profile, with the caps as they are and with tiny ones.
    pub fn all() -> Vec<Self> {
        let profiles = || Profile::all().into_iter();
        profiles().map(Self::new).chain(profiles().map(Self::tiny)).collect()
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        let caps = if self.caps == Caps::default() { "" } else { ", tiny caps" };
        format!("{}{caps}", self.profile.name)
    }

    /// Compares all explorers on a program.
    ///
    /// # Errors
    /// The first that fails.
    ///
    /// # Panics
    /// If the program does not compile.
    pub fn check(&self, sketch: &Sketch) -> Result<Checked, Failure> {
        self.check_text(&sketch.to_string(), sketch.interleavings())
    }

    /// Compares all explorers on a program with at most so many interleavings.
    ///
    /// # Errors
    /// The first that fails.
    ///
    /// # Panics
    /// If the program does not compile.
    pub fn check_text(&self, text: &str, interleavings: f64) -> Result<Checked, Failure> {
        let subject = Subject::new("random.sel", text, &[])
            .unwrap_or_else(|error| panic!("a random program does not compile:\n{error}\n{text}"))
            .with_caps(self.followed);
        let options = |executions| Options { caps: self.caps, ..compare::thorough(executions) };
        let run = |variant: Variant, executions, mut classes: Classes| {
            let options = variant.options(&options(executions));
            let report = subject.explore(variant.algorithm, &options, &mut classes);
            let report = report.map_err(|message| Failure {
                variant,
                disagreement: Disagreement::Panicked(message),
            })?;
            Ok(Findings { classes, report })
        };
        let mut reference = None;
        for (algorithm, most) in
            [(Algorithm::Oracle, self.most_interleavings), (Algorithm::Sleep, self.most_asleep)]
        {
            let hopeless = algorithm == Algorithm::Oracle && interleavings > BLOCKING * most as f64;
            if reference.is_none() && !hopeless {
                let found: Findings = run(Variant::of(algorithm), most, Classes::default())?;
                reference = found.report.inconclusive.is_empty().then_some((found, most));
            }
        }
        let Some((expected, most)) = reference else { return Ok(Checked::TooLarge) };
        let mut compared = Vec::new();
        for &variant in &self.variants {
            let equivalence = match variant.algorithm.info().equivalence {
                Equivalence::Interleaving => Equivalence::Mazurkiewicz,
                equivalence => equivalence,
            };
            let found = run(variant, GENEROUS * most, Classes::only(equivalence))?;
            self.judge(&subject, variant, &expected, &found)
                .map_err(|disagreement| Failure { variant, disagreement })?;
            compared.push(found.classes.len() as u64);
        }
        Ok(Checked::Compared(compared))
    }

    fn judge(
        &self,
        subject: &Subject,
        variant: Variant,
        expected: &Findings,
        found: &Findings,
    ) -> Result<(), Disagreement> {
        compare::replays(subject, found)?;
        let gave_up = |reason: &Inconclusive| matches!(reason, Inconclusive::GaveUp(_));
        if self.caps != Caps::default() && found.report.inconclusive.iter().any(gave_up) {
            return compare::nothing_invented(variant.algorithm, expected, found);
        }
        compare::agree(variant.algorithm, expected, found)?;
        if variant.is_optimal() {
            compare::exactly_once(found)?;
        }
        Ok(())
    }

    /// The smallest program found on which the same explorer fails.
    pub fn shrink(&self, sketch: Sketch, failure: Failure) -> (Sketch, Failure) {
        let mut last = failure;
        let small = shrink(sketch, &mut |sketch| match self.check(sketch) {
            Err(failure) if failure.variant == last.variant => {
                last = failure;
                true
            }
            _ => false,
        });
        (small, last)
    }
}
