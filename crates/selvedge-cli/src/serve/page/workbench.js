// The workbench. Everything from a program is text: it goes into the page by textContent and setAttribute only.
"use strict";

const $ = (id) => document.getElementById(id);
const text = $("text");

/// Longer programs are not coloured: it would be slower than typing.
const MOST_COLOURED = 200_000;

let facts = { keywords: [], builtIn: [], algorithms: [], memories: [], examples: [] };
/// What the text was loaded from, and with what text.
let example = { name: "", text: "" };
/// Values of constants that differ from the text's.
let given = {};
let diagnostics = [];
/// Where the last check found violations, in the text as it was then.
let violated = [];
/// What runs: its controller, its kind, when it started, and what it said last.
let job = null;
/// The page that is shown, if it is one.
let page = null;
/// Whether what is shown is a result, of the text as it is.
let isResult = false;

function element(name, attributes = {}, ...children) {
  const svg = name === "svg" || name === "rect";
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// ---- The editor: three layers with the same text ----

/// Returns pieces of text with their classes: keywords, built-in routines, numbers, strings, comments.
function tokens(source) {
  const keywords = new Set(facts.keywords);
  const builtIn = new Set(facts.builtIn);
  const next = /\/\/[^\n]*|\/\*|"(?:\\.|[^"\\\n])*"?|[A-Za-z_]\w*|\d\w*/g;
  const found = [];
  let at = 0;
  for (let match; (match = next.exec(source)); ) {
    let [word] = match;
    if (word === "/*") word = source.slice(match.index, commentEnd(source, match.index));
    next.lastIndex = match.index + word.length;
    const kind = word[0] === "/" ? "c" : word[0] === '"' ? "s" : /\d/.test(word[0]) ? "n"
      : keywords.has(word) ? "k" : builtIn.has(word) ? "b" : "";
    if (!kind) continue;
    found.push([source.slice(at, match.index), ""], [word, kind]);
    at = next.lastIndex;
  }
  found.push([source.slice(at), ""]);
  return found;
}

/// Comments nest.
function commentEnd(source, start) {
  const sign = /\/\*|\*\//g;
  sign.lastIndex = start;
  let depth = 0;
  for (let match; (match = sign.exec(source)); ) {
    depth += match[0] === "/*" ? 1 : -1;
    if (depth === 0) return sign.lastIndex;
  }
  return source.length;
}

function show(layer, pieces) {
  const all = document.createDocumentFragment();
  for (const [piece, kind] of pieces) {
    if (piece) all.append(kind ? element("span", { class: kind }, piece) : piece);
  }
  // The last line is as high as the others, also if it is empty.
  all.append("\n");
  layer.replaceChildren(all);
}

function paint() {
  const source = text.value;
  show($("colours"), source.length > MOST_COLOURED ? [[source, ""]] : tokens(source));
  paintMarks();
}

function paintMarks() {
  const source = text.value;
  const marks = violated.map(({ start, end }) => ({ start, end, kind: "violated" }));
  for (const { place, severity } of diagnostics) if (place) marks.push({ ...place, kind: severity });
  marks.sort((a, b) => a.start - b.start);
  const pieces = [];
  let at = 0;
  for (const { start, end, kind } of marks) {
    // A place without length is where something is missing; at the end of a line that is behind what is there.
    const isBehind = end <= start && start > 0 && (start >= source.length || source[start] === "\n");
    const from = isBehind ? start - 1 : start;
    if (from < at) continue;
    const until = Math.min(Math.max(end, from + 1), source.length);
    pieces.push([source.slice(at, from), ""], [source.slice(from, until), kind]);
    at = until;
  }
  pieces.push([source.slice(at), ""]);
  show($("marks"), pieces);
  const wrong = new Map();
  for (const { place, severity } of diagnostics) if (place) wrong.set(place.line, severity === "error" ? "bad" : "unsure");
  const count = source.split("\n").length;
  show($("numbers"), Array.from({ length: count }, (_, i) => [`${i + 1}\n`, wrong.get(i + 1) ?? ""]));
  scrolled();
}

