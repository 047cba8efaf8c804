//! The long texts of `--help`.

pub(crate) const ABOUT: &str = "\
Checks concurrent programs.

A concurrent program has very many interleavings. Selvedge runs one execution per equivalence class
of interleavings and checks each of them: assertions, deadlocks, misuse of locks, arithmetic, bounds
and, with --races, data races. It finds a violation and shows the execution that leads to it, or it
proves that there is none.";

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  verified        1  violated
  3  inconclusive    2  wrong usage, a file that cannot be read or written, or an internal error

If there is a violation, the exit code is 1 even if a file cannot be written.";

pub(crate) const GETTING_STARTED: &str = "\
Selvedge checks concurrent programs.

1. Write a program, say lost.sel:

       shared x = 0;
       thread inc(i in 0..2) { let v = x; x = v + 1; }
       finally { assert x == 2; }

2. Check it:                       selvedge check lost.sel
3. Replay the execution:           selvedge replay lost.sel --schedule …   (check prints the command)
4. Compare the algorithms:         selvedge compare lost.sel

All commands:  selvedge --help       One command, with examples:  selvedge check --help
";

pub(crate) const CHECK: &str = "\
Check a program: find a violation, or prove that there is none.

The verdict comes first. \"verified\" says what it covers; \"violated\" shows the execution, one column
per thread, and the command that replays it; \"inconclusive\" gives the reason and the next step.
Every violation is replayed before it is shown.";

pub(crate) const CHECK_EXAMPLES: &str = "\
Examples:
  selvedge check queue.sel                      find a violation, or prove that there is none
  selvedge check queue.sel --const N=4          a larger instance of the same program
  selvedge check queue.sel --races              check for data races as well
  selvedge check queue.sel --keep-going         all distinct violations
  selvedge check queue.sel --time 1m            stop after a minute
  selvedge check queue.sel --preemptions 2      only executions with few preemptions
  selvedge check queue.sel --algorithm quasi --k 2   unfoldings, 2-partial alternatives
  selvedge check queue.sel --algorithm quasi --locks-only --stats   for programs without data races
  selvedge check queue.sel --algorithm constrained   for atomic tasks that commute
  selvedge check queue.sel --jobs 4             with four workers: the same result, sooner
  selvedge check queue.sel --checkpoint queue.ckpt   may be ended and resumed
  selvedge check queue.sel --sample 10000 --pct 3   sample a program that is too large to explore
  selvedge check queue.c                        a C program, compiled by cc
  selvedge check main.c queue.c -- -DN=3 -lm    several files, and flags for the compiler
  selvedge check queue.sel --symbolic           all executions as one formula, loops unrolled
  selvedge check queue.sel --symbolic mat --stats   another encoding, with its sizes
  selvedge check queue.sel --json               for machines; see docs/json.md

The kinds of executions:
  complete    every thread finished, or one failed
  deadlocked  a thread is blocked, and no thread can unblock it
  blocked     a thread is blocked by an `assume` that is false
  redundant   abandoned: its class was explored before
  cut         ended by a limit

Ctrl-C ends the search and shows what was found so far; a second Ctrl-C ends the process.

Exit codes: 0 verified, 1 violated, 2 wrong usage or an internal error, 3 inconclusive.";

pub(crate) const RESUME: &str = "\
Continue an interrupted check from its checkpoint.

The result is that of a check that was not interrupted, except for the time. The program, the
algorithm and what is checked come from the checkpoint; a program that has changed since then is
refused. The number of threads, the limits on time and memory and the output options may differ.
The checkpoint is rewritten periodically, and removed when the result has been shown.";

pub(crate) const RESUME_EXAMPLES: &str = "\
Examples:
  selvedge check queue.sel --checkpoint queue.ckpt --time 1h
  selvedge resume queue.ckpt --time 1h
  selvedge resume queue.ckpt --jobs 8

Exit codes: those of `selvedge check`.";

pub(crate) const ESTIMATE: &str = "\
Estimate how many executions a check will have: one per Mazurkiewicz class.

Runs random executions. One that is chosen with probability P, and whose class has L executions,
counts for 1/(P*L) classes. The result is an order of magnitude with its range; with many threads it
is more often too low than too high. With --samples it does not depend on the machine's speed.";

