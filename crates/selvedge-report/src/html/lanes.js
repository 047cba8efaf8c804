// The execution: a lane per thread, a row per step.

const ROW = 26, TOP = 8, CHARACTER = 7.55, NAME = 9, FEWEST = 150;
/// How far beside the dots of a lane edges run, where there is no text; the tracks for edges there, and how far they are apart.
const BESIDE = 15, TRACKS = 3, APART = 4;
/// How wide lanes may be where they do not fit however narrow they are.
const SCROLLED = 240;
/// Above so many lanes all edges together are a tangle: only those of the current step are shown.
const MOST_LANES = 6;
/// How wide the numbers of steps are, with the room before them; then the marks of alternatives, then the lanes.
let numbers = 34;
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
    short: waiting.object ? `waits for ${waiting.object}` : undefined,
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

/// Whether a step comes after another because one thread starts, wakes or ends, and not because of an object.
const isAboutThreads = (edge, step) => edge.object === step.name || edge.object === rows[edge.step - 1].name;

/// All edges by the rows at their ends.
function links() {
  edges = []; edgesOf = rows.map(() => []);
  const add = edge => { edges.push(edge); edgesOf[edge.from].push(edge); edgesOf[edge.to].push(edge); };
  run.trace.forEach((step, to) => {
    const whys = new Map();
    for (const edge of step.after) {
      const why = isAboutThreads(edge, step) ? edge.why : `${edge.why} (${edge.object})`;
      whys.set(edge.step, [...(whys.get(edge.step) || []), why]);
    }
    for (const [from, why] of whys) add({ kind: "order", from: from - 1, to, title: `step ${to + 1}, after step ${from}: ${why.join(", ")}` });
  });
  rows.forEach((row, to) => {
    if (row.waits && row.holder) {
      const holder = rows[row.holder - 1];
      add({ kind: "waits", from: row.holder - 1, to, title: `${row.name} waits for ${row.object}, which ${holder.name} took in step ${row.holder}` });
    }
  });
  run.trace.forEach((step, to) => {
    for (const newer of step.missed || []) add({ kind: "missed", from: newer - 1, to, title: `step ${to + 1} does not see what step ${newer} wrote` });
  });
  if (run.race) add({ kind: "race", from: run.race[0] - 1, to: run.race[1] - 1, title: "a data race: nothing orders these two accesses" });
  tracks();
}

/// Edges that run beside the same lane at the same height have tracks of their own, as long as there are some, and those that end
/// at the same dot meet it at different heights.
function tracks() {
  const ends = lanes.map(() => Array(TRACKS).fill(-1)), met = rows.map(() => 0);
  for (const edge of edges.slice().sort((a, b) => a.from - b.from || a.to - b.to)) {
    const end = headOf(edge), taken = ends[rows[end].lane];
    const free = taken.findIndex(last => last < edge.from);
    edge.track = free < 0 ? taken.indexOf(Math.min(...taken)) : free;
    taken[edge.track] = Math.max(taken[edge.track], edge.to);
    // From the side that it comes from.
    edge.meets = !met[end]++ ? 0 : edge.kind === "waits" ? 5 : -5;
  }
}

/// Where an edge ends: one from a thread that waits leads back.
const headOf = edge => edge.kind === "waits" ? edge.from : edge.to;