function scrolled() {
  const moved = `translate(${-text.scrollLeft}px, ${-text.scrollTop}px)`;
  $("colours").style.transform = moved;
  $("marks").style.transform = moved;
  $("numbers").scrollTop = text.scrollTop;
}

/// Replaces the selection so that it can be undone.
function insert(what) {
  text.focus();
  if (!document.execCommand("insertText", false, what)) text.setRangeText(what, text.selectionStart, text.selectionEnd, "end");
}

function replaceAll(what) {
  text.focus();
  text.select();
  insert(what);
  text.setSelectionRange(0, 0);
  text.scrollTop = 0;
}

/// Indents the selected lines, or less.
function indent(less) {
  const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
  const { selectionStart: start, selectionEnd: end } = text;
  if (start === end && !less) return insert("    ");
  const lines = text.value.slice(from, end).split("\n");
  const changed = lines.map((line) => (less ? line.replace(/^ {1,4}|^\t/, "") : line && `    ${line}`)).join("\n");
  text.setSelectionRange(from, end);
  insert(changed);
  text.setSelectionRange(start === end ? text.selectionEnd : from, from + changed.length);
}

/// A new line begins where the one before begins, and deeper behind a brace.
function newLine() {
  const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
  const before = text.value.slice(from, text.selectionStart);
  const blanks = /^[ \t]*/.exec(before)[0];
  const deeper = /[{([]\s*$/.test(before) ? "    " : "";
  const closes = deeper && /^[})\]]/.test(text.value.slice(text.selectionEnd));
  insert(`\n${blanks}${deeper}${closes ? `\n${blanks}` : ""}`);
  if (closes) text.setSelectionRange(text.selectionStart - blanks.length - 1, text.selectionStart - blanks.length - 1);
}

function goTo({ start, end }) {
  text.focus();
  text.setSelectionRange(start, Math.max(end, start));
  const line = text.value.slice(0, start).split("\n").length;
  text.scrollTop = Math.max(0, line * 20 - text.clientHeight / 2);
}

// ---- Talking to the server ----

function request() {
  const [algorithm, memory] = [$("algorithm").value, $("memory").value];
  return {
    text: text.value, name: example.name, constants: given, algorithm, memory,
    races: $("races").checked, keepGoing: $("keep-going").checked,
  };
}

function post(path, signal, body = request()) {
  return fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal,
  });
}

let asked = 0;
let diagnoseTimer;

function diagnoseSoon() {
  clearTimeout(diagnoseTimer);
  diagnoseTimer = setTimeout(diagnose, 120);
}

async function diagnose() {
  const number = ++asked;
  try {
    const response = await post("diagnose");
    if (!response.ok) throw new Error(await response.text());
    const answer = await response.json();
    // An answer to an older question has places of an older text.
    if (number !== asked) return;
    diagnostics = answer.diagnostics;
    showConstants(answer.constants);
    showProblems();
    paintMarks();
  } catch (error) {
    if (number === asked) tell("", gone(error));
  }
}

function gone(error) {
  return error instanceof TypeError ? "the workbench does not answer: is `selvedge serve` still running?" : error.message;
}

function showProblems() {
  $("problems").replaceChildren(...diagnostics.map((it) => {
    const where = it.place ? `${it.place.line}:${it.place.column} ` : "";
    const label = it.label ? `: ${it.label}` : "";
    const button = element("button", { class: "link", type: "button" }, `${where}${it.severity}: ${it.message}${label}`);
    button.onclick = () => it.place && goTo(it.place);
    const more = [...it.others, ...it.help.map((help) => `help: ${help}`)].join("\n");
    return element("li", { class: it.severity }, button, element("div", { class: "help" }, more));
  }));
}

