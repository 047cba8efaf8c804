// Summary, tabs, theme, keys.

function summary() {
  const rows = [["verdict", DATA.verdict], ["file", DATA.file]], add = (name, value) => { if (value) rows.push([name, value]); };
  add("constants", constants().join(", "));
  const words = { assertions: "assertions", deadlocks: "deadlocks", data_races: "data races" };
  const covered = wanted => Object.entries(words).filter(([name]) => DATA.covers[name] === wanted).map(([, word]) => word).join(", ");
  add(DATA.verdict === "verified" ? "covers" : "checked", covered(true));
  add(DATA.verdict === "verified" ? "not covered" : "not checked", covered(false));
  if (isSymbolic) add("search", `symbolic, ${DATA.symbolic}, solved by ${DATA.solver}; loops repeated at most ${plural(DATA.unroll, "time")}`);
  else add("search", DATA.equivalence ? `${DATA.algorithm}: ${DATA.decision ? DATA.decision.explorer + ", " : ""}${DATA.states ? "each state once" : `one execution per class of ${DATA.equivalence}`}` : DATA.algorithm);
  if (DATA.executions) {
    add("executions", Object.entries(DATA.executions).filter(([kind, count]) => count || kind !== "cut").map(([kind, count]) => `${count.toLocaleString("en")} ${kind}`).join(", "));
    if (DATA.states) add("states", DATA.states.toLocaleString("en"));
    add("steps", `${DATA.steps.toLocaleString("en")} in all, ${DATA.longest.toLocaleString("en")} in the longest execution`);
  }
  add("threads", DATA.threads);
  add("time", DATA.seconds < 0.1 ? `${(DATA.seconds * 1000).toFixed(1)} ms` : `${DATA.seconds.toFixed(1)} s`);
  for (const reason of DATA.inconclusive) { add("not proved", reason.message); add("next step", reason.next && advice(reason.next)); }
  for (const violation of DATA.violations) add("violation", violation.message);
  for (const [name, value] of Object.entries(DATA.facts || {})) add(name, value);
  add("version", `selvedge ${DATA.version}`);
  const table = el("table", {});
  for (const [name, value] of rows) table.append(el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, ...[value].flat())));
  $("summary").append(table);
  // Without an execution the source has no other place.
  if (!runs.length && DATA.source && DATA.source.length) {
    const box = el("pre", { class: "source", tabindex: 0, "aria-label": "source" });
    fill(box);
    $("summary").append(box);
  }
}

const TABS = [["run", "run", runs.length > 0], ["tree", "exploration", Boolean(tree)], ["summary", "summary", DATA.command === "check"]];

function tab(name) {
  for (const [id, panel] of TABS) {
    $(`tab-${id}`).setAttribute("aria-selected", id === name);
    $(panel).hidden = id !== name;
  }
  for (const id of ["run", "tree"]) $(`keys-${id}`).hidden = id !== name;
  if (name === "tree") { tree.list(); $("tree").focus({ preventScroll: true }); tree.press(""); }
  if (name === "run") { draw(); $("lanes").focus({ preventScroll: true }); }
}

function choose(index) {
  show(index);
  $("violation").value = index;
  go(mostTelling());
}

/// The row to begin with: the later access of a data race, the last thread of a deadlock, or the last step.
function mostTelling() {
  if (run.race) return run.race[1] - 1;
  return (run.kind === "deadlock" || !run.trace.length ? rows.length : run.trace.length) - 1;
}

function switchTheme() {
  const root = document.documentElement, isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme || (isDark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
}

const isSwitch = index => index > 0 && index < run.trace.length && rows[index].thread !== rows[index - 1].thread;

function seek(from, by, wanted) {
  for (let index = from + by; index >= 0 && index < rows.length; index += by) if (wanted(index)) return index;
  return from;
}

function press(pressed) {
  if (pressed === "?") { $("help").hidden = !$("help").hidden; return true; }
  if (pressed === "Escape") { $("help").hidden = true; return true; }
  if (pressed === "e" && tree) { tab($("exploration").hidden ? "tree" : runs.length ? "run" : "summary"); return true; }
  if (!$("exploration").hidden) return tree.press(pressed);
  if ($("run").hidden) return false;
  const sameThread = index => rows[index].thread === rows[current].thread;
  const next = {
    ArrowDown: () => current + 1, j: () => current + 1, ArrowUp: () => current - 1, k: () => current - 1,
    Home: () => 0, End: () => rows.length - 1,
    n: () => seek(current, 1, isSwitch), p: () => seek(current, -1, isSwitch),
    "]": () => seek(current, 1, sameThread), "[": () => seek(current, -1, sameThread),
    h: () => { only = !only; return current; },
  }[pressed];
  if (next) go(next());
  return Boolean(next);
}

function start() {
  for (const [id, , isThere] of TABS) { $(`tab-${id}`).hidden = !isThere; $(`tab-${id}`).onclick = () => tab(id); }
  // In the workbench, whose own button switches both.
  if (window !== window.top) document.documentElement.classList.add("inside");
  $("theme").onclick = switchTheme;
  $("help").onclick = () => { $("help").hidden = true; };
  if (runs.length > 1) {
    runs.forEach((run, index) => $("violation").append(el("option", { value: index }, `${index + 1} of ${runs.length}: ${run.message}`)));
    $("violation").onchange = () => choose(Number($("violation").value));
    $("chooser").hidden = false;
  }
  if (DATA.command === "check") summary();
  if (tree) treeNote();
  const name = runs.length ? "run" : "summary";
  $("legend").hidden = !runs.length;
  if (runs.length) {
    $("run").hidden = false;
    const [, number, step] = location.hash.match(/^#(?:(\d+)\.)?(\d+)$/) || [];
    const index = Math.min(Math.max(Number(number || 1), 1), runs.length) - 1;
    show(index);
    $("violation").value = index;
    go(step ? Number(step) - 1 : mostTelling());
  } else {
    header();
  }
  tab(name);
  $("lanes").onscroll = () => draw();
  // The step stays in view; in a frame that gets its size late, it comes into view.
  addEventListener("resize", () => { if (run && !$("run").hidden) { layOut(); go(current); } });
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw());
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    if (event.key === "Enter" && event.target.tagName === "BUTTON") return;
    if (press(event.key)) event.preventDefault();
  });
}

start();
