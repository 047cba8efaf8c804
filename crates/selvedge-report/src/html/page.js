"use strict";
// Everything that comes from a program is untrusted text: it reaches the document as text or as an attribute,
// never as markup.

const $ = id => document.getElementById(id);
const DATA = JSON.parse($("data").textContent);

/// Without characters that would turn the direction of writing or hide something.
const clean = text => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");

function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  element.append(...children.map(child => typeof child === "object" ? child : clean(child)));
  return element;
}

function svg(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  if (text !== undefined) element.textContent = clean(text);
  return element;
}

const plural = (number, one) => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;
const colour = thread => `var(--t${thread % 6})`;
const isSymbolic = DATA.symbolic !== undefined;

// ---- header -------------------------------------------------------------------------------------------------

// A replay has one execution and perhaps several violations in it; a check has one execution for each.
const runs = DATA.violations.length || DATA.command === "check"
  ? DATA.violations
  : [{ message: "no violation", notes: [], places: [], trace: DATA.steps, waiting: DATA.waiting, initial: DATA.initial,
       schedule: DATA.schedule, context_switches: DATA.context_switches }];
let run = null;

function header() {
  const verdict = DATA.verdict || (DATA.violations.length ? "violated" : "no violation");
  $("verdict").textContent = verdict;
  $("verdict").classList.add(verdict.replace(" ", "-"));
  document.title = clean(`${verdict}: ${DATA.file}`);
  $("message").textContent = clean(run ? run.message : headline());
  const parts = [DATA.file, ...constants(), DATA.algorithm || DATA.symbolic || "replay"];
  const total = DATA.executions && executions();
  if (total !== undefined) parts.push(plural(total, "execution"));
  if (run) parts.push(plural(run.trace.length, "step"), `${run.context_switches} context switch${run.context_switches === 1 ? "" : "es"}`);
  $("meta").replaceChildren(clean(parts.join(" · ")));
  if (run && run.replay) {
    const copy = el("button", { type: "button", title: "copy the command" }, "copy");
    copy.onclick = () => navigator.clipboard && navigator.clipboard.writeText(run.replay);
    $("meta").append(" · ", el("code", {}, run.replay), " ", copy);
  }
}

function headline() {
  if (DATA.verdict === "verified") return isSymbolic ? "no violation in any execution" : `no violation in ${plural(executions(), "execution")}`;
  return DATA.inconclusive && DATA.inconclusive.length ? DATA.inconclusive[0].message : "no violation";
}

const executions = () => DATA.executions.complete + DATA.executions.deadlocked + DATA.executions.blocked;
const constants = () => Object.entries(DATA.constants || {}).map(([name, value]) => `${name} = ${value}`);

// ---- the execution: a lane per thread, a row per step -------------------------------------------------------

const ROW = 26, TOP = 8, LEFT = 64, CHARACTER = 7.55, FEWEST = 150;
/// Above so many lanes all edges together are a tangle: only those of the current step are shown.
const MOST_LANES = 6;
let rows, lanes, laneX, laneWidth, edges, edgesOf, clocks, nth, layers;
let current = -1, only = false;
const drawn = new Map(), lines = new Map();
const y = index => TOP + index * ROW + ROW / 2;

function show(index) {
  run = runs[index];
  // Those that could go on, or that failed in a step above, do not wait.
  const stuck = run.waiting.filter(({ status }) => ["blocked", "parked", "assumed"].includes(status));
  rows = run.trace.concat(stuck.map(waiting => ({
    ...waiting, waits: true, after: [], accesses: [], others: [],
    text: waiting.status === "assumed" || waiting.text.includes("waits") ? waiting.text : `waits: ${waiting.text}`,
  })));
  const names = new Map(rows.map(row => [row.thread, row.name]));
  lanes = [...names].sort((a, b) => a[0] - b[0]).map(([thread, name]) => ({ thread, name }));
  const laneOf = new Map(lanes.map((lane, index) => [lane.thread, index]));
  for (const row of rows) row.lane = laneOf.get(row.thread);
  parted();
  causes();
  links();
  layOut();
  source();
  header();
}

/// The two accesses of a data race came in this order by chance: that orders nothing.
function parted() {
  if (!run.race) return;
  const [first, second] = run.race, step = run.trace[second - 1];
  step.after = step.after.filter(edge => edge.step !== first);
}

