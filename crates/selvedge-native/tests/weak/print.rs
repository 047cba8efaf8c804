//! Litmus tests of the test kit, printed as C.

use std::fmt::Write as _;

use selvedge_core::Order;
use selvedge_testkit::litmus::{Change, Condition, Instruction, LitmusProgram, Value};

/// Whether an instruction is one that C has.
pub(crate) fn has_text(instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Await(..)
        | Instruction::AwaitUpdate(..)
        | Instruction::Share(_)
        | Instruction::Unshare(_)
        | Instruction::Meet(_) => false,
        Instruction::Choose(_, below) => *below == 2,
        _ => true,
    }
}

fn value(value: Value) -> String {
    match value {
        Value::Constant(value) => format!("{value}"),
        Value::Plus(register, number) => format!("(r[{register}] + {number})"),
        Value::Sum(first, second) => format!("(r[{first}] + r[{second}])"),
    }
}

fn condition(condition: Condition) -> String {
    match condition {
        Condition::Is(a, b) => format!("{} == {}", value(a), value(b)),
        Condition::IsNot(a, b) => format!("{} != {}", value(a), value(b)),
        Condition::Less(a, b) => format!("{} < {}", value(a), value(b)),
    }
}

fn ordering(order: Order) -> &'static str {
    match order {
        Order::NonAtomic | Order::Unseen => unreachable!("a plain access has no ordering"),
        Order::Relaxed => "__ATOMIC_RELAXED",
        Order::Acquire => "__ATOMIC_ACQUIRE",
        Order::Release => "__ATOMIC_RELEASE",
        Order::AcqRel => "__ATOMIC_ACQ_REL",
        Order::SeqCst => "__ATOMIC_SEQ_CST",
    }
}

/// `end`: how many instructions there are.
fn instruction(one: Instruction, at: usize, end: usize, number: usize) -> String {
    match one {
        Instruction::Load(into, x, Order::NonAtomic) => format!("r[{into}] = v[{x}];"),
        Instruction::Load(into, x, order) => {
            format!("r[{into}] = __atomic_load_n(&v[{x}], {});", ordering(order))
        }
        Instruction::Store(x, what, Order::NonAtomic) => format!("v[{x}] = {};", value(what)),
        Instruction::Store(x, what, order) => {
            format!("__atomic_store_n(&v[{x}], {}, {});", value(what), ordering(order))
        }
        Instruction::Update(into, x, change, order) => {
            let (name, operand) = match change {
                Change::Add(number) => ("fetch_add", number.to_string()),
                Change::Set(what) => ("exchange_n", value(what)),
            };
            format!("r[{into}] = __atomic_{name}(&v[{x}], {operand}, {});", ordering(order))
        }
        Instruction::Compare { into, at, expected, new, success, failure, weak } => format!(
            "{{ long e = {}; __atomic_compare_exchange_n(&v[{at}], &e, {}, {}, {}, {}); r[{into}] = e; }}",
            value(expected),
            value(new),
            u8::from(weak),
            ordering(success),
            ordering(failure)
        ),
        Instruction::Fence(order) => format!("__atomic_thread_fence({});", ordering(order)),
        Instruction::Lock(mutex) => format!("pthread_mutex_lock(&m[{mutex}]);"),
        Instruction::TryLock(into, mutex) => {
            format!("r[{into}] = pthread_mutex_trylock(&m[{mutex}]) != 0;")
        }
        Instruction::Unlock(mutex) => format!("pthread_mutex_unlock(&m[{mutex}]);"),
        Instruction::Spawn(thread) => {
            format!("pthread_create(&t[{thread}], 0, p{number}_{thread}, 0);")
        }
        Instruction::Join(thread) => format!("pthread_join(t[{thread}], 0);"),
        Instruction::Choose(into, _) => format!("r[{into}] = __VERIFIER_nondet_bool();"),
        Instruction::SkipUnless(holds, count) => {
            format!("if (!({})) goto l{};", condition(holds), end.min(at + 1 + count))
        }
        Instruction::Assume(holds) => format!("__VERIFIER_assume({});", condition(holds)),
        Instruction::Assert(holds) => format!("assert({});", condition(holds)),
        Instruction::Await(..)
        | Instruction::AwaitUpdate(..)
        | Instruction::Share(_)
        | Instruction::Unshare(_)
        | Instruction::Meet(_) => unreachable!("it has no text"),
    }
}

/// Returns all programs as one; a number that `main` gets chooses among them.
pub(crate) fn in_c(programs: &[LitmusProgram]) -> String {
    let mut text = "long v[8]; pthread_mutex_t m[4]; _Bool __VERIFIER_nondet_bool(void); void __VERIFIER_assume(int);\n\
                    void run(int count, void *(**threads)(void *)) { pthread_t t[8];\n\
                    for (int i = 0; i < count; i++) pthread_create(&t[i], 0, threads[i], 0);\n\
                    for (int i = 0; i < count; i++) pthread_join(t[i], 0); }\n"
        .to_owned();
    let mut cases = String::new();
    for (number, program) in programs.iter().enumerate() {
        for thread in 0..program.threads.len() {
            let _ = writeln!(text, "void *p{number}_{thread}(void *);");
        }
        for (thread, code) in program.threads.iter().enumerate() {
            let _ = writeln!(
                text,
                "void *p{number}_{thread}(void *u) {{ long r[8] = {{0}}; pthread_t t[8];"
            );
            for (at, &one) in code.iter().enumerate() {
                let _ = writeln!(text, "l{at}: {}", instruction(one, at, code.len(), number));
            }
            let _ = writeln!(text, "l{}: (void)r; (void)t; return u; }}", code.len());
        }
        let roots = (0..program.threads.len()).filter(|&thread| !program.is_spawned(thread));
        let names: Vec<String> = roots.map(|thread| format!("p{number}_{thread}")).collect();
        let _ = writeln!(text, "void *(*p{number}[])(void *) = {{ {} }};", names.join(", "));
        let initial: String =
            program.initial.iter().map(|(x, value)| format!("v[{x}] = {value}; ")).collect();
        let _ = writeln!(cases, "case {number}: {initial}run({}, p{number}); break;", names.len());
    }
    format!(
        "{text}int main(int argc, char **argv) {{ switch (atoi(argv[argc - 1])) {{\n{cases}}} return 0; }}\n"
    )
}