function showConstants(constants) {
  const names = new Set(constants.map(({ name }) => name));
  for (const name of Object.keys(given)) if (!names.has(name)) delete given[name];
  $("constants").hidden = constants.length === 0;
  const old = [...$("constants").querySelectorAll("input")];
  const same = old.length === constants.length && constants.every(({ name, value }, i) =>
    old[i].name === name && old[i].dataset.default === String(value));
  // What is being typed into stays.
  if (same) return;
  $("constants").replaceChildren(...constants.map(({ name, value }) => {
    const isBool = typeof value === "boolean";
    const input = element("input", { name, type: isBool ? "checkbox" : "number", step: 1, "data-default": value });
    const current = given[name] ?? value;
    if (isBool) input.checked = current;
    else input.value = current;
    const mark = () => input.classList.toggle("changed", name in given);
    input.oninput = () => {
      const now = isBool ? input.checked : input.value.trim() === "" ? value : Number(input.value);
      const isWrong = !isBool && !Number.isSafeInteger(now);
      input.classList.toggle("wrong", isWrong);
      if (isWrong) return;
      if (now === value) delete given[name];
      else given[name] = now;
      mark();
      changed();
    };
    mark();
    return element("label", {}, `${name} `, input);
  }));
}

// ---- What runs ----

function tell(verdict, message, isRunning = false) {
  const parts = [];
  isResult = false;
  if (verdict) parts.push(element("span", { class: `chip ${verdict}` }, verdict), " ");
  parts.push(isRunning ? element("span", { class: "running" }, message) : message);
  const share = isRunning && /~([\d.]+) % of/.exec(message);
  if (share) parts.push(element("progress", { max: 100, value: share[1], "aria-label": "share done, estimated" }));
  $("status").replaceChildren(...parts);
}

function panel(id) {
  for (const other of ["nothing", "page", "table"]) $(other).hidden = other !== id;
}

function runs(kind) {
  for (const id of ["check", "compare", "constraints"]) $(id).disabled = kind !== null;
  $("stop").disabled = kind === null;
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}

async function run(kind) {
  if (job) return;
  const id = `job${crypto.getRandomValues(new Uint32Array(4)).join("_")}`;
  const mine = { id, controller: new AbortController(), kind, start: performance.now(), said: "", isStopping: false };
  job = mine;
  violated = [];
  paintMarks();
  runs(kind);
  tell("", `${kind}: running`, true);
  const show = { check: checked, compare: compared(), constraints: constrained }[kind];
  try {
    const response = await post(kind, mine.controller.signal, { ...request(), job: id });
    if (!response.ok) throw new Error(await response.text());
    let isOver = false;
    for await (const message of lines(response.body)) {
      if (message.progress) tell("", (mine.said = message.progress), true);
      else if (message.error && !message.row) throw new Error(message.error);
      else isOver = show(message) || isOver;
    }
    if (!isOver) throw new Error("the workbench has ended");
  } catch (error) {
    const isStopped = error.name === "AbortError";
    const seconds = ((performance.now() - mine.start) / 1000).toFixed(1);
    if (isStopped) tell("stopped", `after ${seconds} s: nothing is proved${mine.said ? `; ${mine.said}` : ""}`);
    else tell("error", gone(error));
  }
  job = null;
  runs(null);
}

/// A check is asked to stop and to show what it has found; asked twice, it is ended. The others show what they find on the way.
function stop() {
  if (!job) return;
  if (job.kind !== "check" || job.isStopping) {
    job.controller.abort();
    return;
  }
  job.isStopping = true;
  post("stop", undefined, { job: job.id }).catch(() => job?.controller.abort());
}

function number(value) {
  return value.toLocaleString("en-US");
}

function duration(seconds) {
  if (seconds < 0.001) return `${(seconds * 1e6).toPrecision(3)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toPrecision(3)} ms`;
  return `${seconds.toPrecision(3)} s`;
}

function checked({ result }) {
  if (!result) return false;
  const { complete, deadlocked, blocked } = result.executions;
  const first = result.violations[0]?.message ?? result.inconclusive[0]?.message ?? "no violation";
  const more = result.violations.length > 1 ? ` (and ${result.violations.length - 1} more)` : "";
  const explored = result.states === null ? `${number(complete + deadlocked + blocked)} executions` : `${number(result.states)} states`;
  tell(result.verdict, `${explored} in ${duration(result.seconds)}`);
  // The page has the message in large letters. This is for those who listen.
  $("status").append(element("span", { class: "heard" }, `: ${first}${more}`));
  isResult = true;
  violated = result.violations.flatMap(({ places }) => places).map(offsets).filter(Boolean);
  paintMarks();
  page = result.page;
  showPage();
  return true;
}

