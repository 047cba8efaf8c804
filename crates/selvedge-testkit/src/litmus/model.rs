//! Litmus tests in the modelling language.

use std::fmt::Write as _;

use selvedge_core::Order;

use super::objects::waits_with;
use super::{Change, Condition, Instruction, LitmusProgram, Meeting, REGISTERS, Until, Value};

/// The same program in the modelling language, if it can be said there: a variable is atomic or not, an `await` does not
/// tell what it read, and a compare-exchange not what it found.
pub fn model_of(program: &LitmusProgram) -> Option<String> {
    let mut text = String::new();
    for variable in 0..program.variables() {
        let orders: Vec<Order> =
            program.threads.iter().flatten().filter_map(|it| order_at(it, variable)).collect();
        let is_plain = orders.contains(&Order::NonAtomic);
        if is_plain && orders.iter().any(|&order| order != Order::NonAtomic) {
            return None;
        }
        let initial = program.initial.iter().find(|(it, _)| *it == variable).map_or(0, |it| it.1);
        let atomic = if is_plain { "" } else { "atomic " };
        writeln!(text, "shared {atomic}v{variable} = {initial};").ok()?;
    }
    for mutex in 0..program.mutexes() {
        let word = if program.is_shared(mutex) { "rwlock" } else { "mutex" };
        writeln!(text, "{word} m{mutex};").ok()?;
    }
    for condition in 0..program.conditions() {
        writeln!(text, "cond c{condition};").ok()?;
    }
    for (thread, code) in program.threads.iter().enumerate() {
        let word = if program.is_spawned(thread) { "proc" } else { "thread" };
        let arguments = if program.is_spawned(thread) { "()" } else { "" };
        writeln!(text, "{word} t{thread}{arguments} {{").ok()?;
        for register in 0..REGISTERS {
            writeln!(text, "    let _r{register} = 0;").ok()?;
        }
        lines(program, code, 1, &mut text)?;
        text.push_str("}\n");
    }
    Some(text)
}

/// The ordering with which an instruction accesses a variable.
fn order_at(instruction: &Instruction, variable: usize) -> Option<Order> {
    match *instruction {
        Instruction::Load(_, at, order)
        | Instruction::Store(at, _, order)
        | Instruction::Update(_, at, _, order)
        | Instruction::Await(_, at, _, order)
        | Instruction::AwaitUpdate(_, at, _, _, order) => (at == variable).then_some(order),
        Instruction::Compare { at, success, .. } => (at == variable).then_some(success),
        _ => None,
    }
}