/// Vector clocks: row i is in the past of row j if clocks[j] of its lane is larger than nth[i].
function causes() {
  const count = lanes.map(() => 0), last = lanes.map(() => -1);
  nth = []; clocks = [];
  run.trace.forEach((step, index) => {
    const clock = last[step.lane] < 0 ? new Uint32Array(lanes.length) : clocks[last[step.lane]].slice();
    for (const edge of step.after) clocks[edge.step - 1].forEach((value, lane) => { if (value > clock[lane]) clock[lane] = value; });
    nth.push(count[step.lane]++);
    clock[step.lane] = count[step.lane];
    clocks.push(clock);
    last[step.lane] = index;
  });
}

const isPast = (index, of) => clocks[of][rows[index].lane] > nth[index];

/// All edges by the rows at their ends.
function links() {
  edges = []; edgesOf = rows.map(() => []);
  const add = edge => { edges.push(edge); edgesOf[edge.from].push(edge); edgesOf[edge.to].push(edge); };
  run.trace.forEach((step, to) => {
    const whys = new Map();
    for (const edge of step.after) whys.set(edge.step, [...(whys.get(edge.step) || []), `${edge.why} (${edge.object})`]);
    for (const [from, why] of whys) add({ kind: "order", from: from - 1, to, title: `step ${to + 1}, after step ${from}: ${why.join(", ")}` });
  });
  rows.forEach((row, to) => {
    if (row.waits && row.holder) {
      const holder = rows[row.holder - 1];
      add({ kind: "waits", from: row.holder - 1, to, title: `${row.name} waits for ${row.object}, which ${holder.name} took in step ${row.holder}` });
    }
  });
  if (run.race) add({ kind: "race", from: run.race[0] - 1, to: run.race[1] - 1, title: "a data race: nothing orders these two accesses" });
}

/// Lanes are as wide as their texts; if they do not fit, they share the room.
function layOut() {
  const longest = lanes.map(lane => lane.name.length);
  for (const row of rows) longest[row.lane] = Math.max(longest[row.lane], label(row).length);
  const natural = longest.map(length => Math.max(110, 28 + CHARACTER * length));
  const room = Math.max(0, $("lanes").clientWidth - LEFT - 14 * lanes.length);
  let most = Infinity;
  if (natural.reduce((sum, width) => sum + width, 0) > room) {
    let left = room;
    natural.slice().sort((a, b) => a - b).every((width, index) => {
      const share = left / (lanes.length - index);
      if (width > share) { most = Math.max(share, FEWEST); return false; }
      left -= width;
      return true;
    });
  }
  laneWidth = natural.map(width => Math.min(width, most));
  laneX = [];
  let x = LEFT;
  for (const width of laneWidth) { laneX.push(x + 8); x += width + 14; }

  const names = el("div", { class: "names", style: `min-width: ${x}px` });
  lanes.forEach((lane, index) => names.append(el("span", {
    title: lane.name, style: `left: ${laneX[index] - 4}px; max-width: ${laneWidth[index]}px; color: ${colour(lane.thread)}`,
  }, lane.name)));
  const height = TOP + rows.length * ROW + 12;
  const picture = svg("svg", { width: "100%", height, style: `min-width: ${x}px`, role: "presentation" });
  picture.append(arrowheads());
  layers = ["hits", "lanes", "edges", "texts"].map(name => svg("g", { class: name }));
  lanes.forEach((lane, index) => layers[1].append(svg("line", { class: "lane", x1: laneX[index], x2: laneX[index], y1: 0, y2: height - 8 })));
  for (let first = 0; first < run.trace.length;) {
    let last = first;
    while (last + 1 < run.trace.length && rows[last + 1].thread === rows[first].thread) last++;
    const at = laneX[rows[first].lane];
    layers[1].append(svg("line", { class: "stretch", stroke: colour(rows[first].thread), x1: at, x2: at, y1: y(first) - 8, y2: y(last) + 8 }));
    first = last + 1;
  }
  picture.append(...layers);
  drawn.clear(); lines.clear();
  $("lanes").replaceChildren(names, picture);
}