/// Returns the offsets of a place, which counts characters.
function offsets({ line, column, length }) {
  const rows = text.value.split("\n");
  if (line > rows.length) return null;
  const start = rows.slice(0, line - 1).reduce((all, row) => all + row.length + 1, 0);
  const letters = [...rows[line - 1]];
  const units = (count) => letters.slice(0, count).join("").length;
  return { start: start + units(column - 1), end: start + units(column - 1 + length) };
}

function showPage() {
  if (page === null) return panel("nothing");
  const theme = document.documentElement.dataset.theme;
  // Shown first: what is hidden has no width, and the page lays itself out by it.
  panel("page");
  $("page").src = `pages/${page}${theme ? `?theme=${theme}` : ""}`;
}

/// Returns what shows the rows of a comparison as they come.
function compared() {
  const rows = [];
  const show = () => {
    const total = ({ executions }) => (executions ? Object.values(executions).reduce((all, it) => all + it, 0) : 0);
    const most = Math.max(1, ...rows.map(total));
    // Kinds that no algorithm has are left out.
    const kinds = ["complete", "deadlocked", "blocked", "redundant", "cut"]
      .filter((kind, i) => i === 0 || kind === "redundant" || rows.some((row) => row.executions?.[kind]));
    const head = [["algorithm"], ["verdict"], ["executions", "bar"], ...kinds.map((it) => [it, "number"]), ["time", "number"], ["memory", "number"]];
    const body = rows.map((row) => {
      const name = element("td", { class: "name" }, row.algorithm);
      if (row.error) return element("tr", {}, name, element("td", { colspan: head.length - 1 }, row.error));
      const { redundant } = row.executions;
      const wide = (count) => (100 * count) / most;
      const useful = total(row) - redundant;
      const bar = element("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": `${number(total(row))} executions` },
        element("rect", { x: 0, y: 0, height: 10, width: Math.max(wide(useful), 0.5) }),
        element("rect", { class: "redundant", x: wide(useful), y: 0, height: 10, width: wide(redundant) }));
      const atLeast = row.exhausted ? "" : "≥ ";
      const why = [...row.violations, ...row.inconclusive.map((it) => it.message)].join("\n");
      return element("tr", {}, name, element("td", { class: row.verdict, title: why }, row.verdict), element("td", { class: "bar" }, bar),
        ...kinds.map((kind) => element("td", { class: "number" }, atLeast + number(row.executions[kind]))),
        element("td", { class: "number" }, duration(row.seconds)), element("td", { class: "number" }, memory(row.peak_bytes)));
    });
    const caption = element("p", { class: "caption", id: "table-caption" }, "Executions that each algorithm runs; in red those that turn out to be redundant. “≥”: stopped at a limit.");
    $("table").replaceChildren(caption, element("table", { "aria-labelledby": "table-caption" },
      element("thead", {}, element("tr", {}, ...head.map(([it, kind]) => element("th", kind ? { class: kind } : {}, it)))), element("tbody", {}, ...body)));
    panel("table");
  };
  return (message) => {
    if (message.running) tell("", `compare: ${message.running}`, true);
    if (message.row) rows.push(message.row);
    show();
    if (!message.result) return false;
    tell("", message.result.agree ? `${rows.length} algorithms` : "the verdicts contradict each other: please report this as a bug");
    isResult = true;
    return true;
  };
}

function memory(bytes) {
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}

