//! C++: what its standard library does with threads, exceptions, and the ends of threads and of the process.
//!
//! All programs are one module, since compiling C++ takes long: a number that `main` gets chooses among them.

use selvedge_core::Verdict;
use selvedge_explore::{Algorithm, Options};

use crate::common::{Compiled, GCC, Nothing, Toolchain, compile_text, search, toolchains};

/// What a program does, and what is expected of it.
enum Expected {
    /// Verified, with this many executions of `optimal`, deadlocks and blocked ones included.
    Verified(u64),
    /// Violated, with this message.
    Violated(&'static str),
}

use Expected::{Verified, Violated};

/// Programs of C++17: declarations, the body, and what is expected.
const CXX17: &[(&str, &str, Expected)] = &[
    // Either thread locks first.
    (
        "std::mutex m1; int x1; void f1() { std::lock_guard<std::mutex> g(m1); x1++; }",
        "std::thread a(f1), b(f1); a.join(); b.join(); assert(x1 == 2);",
        Verified(2),
    ),
    (
        "std::recursive_mutex m2; void f2() { std::lock_guard<std::recursive_mutex> g(m2), h(m2); }",
        "std::thread a(f2), b(f2); a.join(); b.join();",
        Verified(2),
    ),
    // It waits, or its time is up while the mutex is taken, or just when it is free.
    (
        "std::timed_mutex m3; int x3; void f3() { if (m3.try_lock_for(1s)) { x3++; m3.unlock(); } }",
        "m3.lock(); std::thread a(f3); m3.unlock(); a.join(); assert(x3 <= 1);",
        Verified(3),
    ),
    // Two readers are one class; with a writer there are its three places.
    (
        "std::shared_mutex m4; int x4; void r4() { std::shared_lock<std::shared_mutex> g(m4); (void)x4; }",
        "std::thread a(r4), b(r4); a.join(); b.join();",
        Verified(1),
    ),
    (
        "std::shared_mutex m5; int x5; void r5() { std::shared_lock<std::shared_mutex> g(m5); assert(x5 == 0 || x5 == 2); }",
        "std::thread a(r5); { std::unique_lock<std::shared_mutex> g(m5); x5 = 1; x5 = 2; } a.join();",
        Verified(2),
    ),
    // The waiter finds the flag set, or waits.
    (
        "std::mutex m6; std::condition_variable c6; bool b6; void f6() { { std::lock_guard<std::mutex> g(m6); b6 = true; } c6.notify_one(); }",
        "std::thread a(f6); { std::unique_lock<std::mutex> g(m6); c6.wait(g, [] { return b6; }); } a.join();",
        Verified(2),
    ),
    (
        "std::mutex m7; std::condition_variable c7; void f7() { std::lock_guard<std::mutex> g(m7); c7.notify_one(); }",
        "std::thread a(f7); { std::unique_lock<std::mutex> g(m7); c7.wait(g); } a.join();",
        Violated("deadlock: main is blocked"),
    ),
    (
        "std::mutex m8; std::condition_variable c8; bool b8;",
        "std::unique_lock<std::mutex> g(m8); bool in_time = c8.wait_for(g, 1s, [] { return b8; }); assert(!in_time);",
        Verified(2),
    ),
    // The first one does it, whichever it is.
    (
        "std::once_flag o9; int x9; void f9() { std::call_once(o9, [] { x9++; }); assert(x9 == 1); }",
        "std::thread a(f9), b(f9); a.join(); b.join();",
        Verified(2),
    ),
    // The first one fails, and the second one does it; the third finds it done.
    (
        "std::once_flag o10; int x10; void f10() { std::call_once(o10, [] { if (x10++ == 0) throw 1; }); }",
        "try { f10(); assert(false); } catch (int) { } f10(); f10(); assert(x10 == 2);",
        Verified(1),
    ),
    // Either thread begins, and the other one looks before, meanwhile or after it.
    (
        "int five() { return 5; } int &f11() { static int x = five(); return x; }",
        "std::thread a([] { assert(f11() == 5); }); assert(f11() == 5); a.join();",
        Verified(6),
    ),
    (
        "",
        "auto f = std::async(std::launch::async, [] { return 7; }); assert(f.get() == 7);",
        Verified(0),
    ),
    (
        "",
        "auto f = std::async(std::launch::deferred, [] { return 7; }); assert(f.get() == 7);",
        Verified(1),
    ),
    (
        "",
        "std::promise<int> p; auto f = p.get_future(); std::thread t([&] { p.set_value(3); }); assert(f.get() == 3); t.join();",
        Verified(0),
    ),
    (
        "",
        "std::promise<int> p; auto f = p.get_future(); std::thread t([&] { try { throw std::runtime_error(\"x\"); } catch (...) { p.set_exception(std::current_exception()); } });\n\
          bool caught = false; try { f.get(); } catch (std::runtime_error &) { caught = true; } assert(caught); t.join();",
        Verified(0),
    ),
    (
        "",
        "std::promise<void> p; auto f = p.get_future(); { std::promise<void> gone = std::move(p); }\n\
          try { f.get(); assert(false); } catch (std::future_error &) { }",
        Verified(1),
    ),
    (
        "void f17() { throw std::runtime_error(\"out of paper\"); }",
        "std::thread a(f17); a.join();",
        Violated("nothing catches what f17 throws: std::runtime_error: out of paper"),
    ),
    ("void f18() { throw 5; }", "f18();", Violated("nothing catches what main throws: int")),
    (
        "void f19() noexcept { throw std::logic_error(\"inside\"); }",
        "try { f19(); } catch (...) { }",
        Violated("nothing catches what main throws: std::logic_error: inside"),
    ),
    (
        "",
        "auto f = std::async(std::launch::async, []() -> int { throw std::logic_error(\"late\"); }); f.get();",
        Violated("nothing catches what main throws: std::logic_error: late"),
    ),
    ("", "std::thread a([] { });", Violated("main calls std::terminate")),
    // Frames are left, with their destructors, on the stacks of threads.
    (
        "std::mutex m22; int x22; void deep(int n) { std::lock_guard<std::mutex> g(m22); x22++; if (n == 0) throw std::string(\"bottom\"); m22.unlock(); struct Back { ~Back() { m22.lock(); } } back; deep(n - 1); }\n\
      void f22() { try { deep(2); } catch (std::string &s) { assert(s == \"bottom\"); } }",
        "std::thread a(f22); a.join(); f22(); assert(x22 == 6); assert(m22.try_lock());",
        Verified(1),
    ),
    // A thread's variables are its own, and destroyed at its end, before it can be joined.
    (
        "std::atomic<int> x23; struct L23 { int v = 1; ~L23() { x23 += v; } }; thread_local L23 l23; void f23() { l23.v++; }",
        "std::thread a(f23); a.join(); assert(x23 == 2);",
        Verified(1),
    ),
    (
        "std::atomic<int> x24; struct S24 { S24() { x24++; } }; S24 &s24() { static S24 s; return s; }",
        "assert(x24 == 0); s24(); s24(); assert(x24 == 1);",
        Verified(1),
    ),
    ("int x25 = [] { return 3; }();", "assert(x25 == 3); x25 = 4;", Verified(1)),
    // Nodes of trees and lists are linked by compiled functions of the library.
    (
        "std::map<int, int> t30 = {{1, 1}, {2, 2}, {3, 3}};",
        "std::thread a([] { t30.erase(3); }); int n = 0; for (auto &e : t30) n += e.second; a.join();",
        Violated("data race"),
    ),
    (
        "std::map<int, int> t31; std::mutex m31;",
        "std::thread a([] { std::lock_guard g(m31); t31[1] = 1; }); { std::lock_guard g(m31); t31[2] = 2; } a.join(); \
         assert(t31.size() == 2 && t31.begin()->first == 1);",
        Verified(2),
    ),
    (
        "std::list<int> l32 = {1, 2};",
        "std::thread a([] { l32.push_back(3); }); auto last = std::prev(l32.end()); (void)last; a.join();",
        Violated("data race"),
    ),
    (
        "std::list<int> l33 = {1, 2}, k33;",
        "std::thread a([] { k33.splice(k33.end(), l33); }); l33.front() = 3; a.join();",
        Violated("data race"),
    ),
    (
        "std::list<int> l34 = {1, 2};",
        "std::thread a([] { l34.reverse(); }); l34.front() = 3; a.join();",
        Violated("data race"),
    ),
    (
        "std::once_flag o35; int n35;",
        "for (int i = 0; i < 2; i++) { std::once_flag o; std::call_once(o, [] { n35++; }); } assert(n35 == 2);",
        Verified(1),
    ),
    (
        "std::string s26; ",
        "std::thread a([] { s26 += \"a\"; }); s26 += \"b\"; a.join();",
        Violated("data race"),
    ),
    (
        "",
        "auto p = std::make_shared<int>(1); std::thread a([p] { assert(*p == 1); }), b([p] { assert(*p == 1); }); p.reset(); a.join(); b.join();",
        Verified(0),
    ),
    (
        "",
        "int *p = new int[3]; delete p;",
        Violated(
            "main frees with delete what new[] allocated: a block of 12 bytes allocated at test.cpp",
        ),
    ),
    (
        "",
        "int *p = new int(3); delete p; *p = 4;",
        Violated("main writes memory after it was freed: a block of 4 bytes allocated at test.cpp"),
    ),
    (
        "",
        "std::vector<int> v(2); int *p = &v[0]; v.push_back(3); *p = 1;",
        Violated("main writes memory after it was freed: a block of 8 bytes allocated at test.cpp"),
    ),
    (
        "struct B31 { virtual ~B31() = default; virtual int f() { return 1; } }; struct D31 : B31 { int f() override { return 2; } };",
        "std::unique_ptr<B31> p(new D31); std::thread a([&] { assert(p->f() == 2); }); a.join(); assert(dynamic_cast<D31 *>(p.get()));",
        Verified(1),
    ),
    (
        "std::mutex m32, n32; void f32() { std::scoped_lock g(m32, n32); } void g32() { std::scoped_lock g(n32, m32); }",
        "std::thread a(f32), b(g32); a.join(); b.join();",
        Verified(2),
    ),
    (
        "std::mutex m36, n36; void f36() { std::unique_lock<std::mutex> g(m36, std::defer_lock), h(n36, std::defer_lock); std::lock(h, g); assert(g.owns_lock()); }",
        "std::thread a(f36); f36(); a.join();",
        Verified(2),
    ),
    (
        "std::mutex m33, n33; void f33() { std::lock_guard<std::mutex> g(m33), h(n33); } void g33() { std::lock_guard<std::mutex> g(n33), h(m33); }",
        "std::thread a(f33), b(g33); a.join(); b.join();",
        Violated("deadlock: main, f33 and g33 are blocked"),
    ),
    (
        "std::atomic<int> x34; ",
        "std::thread a([] { std::cout << 1 << std::endl; }); std::cout << \"b\" << 2 << 1.5 << \"\\n\"; a.join();",
        Verified(0),
    ),
    (
        "struct B35 { long v[4]; }; std::atomic<B35> x35;",
        "std::thread a([] { x35 = B35{{1, 1, 1, 1}}; }); B35 b = x35; assert(b.v[0] == b.v[3]); a.join();",
        Verified(2),
    ),
];

/// Programs of C++20.
const CXX20: &[(&str, &str, Expected)] = &[
    // Read and found set; or read, and found changed when it would wait; or it waits and is woken.
    (
        "std::atomic<int> x1;",
        "std::thread a([] { x1 = 1; x1.notify_one(); }); x1.wait(0); assert(x1 == 1); a.join();",
        Verified(3),
    ),
    (
        "std::atomic<int> x2;",
        "std::thread a([] { x2 = 1; }); x2.wait(0); a.join();",
        Violated("deadlock: main is blocked"),
    ),
    (
        "std::atomic_flag x3;",
        "std::thread a([] { x3.test_and_set(); x3.notify_all(); }); x3.wait(false); a.join();",
        Verified(3),
    ),
    (
        "int x4;",
        "std::latch l(2); std::thread a([&] { x4 = 1; l.count_down(); }); l.arrive_and_wait(); assert(x4 == 1); a.join();",
        Verified(0),
    ),
    (
        "int x5, y5;",
        "std::barrier b(2); std::thread a([&] { x5 = 1; b.arrive_and_wait(); assert(y5 == 1); }); y5 = 1; b.arrive_and_wait(); assert(x5 == 1); a.join();",
        Verified(0),
    ),
    (
        "int x6;",
        "auto done = []() noexcept { x6++; }; std::barrier b(2, done); std::thread a([&] { b.arrive_and_wait(); b.arrive_and_wait(); }); b.arrive_and_wait(); b.arrive_and_wait(); a.join(); assert(x6 == 2);",
        Verified(0),
    ),
    (
        "int x7;",
        "std::counting_semaphore<2> s(0); std::thread a([&] { x7 = 1; s.release(); }); s.acquire(); assert(x7 == 1); a.join();",
        Verified(1),
    ),
    (
        "",
        "std::binary_semaphore s(0); std::thread a([&] { s.release(); }); (void)s.try_acquire_for(1s); a.join();",
        Verified(0),
    ),
    ("", "std::binary_semaphore s(0); s.acquire();", Violated("deadlock: main is blocked")),
    (
        "",
        "std::jthread a([](std::stop_token s) { while (!s.stop_requested()) std::this_thread::yield(); });",
        Verified(0),
    ),
    (
        "std::mutex m11; std::condition_variable_any c11;",
        "std::jthread a([](std::stop_token s) { std::unique_lock g(m11); c11.wait(g, s, [] { return false; }); });",
        Verified(0),
    ),
    (
        "",
        "std::atomic<int> x = 0; { std::jthread a([&] { x++; }), b([&] { x++; }); } assert(x == 2);",
        Verified(2),
    ),
    (
        "int x14; std::atomic<bool> b14;",
        "std::thread a([] { x14 = 1; b14.store(true, std::memory_order_relaxed); }); if (b14.load(std::memory_order_acquire)) assert(x14 == 1); a.join();",
        Violated("data race"),
    ),
    (
        "int x15; std::atomic<bool> b15;",
        "std::thread a([] { x15 = 1; b15.store(true, std::memory_order_release); }); if (b15.load(std::memory_order_acquire)) assert(x15 == 1); a.join();",
        Verified(2),
    ),
];

fn program(cases: &[(&str, &str, Expected)]) -> String {
    let mut text = "#include <atomic>\n#include <cassert>\n#include <condition_variable>\n#include <cstdlib>\n#include <future>\n#include <list>\n#include <map>\n\
                    #include <iostream>\n#include <memory>\n#include <mutex>\n#include <shared_mutex>\n#include <stdexcept>\n\
                    #include <string>\n#include <thread>\n#include <vector>\n#if __cplusplus > 201703L\n#include <barrier>\n\
                    #include <latch>\n#include <semaphore>\n#include <stop_token>\n#endif\nusing namespace std::literals;\n"
        .to_owned();
    let mut arms = String::new();
    for (number, (declarations, body, _)) in cases.iter().enumerate() {
        text += &format!("{declarations}\nvoid case{number}() {{ {body} }}\n");
        arms += &format!("case {number}: case{number}(); break;\n");
    }
    text + &format!(
        "int main(int argc, char **argv) {{ switch (std::atoi(argv[argc - 1])) {{\n{arms}}} return 0; }}\n"
    )
}

fn check(compiled: &Compiled, cases: &[(&str, &str, Expected)]) {
    let options = Options { keep_going: true, data_races: true, ..Options::default() };
    let mut wrong: Vec<String> = Vec::new();
    for (number, (declarations, body, expected)) in cases.iter().enumerate() {
        let loaded = compiled.loaded.again(&[number.to_string()]);
        let at = format!("{number}: {declarations} {body}");
        match expected {
            Verified(executions) => {
                let report = search(&loaded, Algorithm::Optimal, &options, &mut Nothing);
                if report.verdict() != Verdict::Verified {
                    wrong.push(format!("{at}: {:?} {:?}", report.violations, report.inconclusive));
                    continue;
                }
                let found = report.counts.maximal();
                if *executions != 0 && found != *executions {
                    wrong.push(format!("{at}: {:?}", report.counts));
                }
                for other in [Algorithm::Source, Algorithm::Parsimonious] {
                    let report = search(&loaded, other, &options, &mut Nothing);
                    if report.counts.maximal() != found {
                        wrong.push(format!("{at}: {} {:?}", other.info().name, report.counts));
                    }
                }
            }
            Violated(message) => {
                let violation = compiled.violation_of(&loaded);
                if !violation.message.starts_with(message) {
                    wrong.push(format!("{at}: {violation:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn compiled(toolchain: Toolchain, cases: &[(&str, &str, Expected)], flags: &[&str]) -> Compiled {
    compile_text(toolchain, "test.cpp", &program(cases), flags)
}

#[test]
fn cxx17() {
    for toolchain in toolchains() {
        check(&compiled(toolchain, CXX17, &["-std=c++17"]), CXX17);
    }
}

#[test]
fn cxx20() {
    check(&compiled(GCC, CXX20, &["-std=c++20"]), CXX20);
}

/// A place is in the program, not in a header that it was expanded from.
#[test]
fn places_are_those_of_the_program() {
    let text = "#include <mutex>\n#include <thread>\nstd::mutex m, n;\n\
                void f() {\n  std::lock_guard<std::mutex> g(m);\n  std::lock_guard<std::mutex> h(n);\n}\n\
                int main() {\n  std::thread t(f);\n  n.lock();\n  m.lock();\n  m.unlock();\n  n.unlock();\n  t.join();\n}\n";
    for flags in [&["-std=c++17"][..], &["-std=c++17", "-O2"]] {
        let violation = compile_text(GCC, "test.cpp", text, flags).violation();
        let lines: Vec<u32> = violation.places.iter().map(|place| place.line).collect();
        assert_eq!(lines, [11, 6], "{flags:?} {violation:?}");
        assert_eq!(violation.message, "deadlock: main and f are blocked");
    }
    let text = "#include <stdexcept>\n#include <thread>\nvoid f() {\n  throw std::runtime_error(\"x\");\n}\n\
                int main() {\n  std::thread t(f);\n  t.join();\n}\n";
    let violation = compile_text(GCC, "test.cpp", text, &[]).violation();
    assert_eq!(violation.kind.name(), "exception");
    assert_eq!(violation.places.first().map(|place| place.line), Some(4), "{violation:?}");
}

/// Destructors of static variables run at the end, and what they do is checked.
#[test]
fn the_end_of_the_process() {
    let text = "#include <cassert>\n#include <cstdlib>\n#include <mutex>\n#include <thread>\nint x;\n\
                struct Last { ~Last() { assert(x == 2); } } last;\n\
                void first() { x++; }\n\
                int main() { std::atexit(first); x++; return 0; }\n";
    let report = compile_text(GCC, "test.cpp", text, &[]).explore(Algorithm::Optimal);
    assert_eq!(report.verdict(), Verdict::Verified, "{:?}", report.violations);
    let text = text.replace("x == 2", "x == 3");
    let violation = compile_text(GCC, "test.cpp", &text, &[]).violation();
    assert_eq!(violation.message, "assertion `x == 3` is false");
}

/// Optimised, the code of a lambda is part of a function of the standard library: it is still the program's.
#[test]
fn code_that_was_moved_into_the_library() {
    let text = "#include <thread>\nint x;\nint main() { std::thread a([] { x = 1; }); x = 2; a.join(); }\n";
    for level in ["-O0", "-O1", "-O2"] {
        let violation = compile_text(GCC, "test.cpp", text, &[level]).violation();
        assert_eq!(violation.kind.name(), "data-race", "{level} {violation:?}");
    }
}

/// Mutexes that are taken together: none is taken alone, and one that the thread holds is taken again.
#[test]
fn several_mutexes_of_several_kinds() {
    let text = "#include <mutex>\n#include <thread>\nstd::recursive_mutex a; std::mutex b; int x;\n\
                int main() { std::thread t([] { std::scoped_lock l(a, b); x++; });\n\
                { std::lock_guard<std::recursive_mutex> g(a); std::scoped_lock l(b, a); x++; } t.join(); }\n";
    for toolchain in toolchains() {
        let compiled = compile_text(toolchain, "test.cpp", text, &["-std=c++17"]);
        let report = compiled.explore(Algorithm::Optimal);
        let found = (report.verdict(), report.counts.maximal());
        assert_eq!(found, (Verdict::Verified, 2), "{:?}", report.violations);
    }
}

/// The frames of a thread that ends inside of calls have destructors.
#[test]
fn the_end_of_a_thread_inside_of_calls() {
    let head = "#include <cassert>\n#include <mutex>\n#include <pthread.h>\n#include <thread>\nstd::mutex m; int x;\n\
                struct Counts { ~Counts() { x++; } };\nvoid deeper() { Counts c; pthread_exit(0); }\n";
    let locks = "void *w(void *) { std::lock_guard<std::mutex> l(m); x++; pthread_exit(0); }\n\
                 int main() { pthread_t a, b; pthread_create(&a, 0, w, 0); pthread_create(&b, 0, w, 0);\n\
                 pthread_join(a, 0); pthread_join(b, 0); assert(x == 2); }";
    let counts =
        "int main() { std::thread t([] { Counts c; deeper(); }); t.join(); assert(x == 2); }";
    for toolchain in toolchains() {
        for (main, executions) in [(locks, 2), (counts, 1)] {
            let text = format!("{head}{main}");
            let report = compile_text(toolchain, "test.cpp", &text, &["-std=c++17"])
                .explore(Algorithm::Optimal);
            assert_eq!(report.verdict(), Verdict::Verified, "{main}: {:?}", report.violations);
            assert_eq!(report.counts.maximal(), executions, "{main}");
        }
    }
}
