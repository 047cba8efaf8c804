//! Random programs on which the reference and the tool are compared.

use super::agree::{Compared, Effort, NOT_COMPILED, agree};
use super::draw::{draw, shrink as shrink_drawn};
use crate::generate::generate;
use crate::profile::Profile;
use crate::shrink::shrink as shrink_sketch;

/// Where random programs come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The generator of programs for explorers.
    Profile(Box<Profile>),
    /// [`draw`](super::draw).
    Drawn,
}

impl Origin {
    /// All of them.
    pub fn all() -> Vec<Self> {
        let profiles = Profile::all().into_iter().map(|profile| Origin::Profile(Box::new(profile)));
        profiles.chain([Origin::Drawn]).collect()
    }

    /// Its name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Origin::Profile(profile) => profile.name,
            Origin::Drawn => "drawn",
        }
    }

    /// Compares the two on the program with this number.
    ///
    /// # Errors
    /// The smallest program found on which they differ in the same way, and how.
    pub fn compare(&self, number: u64, effort: Effort) -> Result<Compared, String> {
        let differs = |text: &str| agree(text, &[], effort).err();
        let text = match self {
            Origin::Profile(profile) => generate(profile, number).to_string(),
            Origin::Drawn => draw(number).to_string(),
        };
        let difference = match agree(&text, &[], effort) {
            Ok(compared) => return Ok(compared),
            Err(difference) => difference,
        };
        // Nothing is learned from a smaller program that does not compile either: the error would be another one.
        if difference.starts_with(NOT_COMPILED) {
            return Err(format!("{}, number {number}: {difference}\n{text}", self.name()));
        }
        // One program can show several differences; the smallest one shows the first.
        let kind = |difference: &str| difference.split(' ').take(2).collect::<String>();
        let wanted = kind(&difference);
        let same = |text: &str| differs(text).is_some_and(|other| kind(&other) == wanted);
        let small = match self {
            Origin::Profile(profile) => {
                let sketch = generate(profile, number);
                shrink_sketch(sketch, &mut |sketch| same(&sketch.to_string())).to_string()
            }
            Origin::Drawn => {
                shrink_drawn(draw(number), &mut |drawn| same(&drawn.to_string())).to_string()
            }
        };
        let shown = differs(&small).unwrap_or(difference);
        Err(format!("{}, number {number}: {shown}\n{small}", self.name()))
    }
}
