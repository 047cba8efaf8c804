//! Models under memory models: the programs of the corpus, as execution graphs and as interleavings.

use std::sync::Arc;

use selvedge_explore::{Algorithm, Limits, Memory, Options, Silent, explore, explore_graphs};
use selvedge_lang::{GraphInterpreter, Interpreter, compile};
use selvedge_testkit::{corpus, programs};

/// Larger programs are left out.
const MOST: u64 = 3_000;

#[test]
fn table() {
    for path in programs() {
        let name = path.strip_prefix(corpus()).unwrap().display().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        let Ok(compiled) = compile(&name, &text, &[]) else { continue };
        let limits = Limits { executions: Some(MOST), steps: 300, ..Limits::default() };
        let options = Options { keep_going: true, limits, ..Options::default() };
        let make = || Interpreter::new(Arc::clone(&compiled.program));
        let traces = explore(Algorithm::Optimal, &make, &options, &mut Silent);
        let mut system = match GraphInterpreter::new(Arc::clone(&compiled.program)) {
            Ok(system) => system,
            Err(refused) => {
                println!("{name}: refused {}: {}", refused[0].place, refused[0].message);
                continue;
            }
        };
        let graphs = explore_graphs(&mut system, Memory::Sc, &options, &mut Silent);
        let (t, g) = (traces.counts, graphs.counts);
        let same = (t.complete, t.deadlocked, t.blocked) == (g.complete, g.deadlocked, g.blocked);
        let mut kinds: Vec<_> = traces.violations.iter().map(|(v, _)| v.message.clone()).collect();
        kinds.sort();
        let mut found: Vec<String> = graphs
            .findings
            .iter()
            .map(|(f, _)| match f {
                selvedge_explore::Finding::Fault(_, selvedge_core::Fault::Violation(v))
                | selvedge_explore::Finding::Judged(v) => v.message.clone(),
                other => format!("{other:?}"),
            })
            .collect();
        found.sort();
        println!(
            "{} {name}: optimal {t:?} graph {g:?} {} {:?}",
            if same { "SAME" } else { "DIFF" },
            if kinds == found { String::new() } else { format!("VIOL {kinds:?} {found:?}") },
            graphs.inconclusive,
        );
    }
}