function arrowheads() {
  const defs = svg("defs", {});
  for (const [name, fill] of [["order", "dim"], ["on", "edge"], ["waits", "bad"]]) {
    const marker = svg("marker", { id: `head-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" });
    marker.append(svg("path", { d: "M0 0L8 4L0 8z", fill: `var(--${fill})` }));
    defs.append(marker);
  }
  return defs;
}

const label = row => (row.stopped ? "✗ " : "") + row.text;

function fit(text, width) {
  const room = Math.floor((width - 26) / CHARACTER);
  return text.length <= room ? text : text.slice(0, Math.max(1, room - 1)) + "…";
}

function drawRow(index) {
  const row = rows[index], x = laneX[row.lane];
  const isWrong = row.waits || row.stopped || (run.race && run.race.includes(index + 1));
  const hit = svg("rect", { class: "hit", x: 0, y: y(index) - ROW / 2, width: "100%", height: ROW });
  const group = svg("g", { class: `row${isWrong ? " wrong" : ""}`, id: `row-${index}`, role: "option" });
  group.append(
    svg("title", {}, `${row.name}: ${row.text}${row.stopped ? "\n✗ " + row.stopped : ""}${row.place ? `\n${row.place.file}:${row.place.line}` : ""}`),
    svg("text", { class: "number", x: 8, y: y(index) + 4 }, row.waits ? "end" : index + 1),
    svg("circle", { class: "dot", cx: x, cy: y(index), r: row.waits ? 4 : 5, fill: isWrong ? "var(--bad)" : colour(row.thread) }),
    svg("text", { class: "text", x: x + 12, y: y(index) + 4 }, fit(label(row), laneWidth[row.lane])));
  const others = row.others.length + (row.choices > 1 ? row.choices - 1 : 0);
  if (others) {
    const mark = svg("text", { class: "others", x: 40, y: y(index) + 3 }, `+${others}`);
    mark.append(svg("title", {}, ["could have run instead:", ...alternatives(row)].join("\n")));
    group.append(mark);
  }
  hit.onclick = group.onclick = () => go(index);
  group.onmouseenter = () => hit.classList.add("over");
  group.onmouseleave = () => hit.classList.remove("over");
  layers[0].append(hit);
  layers[3].append(group);
  return { hit, group };
}

function alternatives(row) {
  const own = row.choices > 1 ? [`${row.name}: another of its ${row.choices} alternatives`] : [];
  return row.others.map(other => `${other.name}: ${other.text}`).concat(own);
}

function drawEdge(edge) {
  const isBackwards = edge.kind === "waits";
  const [start, end] = isBackwards ? [edge.to, edge.from] : [edge.from, edge.to];
  // From below a dot to above another, or back: beside the dots are the texts.
  const x1 = laneX[rows[start].lane], x2 = laneX[rows[end].lane], down = isBackwards ? -1 : 1;
  const y1 = y(start) + down * 6, y2 = y(end) - down * 7, bend = down * Math.max(8, Math.min(60, Math.abs(y2 - y1) / 2));
  const d = `M${x1} ${y1} C${x1} ${y1 + bend},${x2} ${y2 - bend},${x2} ${y2}`;
  const group = svg("g", {});
  const path = svg("path", { class: `edge ${edge.kind}`, d });
  path.append(svg("title", {}, edge.title));
  group.append(path);
  if (edge.kind === "race") group.append(svg("path", { class: "edge race-gap", d }));
  layers[2].append(group);
  return { group, path };
}

/// Only what is in view is in the document.
function draw(all) {
  if (!run) return;
  const box = $("lanes");
  const first = all ? 0 : Math.max(0, Math.floor((box.scrollTop - TOP) / ROW) - 10);
  const end = all ? rows.length : Math.min(rows.length, first + Math.ceil(box.clientHeight / ROW) + 20);
  const wanted = new Set(), reference = only && current < run.trace.length ? current : -1;
  const isFaded = index => reference >= 0 && !(index < run.trace.length && isPast(index, reference));
  for (const [index, row] of drawn) {
    if (index < first || index >= end) { row.hit.remove(); row.group.remove(); drawn.delete(index); }
  }
  for (let index = first; index < end; index++) {
    if (!drawn.has(index)) drawn.set(index, drawRow(index));
    const { hit, group } = drawn.get(index), isCurrent = index === current;
    hit.classList.toggle("current", isCurrent);
    group.classList.toggle("current", isCurrent);
    group.classList.toggle("faded", isFaded(index));
    group.setAttribute("aria-selected", isCurrent);
    for (const edge of edgesOf[index]) if (lanes.length <= MOST_LANES || edge.kind !== "order") wanted.add(edge);
  }
  for (const edge of edgesOf[current] || []) wanted.add(edge);
  for (const [edge, line] of lines) if (!wanted.has(edge)) { line.group.remove(); lines.delete(edge); }
  for (const edge of wanted) {
    if (!lines.has(edge)) lines.set(edge, drawEdge(edge));
    const { path, group } = lines.get(edge), isOn = edge.from === current || edge.to === current;
    path.classList.toggle("on", isOn && edge.kind !== "race");
    path.classList.toggle("faded", edge.kind === "order" && isFaded(edge.to));
    if (edge.kind !== "race") path.setAttribute("marker-end", `url(#head-${edge.kind === "order" && isOn ? "on" : edge.kind})`);
    if (isOn) layers[2].append(group);
  }
}

function go(index) {
  if (!run || !rows.length) return;
  current = Math.max(0, Math.min(rows.length - 1, index));
  const box = $("lanes"), top = y(current);
  if (top - 2 * ROW < box.scrollTop) box.scrollTop = top - 2 * ROW - 30;
  else if (top + 2 * ROW + 30 > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * ROW + 30 - box.clientHeight;
  draw();
  box.setAttribute("aria-activedescendant", `row-${current}`);
  markSource();
  details();
  const number = runs.indexOf(run);
  history.replaceState(null, "", `#${number ? `${number + 1}.` : ""}${current + 1}`);
}

// ---- source -------------------------------------------------------------------------------------------------

const sourceLines = new Map();
const key = (file, line) => `${line} ${file}`;

function source() {
  const parts = DATA.source || [];
  sourceLines.clear();
  $("source").replaceChildren();
  for (const part of parts) {
    if (parts.length > 1) $("source").append(el("div", { class: "file" }, part.file));
    part.lines.forEach((line, index) => {
      const number = part.first + index, row = el("div", {}, el("i", {}, number), line);
      sourceLines.set(key(part.file, number), row);
      $("source").append(row);
    });
  }
  for (const place of run.places) {
    const line = sourceLines.get(key(place.file, place.line));
    if (line) line.classList.add("wrong");
  }
}

function markSource() {
  for (const line of $("source").querySelectorAll(".at")) line.classList.remove("at");
  const place = rows[current].place, line = place && sourceLines.get(key(place.file, place.line));
  if (!line) return;
  line.classList.add("at");
  const box = $("source");
  box.scrollTop = line.offsetTop - box.offsetTop - box.clientHeight / 2;
}

// ---- details: notes, why the step is where it is, values ----------------------------------------------------

function stepLink(number, text) {
  const link = el("button", { type: "button", class: "link" }, text || `step ${number}`);
  link.onclick = () => go(number - 1);
  return link;
}

function details() {
  const row = rows[current], parts = [];
  if (run.notes.length) parts.push(el("div", { class: "notes" }, ...run.notes.map(note => el("div", {}, note))));
  const head = row.waits ? "at the end" : `step ${current + 1}`;
  parts.push(el("p", {}, `${head}: `, el("b", {}, `${row.name}: ${row.text}`)));
  if (row.stopped) parts.push(el("p", { class: "bad" }, `✗ ${row.stopped}`));
  for (const edge of row.after) {
    parts.push(el("p", {}, "after ", stepLink(edge.step), ` (${rows[edge.step - 1].name}): ${edge.why}: `, el("b", {}, edge.object)));
  }
  if (run.race && run.race.includes(current + 1)) {
    const other = run.race[0] === current + 1 ? run.race[1] : run.race[0];
    parts.push(el("p", { class: "bad" }, "a data race with ", stepLink(other), ": nothing orders these two accesses"));
  }
  if (row.waits && row.object) {
    const holder = row.holder ? [", which ", `${rows[row.holder - 1].name} took in `, stepLink(row.holder)] : [];
    parts.push(el("p", {}, "waits for ", el("b", {}, row.object), ...holder));
  }
  const others = alternatives(row);
  if (others.length) parts.push(el("p", {}, "could have run instead: ", el("b", {}, others.join("; "))));
  parts.push(values());
  $("details").replaceChildren(...parts);
}

/// The value of every shared object after the current step, and who wrote it.
function values() {
  const known = new Map((run.initial || []).map(({ object, value }) => [object, { value, by: 0 }]));
  const changed = new Set();
  for (let index = 0; index <= Math.min(current, run.trace.length - 1); index++) {
    for (const access of run.trace[index].accesses) {
      if (access.wrote === undefined) continue;
      known.set(access.object, { value: access.wrote, by: index + 1 });
      if (index === current) changed.add(access.object);
    }
  }
  if (!known.size) return el("p", {}, "no values are known");
  const table = el("table", { class: "values" }, el("tr", {}, el("th", {}, "shared"), el("th", {}, "value"), el("th", {}, "written by")));
  for (const [object, { value, by }] of [...known].sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }))) {
    const writer = by ? stepLink(by, `${rows[by - 1].name}, step ${by}`) : "initially";
    table.append(el("tr", changed.has(object) ? { class: "changed" } : {}, el("td", {}, object), el("td", {}, value), el("td", {}, writer)));
  }
  return table;
}

// ---- the exploration: an outline of which only the rows in view are in the document -------------------------

const NODE = 22;
const tree = DATA.tree && outline(DATA.tree);

function outline({ parent, label, ending, first_violation: violation }) {
  const size = label.length, children = label.map(() => []), isOpen = new Uint8Array(size);
  const leaves = new Uint32Array(size), depth = new Uint16Array(size), box = $("tree"), pool = new Map();
  let visible = [], at = 0;
  for (let node = 1; node < size; node++) { children[parent[node]].push(node); depth[node] = depth[parent[node]] + 1; }
  for (let node = size - 1; node >= 0; node--) {
    if (!children[node].length) leaves[node] = 1;
    if (node) leaves[parent[node]] += leaves[node];
  }
  isOpen[0] = 1;
  if (violation !== null) for (let node = violation; node > 0; node = parent[node]) isOpen[parent[node]] = 1;
  const height = el("div", {});
  box.append(height);

  function list() {
    visible = [];
    const stack = [0];
    while (stack.length) {
      const node = stack.pop();
      visible.push(node);
      if (isOpen[node]) for (let child = children[node].length - 1; child >= 0; child--) stack.push(children[node][child]);
    }
    height.style.height = `${visible.length * NODE}px`;
    for (const row of pool.values()) row.remove();
    pool.clear();
    drawTree();
  }

  function drawTree() {
    const first = Math.max(0, Math.floor(box.scrollTop / NODE) - 5);
    const end = Math.min(visible.length, first + Math.ceil(box.clientHeight / NODE) + 10);
    for (const [index, row] of pool) if (index < first || index >= end) { row.remove(); pool.delete(index); }
    for (let index = first; index < end; index++) {
      if (!pool.has(index)) { const row = drawNode(index); pool.set(index, row); box.append(row); }
      pool.get(index).classList.toggle("current", index === at);
      pool.get(index).setAttribute("aria-selected", index === at);
    }
    box.setAttribute("aria-activedescendant", `node-${visible[at]}`);
  }

  function drawNode(index) {
    const node = visible[index], isLeaf = !children[node].length;
    const row = el("div", { class: "node", id: `node-${node}`, role: "treeitem", "aria-level": depth[node] + 1, style: `top: ${index * NODE}px; padding-left: ${8 + Math.min(depth[node], 60) * 16}px` });
    if (!isLeaf) row.setAttribute("aria-expanded", Boolean(isOpen[node]));
    row.append(isLeaf ? "· " : isOpen[node] ? "▾ " : "▸ ", clean(label[node] || "start"));
    if (isLeaf) {
      const how = ending[node];
      const kind = how === "complete" ? "good" : how === "violated" || how === "deadlocked" ? "bad" : "quiet";
      row.append(" ", el("span", { class: kind }, how === "complete" ? "✓" : how));
    } else {
      row.append(el("span", { class: "bar", style: `width: ${Math.max(2, 120 * leaves[node] / leaves[0])}px` }), el("span", { class: "count" }, leaves[node].toLocaleString("en")));
    }
    row.onclick = () => { at = index; if (!isLeaf) { isOpen[node] ^= 1; list(); } else { drawTree(); if (node === violation && runs.length) tab("run"); } };
    return row;
  }

  function press(pressed) {
    const node = visible[at], isLeaf = !children[node].length;
    if (pressed === "ArrowDown" || pressed === "j") at = Math.min(visible.length - 1, at + 1);
    else if (pressed === "ArrowUp" || pressed === "k") at = Math.max(0, at - 1);
    else if (pressed === "Home") at = 0;
    else if (pressed === "End") at = visible.length - 1;
    else if (pressed === "ArrowRight") { if (!isLeaf && !isOpen[node]) { isOpen[node] = 1; list(); } else if (!isLeaf) at++; }
    else if (pressed === "ArrowLeft") { if (!isLeaf && isOpen[node]) { isOpen[node] = 0; list(); } else if (node) at = visible.indexOf(parent[node]); }
    else if (pressed === "Enter") { pool.get(at).onclick(); return true; }
    else return false;
    const top = at * NODE;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + NODE > box.scrollTop + box.clientHeight) box.scrollTop = top + NODE - box.clientHeight;
    drawTree();
    return true;
  }

  box.onscroll = drawTree;
  if (violation !== null) { list(); at = visible.indexOf(violation); }
  return { list, draw: drawTree, press, openAll() { isOpen.fill(1); list(); return visible.length; }, inDocument: () => pool.size };
}