fn lines(
    program: &LitmusProgram,
    code: &[Instruction],
    depth: usize,
    text: &mut String,
) -> Option<()> {
    let indent = "    ".repeat(depth);
    let mut rest = code;
    while let [instruction, more @ ..] = rest {
        let whole = rest;
        rest = more;
        text.push_str(&indent);
        match *instruction {
            Instruction::Load(into, at, order) => match order {
                Order::NonAtomic => writeln!(text, "_r{into} = v{at};"),
                order => writeln!(text, "_r{into} = load(v{at}, {});", word(order)?),
            },
            Instruction::Store(at, new, order) => match order {
                Order::NonAtomic => writeln!(text, "v{at} = {};", value(new)),
                order => writeln!(text, "store(v{at}, {}, {});", value(new), word(order)?),
            },
            Instruction::Update(into, at, change, order) => {
                let order = word(order)?;
                match change {
                    Change::Add(by) => {
                        writeln!(text, "_r{into} = fetch_add(v{at}, {by}, {order});")
                    }
                    Change::Set(new) => {
                        writeln!(text, "_r{into} = exchange(v{at}, {}, {order});", value(new))
                    }
                }
            }
            Instruction::Fence(order) => writeln!(text, "fence({});", word(order)?),
            Instruction::Lock(mutex) if program.is_shared(mutex) => {
                writeln!(text, "write_lock m{mutex};")
            }
            Instruction::Unlock(mutex) if program.is_shared(mutex) => {
                writeln!(text, "write_unlock m{mutex};")
            }
            Instruction::Share(mutex) => writeln!(text, "read_lock m{mutex};"),
            Instruction::Unshare(mutex) => writeln!(text, "read_unlock m{mutex};"),
            Instruction::Lock(mutex) => writeln!(text, "lock m{mutex};"),
            Instruction::Unlock(mutex) => writeln!(text, "unlock m{mutex};"),
            Instruction::TryLock(into, mutex) => {
                writeln!(text, "if try_lock(m{mutex}) {{ _r{into} = 0; }} else {{ _r{into} = 1; }}")
            }
            Instruction::Await(into, at, Until::Is(wanted), order) if order != Order::NonAtomic => {
                let (wanted, order) = (value(wanted), word(order)?);
                writeln!(text, "await load(v{at}, {order}) == {wanted}; _r{into} = {wanted};")
            }
            Instruction::Spawn(thread) => writeln!(text, "spawn t{thread}();"),
            Instruction::Join(thread) if !program.is_spawned(thread) => {
                writeln!(text, "join t{thread};")
            }
            Instruction::Choose(into, below) => writeln!(text, "_r{into} = choose(0..{below});"),
            Instruction::SkipUnless(is, count) => {
                let (inside, after) = rest.split_at(count.min(rest.len()));
                rest = after;
                writeln!(text, "if {} {{", condition(is)).ok()?;
                lines(program, inside, depth + 1, text)?;
                writeln!(text, "{indent}}}")
            }
            Instruction::Assume(is) => writeln!(text, "assume {};", condition(is)),
            Instruction::Assert(is) => writeln!(text, "assert {};", condition(is)),
            Instruction::Meet(Meeting::Enter(condition)) => {
                let mutex = waits_with(whole)?;
                rest = &whole[4..];
                writeln!(text, "wait(c{condition}, m{mutex});")
            }
            Instruction::Meet(meeting) => writeln!(text, "{}", meet(meeting)?),
            _ => return None,
        }
        .ok()?;
    }
    Some(())
}

fn meet(meeting: Meeting) -> Option<String> {
    Some(match meeting {
        Meeting::Enter(_) | Meeting::Woken(_) | Meeting::Close => return None,
        Meeting::Signal(condition) => format!("signal(c{condition});"),
        Meeting::Broadcast(condition) => format!("broadcast(c{condition});"),
        Meeting::Send(thread, new) => format!("send t{thread}({});", value(new)),
        Meeting::Receive(into, Some(wanted)) => {
            format!("receive ({wanted}) {{ _r{into} = {wanted}; }}")
        }
        Meeting::Receive(into, None) => format!("receive (let w) {{ _r{into} = w; }}"),
        Meeting::Poll(into, wanted) => {
            let found = match wanted {
                Some(wanted) => format!("({wanted}) => {{ _r{into} = {wanted}; }}"),
                None => format!("(let w) => {{ _r{into} = w; }}"),
            };
            format!("receive {{ {found} after => {{ _r{into} = -1; }} }}")
        }
    })
}

fn word(order: Order) -> Option<&'static str> {
    Some(match order {
        Order::NonAtomic | Order::Unseen => return None,
        Order::Relaxed => "relaxed",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcqRel => "acq_rel",
        Order::SeqCst => "seq_cst",
    })
}

fn value(value: Value) -> String {
    match value {
        Value::Constant(number) => number.to_string(),
        Value::Plus(register, number) => format!("(_r{register} + {number})"),
        Value::Sum(first, second) => format!("(_r{first} + _r{second})"),
    }
}

fn condition(condition: Condition) -> String {
    match condition {
        Condition::Is(a, b) => format!("{} == {}", value(a), value(b)),
        Condition::IsNot(a, b) => format!("{} != {}", value(a), value(b)),
        Condition::Less(a, b) => format!("{} < {}", value(a), value(b)),
    }
}
