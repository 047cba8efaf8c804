//! The long texts of `--help`.

pub(crate) const ABOUT: &str = "\
Checks concurrent programs.

A concurrent program can run in very many ways. Selvedge runs one execution for each class of
executions that cannot be told apart, and checks every one: assertions, deadlocks, misuse of locks,
arithmetic, bounds and, if asked, data races. So it finds a violation and shows the execution that
leads to it, or it proves that there is none.";

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  verified        1  violated
  3  inconclusive    2  wrong usage, a file that cannot be read or written, or an error of the tool

If there is a violation, the code is 1 also if a file cannot be written.";

pub(crate) const GETTING_STARTED: &str = "\
Selvedge checks concurrent programs.

1. Write a program, say lost.sel:

       shared x = 0;
       thread inc(i in 0..2) { let v = x; x = v + 1; }
       finally { assert x == 2; }

2. Check it:                       selvedge check lost.sel
3. Look at the execution again:    selvedge replay lost.sel --schedule …   (check prints the command)
4. Compare the algorithms:         selvedge compare lost.sel

All commands:  selvedge --help       One command, with examples:  selvedge check --help
";

pub(crate) const CHECK: &str = "\
Check a program: find a violation, or prove that there is none.

The verdict comes first. \"verified\" says what it covers; \"violated\" comes with the execution, one
column per thread, and the command that replays it; \"inconclusive\" says why and what to do. Every
violation was replayed before it is shown.";

pub(crate) const CHECK_EXAMPLES: &str = "\
Examples:
  selvedge check queue.sel                      find a violation or prove that there is none
  selvedge check queue.sel --const N=4          the same program, larger
  selvedge check queue.sel --races              also data races
  selvedge check queue.sel --keep-going         all different violations
  selvedge check queue.sel --time 1m            stop after a minute
  selvedge check queue.sel --preemptions 2      only executions with few preemptions
  selvedge check queue.sel --algorithm quasi --k 2   unfoldings, looking two sleepers ahead
  selvedge check queue.sel --algorithm quasi --locks-only --stats   for programs without data races
  selvedge check queue.sel --algorithm constrained   atomic tasks that commute, found by a solver
  selvedge check queue.sel --sample 10000 --pct 3   random executions of a program too large
  selvedge check queue.sel --symbolic           all executions as one formula; loops are unrolled
  selvedge check queue.sel --symbolic mat --stats   another encoding, with its sizes
  selvedge check queue.sel --json               for other programs; see docs/json.md

The kinds of executions:
  complete    every thread finished, or one failed
  deadlocked  a thread waits for ever
  blocked     a thread stands at an `assume` that is false
  redundant   given up half-way: it belongs to a class that was seen before
  cut         ended by a limit

Ctrl-C ends the search and shows what was found so far; a second Ctrl-C ends the process.

Exit codes: 0 verified, 1 violated, 2 wrong usage or an error of the tool, 3 inconclusive.";

pub(crate) const COMPARE: &str = "\
Run all algorithms on a program, side by side.

Every algorithm goes on after violations, so that the numbers can be compared. One that does not come
to an end in its time has numbers with a \"≥\". Verdicts that contradict each other are an error of
the tool.";

pub(crate) const COMPARE_EXAMPLES: &str = "\
Examples:
  selvedge compare queue.sel
  selvedge compare queue.sel --const N=4 --time 1m
  selvedge compare queue.sel --algorithms source,optimal --json
  selvedge compare queue.sel --algorithms source,quasi --k 1,2,3,optimal

Exit codes: 1 if an algorithm finds a violation, else 0 if one verifies the program, else 3;
2 if two verdicts contradict each other.";

pub(crate) const BENCH: &str = "\
Measure how fast the explorers are, on programs that the tool brings along.

Three tables: how fast `source`, `optimal` and `quasi` are on a dozen programs; how the cost of an
execution grows with its length; and what the tool should reach, with \"met\" or \"not met\". The
algorithms run in turn, short programs many times, and the median counts. The numbers of executions
are known, and a wrong one is an error of the tool.";

pub(crate) const BENCH_EXAMPLES: &str = "\
Examples:
  selvedge bench                 all, in about three minutes
  selvedge bench --quick         the short programs only
  selvedge bench --seconds 60    also what takes up to a minute
  selvedge bench --json          for other programs; see docs/benchmarks.md

Exit codes: 0 if it came to its end, whether goals are met or not; 2 if a number of executions is
wrong; 3 if Ctrl-C ended it.";

pub(crate) const REPLAY: &str = "\
Show the execution that a schedule leads to.

A schedule is a list of thread numbers, joined by dots: `0.1@2.0:1` is thread 0, thread 1 twice, and
thread 0 with its alternative 1 (the second value of a choice, the second waiter of a signal).";

pub(crate) const REPLAY_EXAMPLES: &str = "\
Examples:
  selvedge replay lost.sel --schedule 0.1@2.0
  selvedge replay lost.sel --schedule 0.1@2.0 --step     one step at a time
  selvedge check lost.sel --save-trace lost.json
  selvedge replay --trace lost.json                      knows the file and the constants

With --step: Enter shows the next step, `c` and Enter all that are left, `q` and Enter ends.

Exit codes: 1 if the execution shows a violation, 0 if not, 2 if the schedule cannot be followed.";

pub(crate) const COMPLETIONS: &str = "\
Write a completion script for a shell to standard output.";

pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  selvedge completions bash > ~/.local/share/bash-completion/completions/selvedge
  selvedge completions zsh > ~/.zfunc/_selvedge
  selvedge completions fish > ~/.config/fish/completions/selvedge.fish";

pub(crate) const CONSTRAINTS: &str = "\
Find out when atomic blocks are independent of each other.

For each pair of atomic procedures and named atomic blocks, a solver looks for conditions on shared
variables, parameters and local variables under which it does not matter which of the two runs first.
Each condition suffices. They are exact for integers of 32 bits: a guard is added where an overflow would
depend on the order.";

pub(crate) const CONSTRAINTS_EXAMPLES: &str = "\
Examples:
  selvedge constraints bank.sel
  selvedge constraints bank.sel --write bank.constraints
  selvedge check bank.sel --algorithm constrained --constraints bank.constraints
  selvedge constraints bank.sel --pair-time 20s --time 5m     for blocks that take long
  selvedge constraints bank.sel --json                        for other programs; see docs/json.md

Exit codes: 0 if the program could be read, whatever was found.";

pub(crate) const MAT: &str = "\
Show the mutually atomic transactions of two threads.

Two transactions, one of each thread, are mutually atomic if only their last steps depend on each
other. Then it is enough to let control pass at their ends. The table shows how they are found,
round by round: the pair of steps from which the search goes on, the transactions, and the
pairs that are new. Below it are the passes that are left, out of all pairs of steps.";

pub(crate) const MAT_EXAMPLES: &str = "\
Examples:
  selvedge mat programs/mat/figure-4.sel
  selvedge mat programs/mat/figure-4.sel --svg passes.svg

Use them: selvedge check FILE --symbolic mat";
