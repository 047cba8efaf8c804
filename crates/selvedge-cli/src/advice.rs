//! Advice for an inconclusive verdict.

use selvedge_core::{Bound, Inconclusive};
use selvedge_report::{Advice, plural};

/// Returns what happened, and the next step.
pub(crate) fn advice(reason: &Inconclusive) -> Advice {
    let bound = match reason {
        Inconclusive::Bound(bound) => bound,
        // The reason contains its own hint.
        other => return other.into(),
    };
    let next = match bound {
        Bound::Executions(most) => {
            vec![format!("raise the limit: --max-executions {}", most.saturating_mul(10))]
        }
        Bound::Steps(most) => vec![
            "does a loop wait for another thread? in a model write `await …`, or search its states, without a limit".to_owned(),
            "of steps: --algorithm states; in C wait with an atomic load in the loop, or for a condition variable;".to_owned(),
            format!("or raise the limit: --max-steps {}", most.saturating_mul(10)),
        ],
        Bound::Preemptions { most, exact } => {
            let more = most.saturating_add(1);
            let mut lines = vec![format!(
                "raise the bound: --preemptions {more}, or leave it out to cover everything"
            )];
            if !exact {
                lines.push(
                    "to cover all executions within the bound: --algorithm oracle".to_owned(),
                );
            }
            lines
        }
        Bound::ContextSwitches { most, exact } => {
            let more = most.saturating_add(1);
            let mut lines = vec![format!(
                "raise the bound: --context-switches {more}, or leave it out to cover everything"
            )];
            if !exact {
                lines.push(
                    "to cover all executions within the bound: --algorithm oracle".to_owned(),
                );
            }
            lines
        }
        Bound::Time => vec![
            "raise the limit (--time), make the program smaller (--const, in C -- -DN=2),".to_owned(),
            "search for bugs with few preemptions first (--preemptions 2),".to_owned(),
            "or sample random executions (--sample 10000)".to_owned(),
        ],
        Bound::Memory => vec![
            "use an algorithm whose memory does not grow with the number of executions".to_owned(),
            "(--algorithm parsimonious or source), keep only a hash of each state (--algorithm states".to_owned(),
            "--hash-compact), raise the limit (--max-memory), or make the program smaller (--const, in C -- -DN=2)".to_owned(),
        ],
        Bound::Work => Vec::new(),
        Bound::Interrupted => vec!["let it finish, or set a limit: --time 5m".to_owned()],
        Bound::Sampling(_) => vec![
            "leave out --sample to cover all executions,".to_owned(),
            "or sample more of them, or with another --seed".to_owned(),
        ],
    };
    let what = match bound {
        Bound::Executions(most) => {
            format!("stopped after {}", plural(*most, "execution", "executions"))
        }
        other => other.to_string(),
    };
    Advice { what, next }
}

/// The same under a memory model, whose search has no preemptions to bound, no samples and no other algorithm.
pub(crate) fn advice_under_model(reason: &Inconclusive) -> Advice {
    let Advice { what, next } = advice(reason);
    let next = match reason {
        Inconclusive::Bound(Bound::Steps(most)) => vec![
            "does a loop wait for another thread? in a model write `await …`; in C wait with an atomic load in the loop,".to_owned(),
            format!("or raise the limit: --max-steps {}", most.saturating_mul(10)),
        ],
        Inconclusive::Bound(Bound::Time) => vec![
            "raise the limit (--time), make the program smaller (--const, in C -- -DN=2),".to_owned(),
            "or begin with a stronger model, which has fewer executions: --memory sc or tso".to_owned(),
        ],
        Inconclusive::Bound(Bound::Memory) => vec![
            "raise the limit (--max-memory), or make the program smaller (--const, in C -- -DN=2)".to_owned(),
        ],
        _ => next,
    };
    Advice { what, next }
}
