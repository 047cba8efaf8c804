//! The ledger of a search: units and what came of them, as texts.

use selvedge_explore::{Frontier, Ledger, Part, Pending};

use selvedge_crew::PartJson;

/// What is left of a search, and what was done.
pub(super) struct Book(pub(super) Ledger);

/// Returns a unit as text.
fn unit_text(unit: &Pending) -> String {
    format!("{} {}", unit.share, unit.unit)
}

/// Returns the unit of a text.
pub(super) fn unit(text: &str) -> Option<Pending> {
    let (share, unit) = text.split_once(' ')?;
    Some(Pending { unit: unit.to_owned(), share: share.parse().ok()?, floor: 0 })
}

/// Returns parts as text.
pub(super) fn parts_text(parts: &[Part]) -> String {
    let parts: Vec<PartJson> = parts.iter().map(PartJson::of).collect();
    serde_json::to_string(&parts).unwrap_or_default()
}

fn parts(text: &str) -> Result<Vec<Part>, String> {
    let parts: Vec<PartJson> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let parts: Option<Vec<Part>> = parts.iter().map(PartJson::part).collect();
    parts.ok_or_else(|| "a part is not that of a search".to_owned())
}

/// Returns the unit without its share, by which the ledger knows it.
fn key(text: &str) -> &str {
    text.split_once(' ').map_or(text, |(_, unit)| unit)
}

impl selvedge_farm::Ledger for Book {
    fn left(&self) -> usize {
        self.0.left()
    }

    fn issue(&mut self, most: usize, bytes: usize) -> Vec<String> {
        self.0.issue(most, bytes).iter().map(unit_text).collect()
    }

    fn take_back(&mut self, unit: &str) {
        self.0.take_back(key(unit));
    }

    fn accept(&mut self, unit: &str, result: &str) -> Result<(), String> {
        let parts = parts(result)?;
        self.0.accept(key(unit), parts);
        Ok(())
    }

    fn give_up(&mut self, unit: &str, why: &str) {
        self.0.give_up(key(unit), why);
    }

    fn is_over(&self) -> bool {
        self.0.is_over()
    }

    fn snapshot(&self) -> String {
        parts_text(&self.0.frontier().parts)
    }

    fn restore(&mut self, snapshot: &str) -> Result<(), String> {
        self.0.restore(Frontier { parts: parts(snapshot)? });
        Ok(())
    }

    fn so_far(&self) -> (u64, f64) {
        let sum = self.0.so_far();
        (sum.counts.total(), sum.share)
    }
}