function constrained({ result }) {
  if (!result) return false;
  const rows = result.pairs.map((pair) => {
    const found = pair.constraints.map(({ declaration }) => element("div", {}, element("code", {}, declaration)));
    const none = pair.gave_up ?? "they never commute";
    const add = element("button", { type: "button", title: "append these declarations to the program" }, "Add");
    add.disabled = found.length === 0;
    add.onclick = () => {
      const end = text.value.length;
      text.setSelectionRange(end, end);
      insert(`\n${pair.constraints.map(({ declaration }) => declaration).join("\n")}\n`);
      add.disabled = true;
    };
    const isAlways = pair.constraints.some(({ declaration }) => !declaration.includes(" if "));
    const when = !found.length || isAlways ? "" : pair.complete ? "and in no other state" : "and perhaps in others";
    return element("tr", {}, element("td", {}, element("code", {}, pair.first), " and ", element("code", {}, pair.second)),
      element("td", {}, ...(found.length ? found : [none])), element("td", {}, isAlways ? "in every state" : when), element("td", {}, add));
  });
  const head = ["blocks", "commute", "where", ""].map((it) => element("th", {}, it));
  const caption = element("p", { class: "caption", id: "table-caption" }, "Conditions under which pairs of atomic blocks commute. With the algorithm “constrained” they are used.");
  $("table").replaceChildren(caption, element("table", { "aria-labelledby": "table-caption" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
  panel("table");
  tell("", rows.length ? `${rows.length} pairs in ${duration(result.seconds)}` : "the program has no atomic procedures or named atomic blocks");
  isResult = true;
  return true;
}

// ---- The state in the address ----

async function packed(value) {
  const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let all = "";
  for (const byte of bytes) all += String.fromCharCode(byte);
  return btoa(all).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream()).getReader();
  let all = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return JSON.parse(all);
    all += value;
    // Links come from anywhere, and no program that is written by hand is as long.
    if (all.length > 2_000_000) throw new Error("the link is too long");
  }
}

let saveTimer;
let saves = 0;

function saveSoon() {
  clearTimeout(saveTimer);
  saveTimer = setTimeout(save, 250);
}

async function save() {
  clearTimeout(saveTimer);
  const { text, name, ...rest } = request();
  const state = { ...rest, name, text: text === example.text ? undefined : text };
  const mine = ++saves;
  const hash = await packed(state);
  if (mine === saves) history.replaceState(null, "", `#${hash}`);
}

async function load() {
  if (location.hash.length < 2) return useExample("bank.sel");
  let state;
  try {
    state = await unpacked(location.hash.slice(1));
  } catch {
    tell("error", "what follows # in the address is no state of the workbench");
    return useExample("bank.sel");
  }
  const known = facts.examples.includes(state.name);
  example = { name: known ? state.name : "", text: known ? await fetchExample(state.name) : "" };
  $("example").value = example.name;
  const pick = (id, value) => { if ([...$(id).options].some((option) => option.value === value)) $(id).value = value; };
  pick("algorithm", state.algorithm);
  pick("memory", state.memory);
  $("races").checked = state.races === true;
  $("keep-going").checked = state.keepGoing === true;
  given = {};
  for (const [name, value] of Object.entries(state.constants ?? {})) {
    if (typeof value === "boolean" || Number.isSafeInteger(value)) given[name] = value;
  }
  text.value = typeof state.text === "string" ? state.text : example.text;
  refreshed();
}

async function fetchExample(name) {
  const response = await fetch(`examples/${name}`);
  return response.ok ? response.text() : "";
}

async function useExample(name) {
  example = { name, text: await fetchExample(name) };
  $("example").value = name;
  given = {};
  text.value = example.text;
  refreshed();
}

/// After the whole text was replaced.
function refreshed() {
  text.setSelectionRange(0, 0);
  text.scrollTop = 0;
  text.scrollLeft = 0;
  diagnostics = [];
  $("constants").replaceChildren();
  showProblems();
  changed();
  advise();
}

function changed() {
  violated = [];
  if (isResult) $("status").append(" · the program has changed since");
  isResult = false;
  paint();
  diagnoseSoon();
  saveSoon();
}

// ---- Menus and keys ----

function fillMenus() {
  const groups = new Map([["", $("example")]]);
  $("example").append(element("option", { value: "" }, "your own"));
  for (const name of facts.examples) {
    const folder = name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : "";
    if (!groups.has(folder)) {
      const group = element("optgroup", { label: folder });
      $("example").append(group);
      groups.set(folder, group);
    }
    groups.get(folder).append(element("option", { value: name }, name.slice(folder && folder.length + 1).replace(/\.sel$/, "")));
  }
  const explorers = element("optgroup", { label: "one execution per class" });
  for (const { name, summary } of facts.algorithms) explorers.append(element("option", { value: name, title: summary }, name));
  const symbolic = element("optgroup", { label: "all executions as a formula" });
  for (const scheme of facts.schemes) symbolic.append(element("option", { value: `symbolic ${scheme}` }, `symbolic ${scheme}`));
  $("algorithm").append(explorers, symbolic);
  $("algorithm").value = facts.algorithm;
  $("memory").append(element("option", { value: "" }, "interleavings"));
  const models = element("optgroup", { label: "execution graphs under a model" });
  for (const name of facts.memories) models.append(element("option", { value: name }, name));
  $("memory").append(models);
}

function advise() {
  const isWeak = $("memory").value !== "";
  $("algorithm").disabled = isWeak;
  const chosen = facts.algorithms.find(({ name }) => name === $("algorithm").value);
  const limits = `At most ${facts.limits.time} and ${facts.limits.memory} per check.`;
  $("advice").textContent = isWeak
    ? `Execution graphs under the memory model ${$("memory").value}, data races included (under sc with races). ${limits}`
    : `${chosen ? `${chosen.name}: ${chosen.summary}.` : "All executions as one formula, loops unrolled."} ${limits}`;
}

function applyTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  if (!$("page").hidden) showPage();
}