pub(crate) const ESTIMATE_EXAMPLES: &str = "\
Examples:
  selvedge estimate queue.sel
  selvedge estimate queue.sel --const N=8 --time 2s
  selvedge estimate queue.sel --samples 1000 --json

Exit codes: 0 if there is an estimate, 3 if there is none, 2 for an error.";

pub(crate) const FARM: &str = "\
Check a program on many machines, by way of a NATS server with JetStream.

`farm check` submits the program and merges the workers' results; `farm work`, on each machine, runs
parts of the search. Workers can be started, stopped and killed at any time: another one repeats the
parts that were lost. The result is that of `selvedge check --algorithm parsimonious`, except for
the time. If the submitter is killed, the same command continues the job. All machines need the same
build of selvedge.";

pub(crate) const FARM_EXAMPLES: &str = "\
Examples:
  nats-server -js                                        on one machine, say `head`
  selvedge farm work --nats nats://head:4222             on each machine, any number
  selvedge farm check queue.sel --nats nats://head:4222  anywhere: the report comes here
  selvedge farm status --nats nats://head:4222

The environment variables NATS_URL and NATS_CREDS stand for --nats and --creds.

Exit codes: `farm check` as `selvedge check`; the other commands 0, or 2 for an error.";

pub(crate) const COMPARE: &str = "\
Run all algorithms on a program, side by side.

Every algorithm continues after violations, so that the numbers can be compared. Numbers of one that
does not finish in time are marked \"≥\". Contradicting verdicts are an internal error.";

pub(crate) const COMPARE_EXAMPLES: &str = "\
Examples:
  selvedge compare queue.sel
  selvedge compare queue.sel --const N=4 --time 1m
  selvedge compare queue.sel --algorithms source,optimal --json
  selvedge compare queue.sel --algorithms source,quasi --k 1,2,3,optimal

Exit codes: 1 if an algorithm finds a violation, else 0 if one verifies the program, else 3;
2 if two verdicts contradict each other.";

pub(crate) const BENCH: &str = "\
Measure how fast the algorithms are, on built-in programs.

The tables show the rate of `source`, `optimal` and `quasi`; `data-centric` beside `optimal`;
`constrained` beside `source`; how the cost of an execution grows with its length; the symbolic
encodings; and goals, each \"met\" or \"not met\". Algorithms run alternately, short programs many
times; times are medians. The numbers of executions are known, and a wrong one is an internal error.

With --svg it draws how executions and time grow with the size of four programs instead.";

pub(crate) const BENCH_EXAMPLES: &str = "\
Examples:
  selvedge bench                 everything, in a few minutes
  selvedge bench --quick         the short programs only, in a few seconds
  selvedge bench --seconds 60    also explorations that take up to a minute
  selvedge bench --json          for machines; see docs/benchmarks.md
  selvedge bench --svg growth.svg   curves over N, one per algorithm

Exit codes: 0 if it finished, whether goals are met or not; 2 if a number of executions is wrong;
3 if it was interrupted.";

pub(crate) const REPLAY: &str = "\
Replay a schedule and show its execution.

A schedule is a list of thread numbers, joined by dots: `0.1@2.0:1` is thread 0, thread 1 twice, and
thread 0 with alternative 1 (the second value of a `choose`, the second waiter of a `signal`).";

pub(crate) const REPLAY_EXAMPLES: &str = "\
Examples:
  selvedge replay lost.sel --schedule 0.1@2.0
  selvedge replay lost.sel --schedule 0.1@2.0 --step     one step at a time
  selvedge check lost.sel --save-trace lost.json
  selvedge replay --trace lost.json                      with the saved file name and constants

With --step: Enter shows the next step, `c` Enter all remaining steps, `q` Enter quits.

Exit codes: 1 if the execution shows a violation, 0 if not, 2 if the schedule cannot be followed.";

pub(crate) const COMPLETIONS: &str = "\
Write a completion script for a shell to standard output.";

pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  selvedge completions bash > ~/.local/share/bash-completion/completions/selvedge
  selvedge completions zsh > ~/.zfunc/_selvedge
  selvedge completions fish > ~/.config/fish/completions/selvedge.fish";

pub(crate) const CONSTRAINTS: &str = "\
Find conditions under which pairs of atomic blocks are independent.

