//! The lines under a verdict: what it covers, how many executions of which kind, how long.

use std::time::Duration;

use selvedge_core::{Counts, Covers, FactValue, Report, Verdict};
use selvedge_report::{grouped, plural, rate, seconds};

/// Returns the lines under a verdict.
pub(crate) fn summary(
    report: &Report,
    search: String,
    covers: Covers,
    asked_for_races: bool,
    time: Duration,
) -> String {
    let steps = format!(
        "{} in all, {} in the longest execution; {}",
        grouped(report.steps),
        grouped(report.longest as u64),
        plural(report.threads as u64, "thread", "threads"),
    );
    let rows = [
        scope(report.verdict(), covers, asked_for_races),
        ("executions", kinds(report.counts)),
        ("steps", steps),
        ("search", search),
        ("time", speed(report.counts.total(), time)),
    ];
    let mut text: String = rows.iter().map(|(name, text)| format!("  {name:11}{text}\n")).collect();
    for fact in &report.facts {
        let value = match &fact.value {
            FactValue::Count(count) => grouped(*count),
            FactValue::Text(text) => text.clone(),
        };
        text.push_str(&format!("  {:24}{value}\n", fact.name));
    }
    text
}

/// Returns what was checked and what was not: the name of the row, and its text. Only a proof covers anything.
pub(crate) fn scope(
    verdict: Verdict,
    covers: Covers,
    asked_for_races: bool,
) -> (&'static str, String) {
    let (name, participle) = match verdict {
        Verdict::Verified => ("covers", "covered"),
        Verdict::Violated | Verdict::Inconclusive => ("checked", "checked"),
    };
    let kinds = [
        (covers.assertions, "assertions"),
        (covers.deadlocks, "deadlocks"),
        (covers.data_races && asked_for_races, "data races"),
    ];
    let pick = |wanted: bool| {
        let picked = kinds.iter().filter(|(yes, _)| *yes == wanted).map(|(_, name)| *name);
        picked.collect::<Vec<_>>().join(", ")
    };
    let (with, without) = (pick(true), pick(false));
    let hint = if covers.data_races && !asked_for_races { " (--races)" } else { "" };
    let text = match without.as_str() {
        "" => with,
        without => format!("{with}; not {participle}: {without}{hint}"),
    };
    (name, text)
}

/// Returns the kinds of executions, always apart.
pub(crate) fn kinds(counts: Counts) -> String {
    let Counts { complete, deadlocked, blocked, redundant, cut } = counts;
    let [complete, deadlocked, blocked, redundant] =
        [complete, deadlocked, blocked, redundant].map(grouped);
    let mut text = format!(
        "{complete} complete, {deadlocked} deadlocked, {blocked} blocked by assume, \
         {redundant} redundant"
    );
    if cut > 0 {
        text.push_str(&format!(", {} cut", grouped(cut)));
    }
    text
}

fn speed(executions: u64, time: Duration) -> String {
    match rate(executions, time) {
        Some(rate) if executions > 0 => {
            format!("{}, {} executions/s", seconds(time), grouped(rate))
        }
        _ => seconds(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stay_apart() {
        let counts = Counts { complete: 6, deadlocked: 1, blocked: 2, redundant: 3000, cut: 0 };
        let expected = "6 complete, 1 deadlocked, 2 blocked by assume, 3,000 redundant";
        assert_eq!(kinds(counts), expected);
        assert_eq!(kinds(Counts { cut: 4, ..counts }), format!("{expected}, 4 cut"));
    }

    #[test]
    fn what_is_covered_and_what_is_not() {
        let all = Covers { assertions: true, deadlocks: true, data_races: true };
        let verified = |covers, races| scope(Verdict::Verified, covers, races).1;
        assert_eq!(verified(all, true), "assertions, deadlocks, data races");
        assert_eq!(
            verified(all, false),
            "assertions, deadlocks; not covered: data races (--races)"
        );
        let few = Covers { assertions: true, deadlocks: false, data_races: false };
        assert_eq!(verified(few, true), "assertions; not covered: deadlocks, data races");
        let unsure = scope(Verdict::Inconclusive, few, true);
        assert_eq!(
            unsure,
            ("checked", "assertions; not checked: deadlocks, data races".to_owned())
        );
    }
}