function treeNote() {
  const { label, executions: kept, truncated } = DATA.tree;
  const all = `${plural(kept, "execution")}, ${plural(label.length, "node")}: a row is a run of steps up to the next branching`;
  $("tree-note").textContent = truncated ? `${all}; the search went on, only the first executions are shown` : all;
}

// ---- summary ------------------------------------------------------------------------------------------------

function summary() {
  const rows = [["verdict", DATA.verdict], ["file", DATA.file]], add = (name, value) => { if (value) rows.push([name, value]); };
  add("constants", constants().join(", "));
  const words = { assertions: "assertions", deadlocks: "deadlocks", data_races: "data races" };
  const covered = wanted => Object.entries(words).filter(([name]) => DATA.covers[name] === wanted).map(([, word]) => word).join(", ");
  add(DATA.verdict === "verified" ? "covers" : "checked", covered(true));
  add(DATA.verdict === "verified" ? "not covered" : "not checked", covered(false));
  if (isSymbolic) add("search", `symbolic, ${DATA.symbolic}, solved by ${DATA.solver}; loops repeated at most ${plural(DATA.unroll, "time")}`);
  else add("search", DATA.equivalence ? `${DATA.algorithm}: one execution per class of ${DATA.equivalence}` : DATA.algorithm);
  if (DATA.executions) {
    add("executions", Object.entries(DATA.executions).filter(([kind, count]) => count || kind !== "cut").map(([kind, count]) => `${count.toLocaleString("en")} ${kind}`).join(", "));
    add("steps", `${DATA.steps.toLocaleString("en")} in all, ${DATA.longest.toLocaleString("en")} in the longest execution`);
  }
  add("threads", DATA.threads);
  add("time", DATA.seconds < 0.1 ? `${(DATA.seconds * 1000).toFixed(1)} ms` : `${DATA.seconds.toFixed(1)} s`);
  for (const reason of DATA.inconclusive) add("not proved", reason.message);
  for (const violation of DATA.violations) add("violation", violation.message);
  for (const [name, value] of Object.entries(DATA.facts || {})) add(name, value);
  add("version", `selvedge ${DATA.version}`);
  const table = el("table", {});
  for (const [name, value] of rows) table.append(el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)));
  $("summary").append(table);
}

