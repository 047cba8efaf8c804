// Beside the lanes: source, notes, why the step is where it is, values.

const sourceLines = new Map();
const key = (file, line) => `${line} ${file}`;

function fill(box) {
  const parts = DATA.source || [];
  sourceLines.clear();
  box.replaceChildren();
  for (const part of parts) {
    if (parts.length > 1) box.append(el("div", { class: "file" }, part.file));
    part.lines.forEach((line, index) => {
      const number = part.first + index, row = el("div", {}, el("i", {}, number), line);
      sourceLines.set(key(part.file, number), row);
      box.append(row);
    });
  }
}

function source() {
  fill($("source"));
  for (const place of run.places) {
    const line = sourceLines.get(key(place.file, place.line));
    if (line) line.classList.add("wrong");
  }
}

const lineAt = place => place && sourceLines.get(key(place.file, place.line));

function markSource() {
  for (const line of $("source").querySelectorAll(".at")) line.classList.remove("at");
  const row = rows[current], line = lineAt(row.place);
  if (line) line.classList.add("at");
  toSource(line || !row.stopped ? row.place : run.places.find(lineAt));
}

/// Shows a place in the middle of the source.
function toSource(place) {
  const box = $("source"), line = lineAt(place);
  if (line) box.scrollTop = line.offsetTop - box.offsetTop - box.clientHeight / 2;
}

function stepLink(number, text) {
  const link = el("button", { type: "button", class: "link" }, text || `step ${number}`);
  // The details are made anew: the focus would be lost with them.
  link.onclick = () => { go(number - 1); $("lanes").focus({ preventScroll: true }); };
  return link;
}

function details() {
  const row = rows[current], parts = [];
  if (run.notes.length) parts.push(el("div", { class: "notes" }, ...run.notes.map(note => el("div", {}, note))));
  if (row.waits && row.object) {
    const holder = row.holder ? [`, which ${rows[row.holder - 1].name} took in `, stepLink(row.holder)] : [];
    parts.push(el("p", {}, "at the end: ", el("b", {}, row.name), " waits for ", el("b", {}, row.object), ...holder));
  } else {
    const head = row.waits ? "at the end" : `step ${current + 1}`;
    parts.push(el("p", {}, `${head}: `, el("b", {}, `${row.name}: ${row.text}`)));
  }
  if (row.stopped) parts.push(el("p", { class: "bad" }, `✗ ${row.stopped}`));
  for (const edge of row.after) {
    const object = isAboutThreads(edge, row) ? [] : [": ", el("b", {}, edge.object)];
    parts.push(el("p", {}, "after ", stepLink(edge.step), ` (${rows[edge.step - 1].name}): ${edge.why}`, ...object));
  }
  for (const newer of row.missed || []) {
    parts.push(el("p", { class: "bad" }, "does not see ", stepLink(newer), `, which is newer: ${rows[newer - 1].name}: ${rows[newer - 1].text}`));
  }
  if (run.race && run.race.includes(current + 1)) {
    const other = run.race[0] === current + 1 ? run.race[1] : run.race[0];
    parts.push(el("p", { class: "bad" }, "a data race with ", stepLink(other), ": nothing orders these two accesses"));
  }
  const others = alternatives(row);
  if (others.length) {
    const ways = tree && !row.waits ? tree.branches(current) : new Map();
    parts.push(el("p", {}, "could have run instead:"), el("ul", {}, ...others.map(({ name, text }) => {
      const counts = Object.entries(ways.get(name) || {}).map(([how, count]) => `${count.toLocaleString("en")} ${how}`);
      return el("li", {}, el("b", {}, `${name}: ${text}`), counts.length ? ` (explored: ${counts.join(", ")})` : "");
    })));
  }
  parts.push(values());
  $("details").replaceChildren(...parts);
}

/// Accesses after which an old value says nothing.
const WRITES = new Set(["write", "update"]);

const valueCell = value => value === undefined
  ? el("td", { class: "unknown", title: "its type has no text" }, "changed")
  : el("td", {}, value);

/// The value of every shared object after the current step, and who wrote it.
function values() {
  const known = new Map((run.initial || []).map(({ object, value }) => [object, { value, by: 0 }]));
  const changed = new Set();
  for (let index = 0; index <= Math.min(current, run.trace.length - 1); index++) {
    for (const access of run.trace[index].accesses) {
      const isLost = access.wrote === undefined && WRITES.has(access.mode);
      if (access.wrote === undefined && !isLost) continue;
      known.set(access.object, { value: access.wrote, by: index + 1 });
      if (index === current) changed.add(access.object);
    }
  }
  if (!known.size) return el("p", {}, "no values are known");
  const table = el("table", { class: "values" }, el("tr", {}, el("th", {}, "shared"), el("th", {}, "value"), el("th", {}, "written by")));
  for (const [object, { value, by }] of [...known].sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }))) {
    const writer = by ? stepLink(by, `${rows[by - 1].name}, step ${by}`) : "initially";
    table.append(el("tr", changed.has(object) ? { class: "changed" } : {}, el("td", {}, object), valueCell(value), el("td", {}, writer)));
  }
  return table;
}