function switchTheme() {
  const current = document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const theme = current === "dark" ? "light" : "dark";
  localStorage.setItem("theme", theme);
  applyTheme(theme);
}

async function format() {
  const answer = await (await post("format")).json();
  if (answer.text === null) return tell("", "the program has errors: fix what is marked first");
  if (answer.text !== text.value) replaceAll(answer.text);
}

/// Reads a file of the user's in the browser; the server never sees it but as a text to check.
async function openFile() {
  const [file] = $("file").files;
  $("file").value = "";
  if (!file) return;
  if (file.size > 1 << 20) return tell("error", "the file is too long: at most 1 MiB");
  example = { name: file.name, text: "" };
  $("example").value = "";
  given = {};
  text.value = (await file.text()).replaceAll("\r\n", "\n");
  refreshed();
}

function saveFile() {
  const address = URL.createObjectURL(new Blob([text.value], { type: "text/plain" }));
  const name = example.name.split("/").pop() || "program.sel";
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function nextProblem() {
  const places = diagnostics.map(({ place }) => place).filter(Boolean).sort((a, b) => a.start - b.start);
  const next = places.find(({ start }) => start > text.selectionStart) ?? places[0];
  if (next) goTo(next);
}

async function copyLink() {
  await save();
  try {
    await navigator.clipboard.writeText(location.href);
    tell("", "the address of this state is copied");
  } catch {
    tell("", `the address of this state: ${location.href}`);
  }
}

text.addEventListener("input", changed);
text.addEventListener("scroll", scrolled);
text.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Tab" && !text.dataset.leave) {
    event.preventDefault();
    indent(event.shiftKey);
  } else if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    newLine();
  }
});
text.addEventListener("focus", () => delete text.dataset.leave);
document.addEventListener("keydown", (event) => {
  const command = event.ctrlKey || event.metaKey;
  if (command && event.key === "Enter") run("check");
  else if (command && event.shiftKey && event.key.toLowerCase() === "f") format();
  else if (event.key === "F8") nextProblem();
  else if (event.key === "Escape" && job) stop();
  else if (event.key === "Escape" && document.activeElement === text) text.dataset.leave = "yes";
  else return;
  event.preventDefault();
});
for (const kind of ["check", "compare", "constraints"]) $(kind).onclick = () => run(kind);
$("stop").onclick = stop;
$("format").onclick = format;
$("open").onclick = () => $("file").click();
$("file").onchange = openFile;
$("save").onclick = saveFile;
$("link").onclick = copyLink;
$("theme").onclick = switchTheme;
$("help-button").onclick = () => $("help").showModal();
$("example").onchange = () => ($("example").value ? useExample($("example").value) : ((example = { name: "", text: "" }), saveSoon()));
for (const id of ["algorithm", "memory"]) $(id).onchange = () => (advise(), saveSoon());
for (const id of ["races", "keep-going"]) $(id).onchange = saveSoon;
addEventListener("hashchange", load);

(async () => {
  applyTheme(localStorage.getItem("theme"));
  try {
    facts = await (await fetch("facts")).json();
    fillMenus();
    await load();
  } catch (error) {
    tell("error", gone(error));
  }
})();
