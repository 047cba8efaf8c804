use selvedge_symbolic::constraints::{pairs, synthesise};
fn main() {
    for file in std::env::args().skip(1) {
        println!("== {file}");
        let text = std::fs::read_to_string(&file).unwrap();
        let program = match selvedge_lang::compile(&file, &text, &[]) { Ok(c) => c.program, Err(e) => { println!("{}", selvedge_lang::render(&e, &file, &text, false)); continue } };
        for pair in pairs(&program) {
            let start = std::time::Instant::now();
            let s = synthesise(&program, pair, &mut || start.elapsed().as_secs() > 10);
            let t = start.elapsed();
            println!("{} | {}  {:?} {}", s.heads[0], s.heads[1], t, match &s.found { Ok(f) => format!("complete={}", f.complete), Err(e) => format!("{e:?}") });
            if let Ok(f) = &s.found { for c in &f.constraints { println!("      {}    guard: {}", c.condition.join(" && "), c.guard.join(" && ")); } }
        }
    }
}
