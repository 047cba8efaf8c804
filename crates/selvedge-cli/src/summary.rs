//! The lines under a verdict: what it covers, how many executions of which kind, how long.

use std::time::Duration;

use selvedge_core::{Counts, Covers, Decision, FactValue, Report, Verdict};
use selvedge_report::{grouped, plural, rate, seconds};

/// Returns the lines under a verdict.
pub(crate) fn summary(
    report: &Report,
    search: String,
    covers: Covers,
    asked_for_races: bool,
    has_invariants: bool,
    time: Duration,
) -> String {
    let threads = plural(report.threads as u64, "thread", "threads");
    let (all, longest) = (grouped(report.steps), grouped(report.longest as u64));
    let scope = scope(report.verdict(), covers, asked_for_races, has_invariants);
    let counts = report.counts;
    let [counted, steps, speed] = match report.states {
        None => [
            ("executions", kinds(counts)),
            ("steps", format!("{all} in all, {longest} in the longest execution; {threads}")),
            ("time", speed(counts.total(), "executions", time)),
        ],
        Some(states) => [
            ("states", format!("{}; final: {}", grouped(states), endings(counts))),
            ("steps", format!("{all} in all, {longest} to the state furthest away; {threads}")),
            ("time", speed(states, "states", time)),
        ],
    };
    let rows = [scope, counted, steps, ("search", search), speed];
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

/// Returns which explorer decided, and why if that is not because it was the first.
pub(crate) fn decision(decision: &Decision) -> String {
    let name = decision.explorer;
    match (&decision.before, &decision.why) {
        (Some((other, executions)), Some(why)) => {
            let executions = plural(*executions, "execution", "executions");
            format!("{name}, after {executions} of {other}: {why}")
        }
        _ => name.to_owned(),
    }
}

/// Returns what was checked and what was not: the name of the row, and its text. Only a proof covers anything.
pub(crate) fn scope(
    verdict: Verdict,
    covers: Covers,
    asked_for_races: bool,
    has_invariants: bool,
) -> (&'static str, String) {
    let (name, participle) = match verdict {
        Verdict::Verified => ("covers", "covered"),
        Verdict::Violated | Verdict::Inconclusive => ("checked", "checked"),
    };
    let assertions = match has_invariants {
        true => "assertions, invariants",
        false => "assertions",
    };
    let kinds = [
        (covers.assertions, assertions),
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
    let Counts { redundant, cut, .. } = counts;
    let mut text = format!("{}, {} redundant", endings(counts), grouped(redundant));
    if cut > 0 {
        text.push_str(&format!(", {} cut", grouped(cut)));
    }
    text
}

/// Returns the kinds of maximal executions, or of final states.
fn endings(counts: Counts) -> String {
    let Counts { complete, deadlocked, blocked, .. } = counts;
    let [complete, deadlocked, blocked] = [complete, deadlocked, blocked].map(grouped);
    format!("{complete} complete, {deadlocked} deadlocked, {blocked} blocked by assume")
}

fn speed(count: u64, what: &str, time: Duration) -> String {
    match rate(count, time) {
        Some(rate) if count > 0 => {
            format!("{}, {} {what}/s", seconds(time), grouped(rate))
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
        let verified = |covers, races| scope(Verdict::Verified, covers, races, false).1;
        assert_eq!(verified(all, true), "assertions, deadlocks, data races");
        assert_eq!(
            verified(all, false),
            "assertions, deadlocks; not covered: data races (--races)"
        );
        let few = Covers { assertions: true, deadlocks: false, data_races: false };
        assert_eq!(verified(few, true), "assertions; not covered: deadlocks, data races");
        let unsure = scope(Verdict::Inconclusive, few, true, false);
        assert_eq!(
            unsure,
            ("checked", "assertions; not checked: deadlocks, data races".to_owned())
        );
        let with_invariants = scope(Verdict::Verified, all, true, true).1;
        assert_eq!(with_invariants, "assertions, invariants, deadlocks, data races");
    }
}