For each pair of atomic procedures and named atomic blocks, a solver looks for conditions on shared
variables, parameters and local variables under which both orders lead to the same state. Each
condition is sufficient by itself. They are exact for 32-bit integers: a guard is added where an
overflow would depend on the order.";

pub(crate) const CONSTRAINTS_EXAMPLES: &str = "\
Examples:
  selvedge constraints bank.sel
  selvedge constraints bank.sel --write bank.constraints
  selvedge check bank.sel --algorithm constrained --constraints bank.constraints
  selvedge constraints bank.sel --pair-work 100000 --time 5m  for blocks that need more work
  selvedge constraints bank.sel --json                        for machines; see docs/json.md

Exit codes: 0 if the program could be read, whatever was found; 3 if a limit or a signal ended it.";

pub(crate) const MAT: &str = "\
Show the mutually atomic transactions of each pair of threads.

Two transactions, one of each thread, are mutually atomic if only their last steps depend on each
other. Control then needs to pass only at their ends. The table shows how they are found, round by
round: the pair of steps at which the search continues, the transactions, and the new pairs. Below
it are the remaining passes, out of all pairs of steps. With three and more threads, the passes of
the pairs are not enough together: the last line says how many a check keeps.";

pub(crate) const MAT_EXAMPLES: &str = "\
Examples:
  selvedge mat programs/mat/figure-4.sel
  selvedge mat programs/mat/figure-4.sel --svg passes.svg

To check with them: selvedge check FILE --symbolic mat";

pub(crate) const SERVE: &str = "\
Open a workbench in the browser: an editor that reports errors as you type, the programs of the
repository as examples, constants, algorithms and memory models to choose, checks with progress
and a stop, their pages, a comparison of all algorithms, and conditions under which atomic
blocks commute.

It prints the address to open. The address contains a token, without which every request is
refused, and it works on this machine only. No network is needed. Programs stay in the browser:
no file is read, and the only files written are those of a running check, in a private folder.
Every check is a process of its own, limited in time and memory.";

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  selvedge serve
  selvedge serve --port 8000 --time 5m --max-memory 4GiB

Ctrl-C ends it and all its checks.

Exit codes: 130 after Ctrl-C; 2 if the port cannot be used.";

pub(crate) const LSP: &str = "\
Language server for .sel programs, on standard input and output.

Editors start it; it prints nothing for people. It reports errors as you type; shows what a name
is, and for an access to a shared object the accesses of other threads that it depends on; finds
the declaration and all uses; renames, unless that would change the meaning; lists symbols;
formats. The lens \"Check\" above the text checks the program as it is in the editor and opens
the result as a page in the browser; it shows progress and can be cancelled.";

pub(crate) const LSP_EXAMPLES: &str = "\
How to connect:
  Neovim     vim.lsp.start({ name = 'selvedge', cmd = { 'selvedge', 'lsp' } })
  Helix      editors/helix/languages.toml
  VS Code    editors/vscode, a folder to copy

docs/editors.md explains each of them.

Exit codes: 0 after `shutdown` and `exit`; 1 if the editor ends without `shutdown`.";

pub(crate) const FORMAT: &str = "\
Format programs: indentation, spaces, blank lines.

Line breaks and the text of comments are kept; a comment after code keeps its column if possible. A
program with syntax errors is not changed. The files that were changed are listed.";

pub(crate) const FORMAT_EXAMPLES: &str = "\
Examples:
  selvedge fmt queue.sel            rewrite a file
  selvedge fmt --check programs     list what is not formatted below a folder, for CI
  selvedge fmt - < queue.sel        for editors";

pub(super) const CC: &str = "\
Compile and link like a compiler, for the build of an existing program. Objects are instrumented, and a program is linked so that \
`selvedge check` can load it; it does not run by itself. Other calls of the compiler, such as -E or --version, are passed on \
unchanged.

The compiler is cc or c++, or the one that SELVEDGE_CC or SELVEDGE_CXX names.";

pub(super) const CC_EXAMPLES: &str = "\
Examples:
  CC=\"selvedge cc\" make && selvedge check ./queue
  CC=\"selvedge cc\" CXX=\"selvedge c++\" cmake -B build && cmake --build build
  selvedge cc -c queue.c && selvedge cc main.c queue.o -o queue && selvedge check ./queue -- 3";