/// Lanes are as wide as their texts; if they do not fit, they share the room.
function layOut() {
  numbers = Math.max(38, 18 + 7 * (String(run.trace.length).length + (run.cycle ? 2 : 0)));
  const left = numbers + 46;
  const longest = lanes.map(lane => lane.name.length);
  const least = lanes.map(() => 0);
  for (const row of rows) {
    const text = label(row), { from, to } = telling(row, text);
    longest[row.lane] = Math.max(longest[row.lane], text.length);
    least[row.lane] = Math.max(least[row.lane], Math.min(SCROLLED, widthOf(to - from + 4)));
  }
  const natural = longest.map(length => Math.max(110, widthOf(length)));
  const room = Math.max(0, $("lanes").clientWidth - left - 14 * lanes.length);
  let most = Infinity;
  if (natural.reduce((sum, width) => sum + width, 0) > room) {
    let left = room;
    natural.slice().sort((a, b) => a - b).every((width, index) => {
      const share = left / (lanes.length - index);
      if (width > share) { most = share < FEWEST ? SCROLLED : share; return false; }
      left -= width;
      return true;
    });
  }
  laneWidth = natural.map((width, lane) => Math.max(least[lane], Math.min(width, most)));
  laneX = [];
  let x = left;
  for (const width of laneWidth) { laneX.push(x + 8); x += width + 14; }

  const names = el("div", { class: "names", style: `min-width: ${x}px` }, el("div", { class: "corner", style: `width: ${left - 18}px` }));
  lanes.forEach((lane, index) => names.append(el("span", {
    title: lane.name, style: `left: ${laneX[index] - 4}px; max-width: ${laneWidth[index]}px; color: ${colour(lane.thread)}`,
  }, nameOf(lane.name, laneWidth[index]))));
  const height = TOP + rows.length * ROW + 12;
  const picture = svg("svg", { width: "100%", height, style: `min-width: ${x}px`, role: "presentation" });
  picture.append(arrowheads());
  layers = ["hits", "lanes", "edges", "texts", "gutter"].map(name => svg("g", { class: name }));
  lanes.forEach((lane, index) => layers[1].append(svg("line", { class: "lane", x1: laneX[index], x2: laneX[index], y1: 0, y2: height - 8 })));
  for (let first = 0; first < run.trace.length;) {
    let last = first;
    while (last + 1 < run.trace.length && rows[last + 1].thread === rows[first].thread) last++;
    const at = laneX[rows[first].lane];
    if (first < last) layers[1].append(svg("line", { class: "stretch", stroke: colour(rows[first].thread), x1: at, x2: at, y1: y(first), y2: y(last) }));
    first = last + 1;
  }
  layers[4].append(svg("rect", { class: "ground", x: 0, y: 0, width: left - 18, height }));
  if (run.cycle) layers[4].append(cycle(run.cycle - 1, run.trace.length - 1));
  picture.append(...layers);
  drawn.clear(); lines.clear();
  $("lanes").replaceChildren(names, picture);
  if (isWrongAtEnd()) {
    const judged = el("button", { type: "button", class: "judged", title: "show where", style: `padding-left: ${left}px` }, `✗ ${run.message}`);
    judged.onclick = () => toSource(run.places[0]);
    $("lanes").append(judged);
  }
}

/// From the last step of a run that never ends back to the first that repeats.
function cycle(first, last) {
  const path = svg("path", { class: "edge cycle", d: `M9 ${y(last)} H4 V${y(first)} H11`, "marker-end": "url(#head-on)" });
  path.append(svg("title", {}, `steps ${first + 1} to ${last + 1} repeat forever`));
  return path;
}