// ---- tabs, theme, keys --------------------------------------------------------------------------------------

const TABS = [["run", "run", runs.length > 0], ["tree", "exploration", Boolean(tree)], ["summary", "summary", DATA.command === "check"]];

function tab(name) {
  for (const [id, panel] of TABS) {
    $(`tab-${id}`).setAttribute("aria-selected", id === name);
    $(panel).hidden = id !== name;
  }
  if (name === "tree") { tree.list(); $("tree").focus({ preventScroll: true }); tree.press(""); }
  if (name === "run") { draw(); $("lanes").focus({ preventScroll: true }); }
}

function choose(index) {
  show(index);
  $("violation").value = index;
  go(rows.length - 1);
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
  $("keys").hidden = !runs.length;
  if (runs.length) {
    $("run").hidden = false;
    const [, number, step] = location.hash.match(/^#(?:(\d+)\.)?(\d+)$/) || [];
    const index = Math.min(Math.max(Number(number || 1), 1), runs.length) - 1;
    show(index);
    $("violation").value = index;
    go(step ? Number(step) - 1 : rows.length - 1);
  } else {
    header();
  }
  tab(name);
  $("lanes").onscroll = () => draw();
  addEventListener("resize", () => { if (run && !$("run").hidden) { layOut(); draw(); } });
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw());
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    if (event.key === "Enter" && event.target.tagName === "BUTTON") return;
    if (press(event.key)) event.preventDefault();
  });
}

start();