function arrowheads() {
  const defs = svg("defs", {});
  // As large whatever the width of the line.
  for (const [name, fill] of [["order", "dim"], ["on", "edge"], ["waits", "bad"]]) {
    const marker = svg("marker", { id: `head-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 9, markerHeight: 9, orient: "auto" });
    marker.append(svg("path", { d: "M0 0L8 4L0 8z", fill: `var(--${fill})` }));
    defs.append(marker);
  }
  return defs;
}

/// Whether no step is wrong, but what they come to: the end of the execution, or that it has none.
const isWrongAtEnd = () => Boolean(run.kind) && run.kind !== "deadlock" && !run.race && !run.trace.some(step => step.stopped);

/// What a read misses is drawn, and said in the details.
const label = row => (row.stopped ? "✗ " : "") + (row.short || row.text);

/// The name of a thread as it fits above its lane: at the end is what tells it from others.
function nameOf(name, width) {
  const room = Math.floor(width / NAME), end = Math.floor(room / 2);
  return name.length <= room ? name : `${name.slice(0, room - end - 1)}…${name.slice(name.length - end)}`;
}

/// How wide a lane is for a text of so many characters.
const widthOf = length => 28 + CHARACTER * length;

/// The part of a label that stays readable: the result or the new value at its end, or else the value that is written, or what is
/// waited for.
function telling(row, text) {
  if (row.short) return { from: text.length - row.object.length, to: text.length };
  const result = Math.max(...[" → ", " ← ", " = "].map(mark => text.lastIndexOf(mark)));
  if (result >= 0) return { from: result, to: text.length };
  for (const { wrote } of row.accesses) {
    const from = wrote === undefined ? -1 : text.lastIndexOf(`, ${wrote}`);
    if (from >= 0) return { from, to: from + 2 + wrote.length };
  }
  // The end of a name tells it from others.
  return { from: Math.max(0, text.length - 6), to: text.length };
}

/// A label as it fits into a lane: what comes before and after the part that tells is left out first.
function fit(row, width) {
  const text = label(row), room = Math.max(4, Math.floor((width - 26) / CHARACTER));
  if (text.length <= room) return text;
  const { from, to } = telling(row, text), before = text.slice(0, from), kept = text.slice(from, to), after = text.slice(to);
  if (kept.length + 2 > room) return `…${kept.slice(0, room - 2)}…`;
  const end = after.length > 1 ? "…" : after, left = room - kept.length - end.length;
  if (before.length > left) return `${before.slice(0, left - 1).trimEnd()}…${kept}${end}`;
  return `${before}${kept}${after.slice(0, left - before.length).trimEnd()}${end}`;
}

function drawRow(index) {
  const row = rows[index], x = laneX[row.lane];
  const isWrong = (row.waits && run.kind === "deadlock") || row.stopped || (run.race && run.race.includes(index + 1));
  const hit = svg("rect", { class: "hit", x: 0, y: y(index) - ROW / 2, width: "100%", height: ROW });
  const group = svg("g", { class: `row${isWrong ? " wrong" : ""}`, id: `row-${index}`, role: "option" });
  group.append(
    svg("title", {}, `${row.name}: ${row.text}${row.stopped ? "\n✗ " + row.stopped : ""}${row.place ? `\n${row.place.file}:${row.place.line}` : ""}`),
    svg("circle", { class: "dot", cx: x, cy: y(index), r: row.waits ? 4 : 5, fill: isWrong ? "var(--bad)" : colour(row.thread) }),
    svg("text", { class: "text", x: x + 12, y: y(index) + 4 }, fit(row, laneWidth[row.lane])));
  const beside = svg("g", { class: "beside" });
  beside.append(svg("rect", { class: "mark", x: 0, y: y(index) - ROW / 2, width: numbers + 28, height: ROW }),
    svg("text", { class: "number", x: run.cycle ? 14 : 10, y: y(index) + 4 }, row.waits ? "end" : `${run.cycle && index + 1 >= run.cycle ? "↻ " : ""}${index + 1}`));
  const others = row.others.length + (row.choices > 1 ? row.choices - 1 : 0);
  if (others) {
    const mark = svg("text", { class: "others", x: numbers + 6, y: y(index) + 3 }, `+${others}`);
    mark.append(svg("title", {}, ["could have run instead:", ...alternatives(row).map(({ name, text }) => `${name}: ${text}`)].join("\n")));
    beside.append(mark);
  }
  const parts = [hit, group, beside];
  for (const part of parts) {
    part.onclick = () => go(index);
    part.onmouseenter = () => hit.classList.add("over");
    part.onmouseleave = () => hit.classList.remove("over");
  }
  layers[0].append(hit);
  layers[3].append(group);
  layers[4].append(beside);
  return { group, parts };
}

function alternatives(row) {
  const own = row.choices > 1 ? [{ name: row.name, text: `another of its ${row.choices} alternatives` }] : [];
  return row.others.concat(own);
}

/// An edge crosses no text: from a dot between two rows to the side of the other lane, and along it to the other dot.
function around(edge) {
  const end = headOf(edge), start = edge.from + edge.to - end;
  const down = Math.sign(end - start), corner = 5;
  const x1 = laneX[rows[start].lane], x2 = laneX[rows[end].lane], side = x2 - BESIDE - APART * edge.track, aside = Math.sign(side - x1) * corner;
  const y1 = y(start) + down * 6, between = y1 + down * corner, y2 = y(end) + edge.meets, turn = down * corner;
  return `M${x1} ${y1} Q${x1} ${between},${x1 + aside} ${between} H${side - aside}` +
    ` Q${side} ${between},${side} ${between + turn} V${y2 - turn} Q${side} ${y2},${side + corner} ${y2} H${x2 - 7}`;
}

function drawEdge(edge) {
  const d = around(edge);
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
  // Numbers of steps stay in view when the lanes are scrolled sideways.
  const aside = all ? 0 : box.scrollLeft;
  layers[4].setAttribute("transform", `translate(${aside} 0)`);
  layers[4].classList.toggle("over", aside > 0);
  const first = all ? 0 : Math.max(0, Math.floor((box.scrollTop - TOP) / ROW) - 10);
  const end = all ? rows.length : Math.min(rows.length, first + Math.ceil(box.clientHeight / ROW) + 20);
  const wanted = new Set(), reference = only && current < run.trace.length ? current : -1;
  const isFaded = index => reference >= 0 && !(index < run.trace.length && isPast(index, reference));
  for (const [index, row] of drawn) {
    if (index < first || index >= end) { for (const part of row.parts) part.remove(); drawn.delete(index); }
  }
  for (let index = first; index < end; index++) {
    if (!drawn.has(index)) drawn.set(index, drawRow(index));
    const { group, parts } = drawn.get(index), isCurrent = index === current;
    for (const part of parts) part.classList.toggle("current", isCurrent);
    group.classList.toggle("faded", isFaded(index));
    group.setAttribute("aria-selected", isCurrent);
    for (const edge of edgesOf[index]) if (lanes.length <= MOST_LANES || edge.kind !== "order") wanted.add(edge);
  }
  for (const edge of edgesOf[current] || []) wanted.add(edge);
  for (const [edge, line] of lines) if (!wanted.has(edge)) { line.group.remove(); lines.delete(edge); }
  for (const edge of wanted) {
    if (!lines.has(edge)) lines.set(edge, drawEdge(edge));
    const { path, group } = lines.get(edge), isOn = edge.from === current || edge.to === current;
    const hasHead = edge.kind === "order" || edge.kind === "waits";
    path.classList.toggle("on", isOn && hasHead);
    path.classList.toggle("faded", edge.kind === "order" && isFaded(edge.to));
    if (hasHead) path.setAttribute("marker-end", `url(#head-${edge.kind === "order" && isOn ? "on" : edge.kind})`);
    if (isOn) layers[2].append(group);
  }
}

function go(index) {
  if (!run || !rows.length) return;
  current = Math.max(0, Math.min(rows.length - 1, index));
  const box = $("lanes"), top = y(current);
  if (top - 2 * ROW < box.scrollTop) box.scrollTop = top - 2 * ROW - 30;
  else if (top + 2 * ROW + 30 > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * ROW + 30 - box.clientHeight;
  const lane = rows[current].lane, start = laneX[lane] - numbers - 40, end = laneX[lane] + laneWidth[lane] + 14;
  if (start < box.scrollLeft) box.scrollLeft = start;
  else if (end > box.scrollLeft + box.clientWidth) box.scrollLeft = end - box.clientWidth;
  draw();
  box.setAttribute("aria-activedescendant", `row-${current}`);
  markSource();
  details();
  const number = runs.indexOf(run);
  history.replaceState(null, "", `#${number ? `${number + 1}.` : ""}${current + 1}`);
}
