// The exploration: an outline of which only the rows in view are in the document.

const NODE = 22, ABOVE = 6;
const tree = DATA.tree && outline(DATA.tree);

function outline({ parent, label, ending, threads, steps, first_violation: violation }) {
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
    height.style.height = `${visible.length * NODE + 2 * ABOVE}px`;
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
    const row = el("div", { class: "node", id: `node-${node}`, role: "treeitem", "aria-level": depth[node] + 1, style: `top: ${ABOVE + index * NODE}px; padding-left: ${8 + Math.min(depth[node], 60) * 16}px` });
    if (!isLeaf) row.setAttribute("aria-expanded", Boolean(isOpen[node]));
    const text = clean(label[node] || "start");
    row.append(el("span", { class: "label", title: text }, (isLeaf ? "· " : isOpen[node] ? "▾ " : "▸ ") + text));
    if (isLeaf) {
      const how = ending[node];
      const kind = how === "complete" ? "good" : how === "violated" || how === "deadlocked" ? "bad" : "quiet";
      row.append(el("span", { class: kind }, how === "complete" ? "✓" : how));
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
    const top = ABOVE + at * NODE;
    if (top - ABOVE < box.scrollTop) box.scrollTop = top - ABOVE;
    else if (top + NODE > box.scrollTop + box.clientHeight) box.scrollTop = top + NODE - box.clientHeight;
    drawTree();
    return true;
  }

  /// The steps of a node: `0@2.1:3` is thread 0 twice, then thread 1 with alternative 3.
  function stepsOf(node) {
    return steps[node].split(".").filter(Boolean).flatMap(group => {
      const [, thread, choice, times] = group.match(/^(\d+)(?::(\d+))?(?:@(\d+))?$/);
      return Array(Number(times || 1)).fill({ name: threads[thread], choice: Number(choice || 0) });
    });
  }

  /// How the executions ended that go on after the first `length` steps of the current run, by the thread that does. Empty if
  /// the run was shortened, so that the search did not take it in this order.
  function branches(length) {
    const isAt = (step, index) => step && step.name === run.trace[index].name && step.choice === run.trace[index].choice;
    let node = 0, own = stepsOf(0), offset = 0;
    for (let index = 0; index < length; index++, offset++) {
      if (offset === own.length) {
        const next = children[node].find(child => isAt(stepsOf(child)[0], index));
        if (next === undefined) return new Map();
        node = next; own = stepsOf(node); offset = 0;
      }
      if (!isAt(own[offset], index)) return new Map();
    }
    const ways = new Map();
    for (const way of offset < own.length ? [node] : children[node]) {
      const step = way === node ? own[offset] : stepsOf(way)[0];
      if (!step) continue;
      const counts = ways.get(step.name) || {};
      for (const stack = [way]; stack.length;) {
        const below = stack.pop();
        stack.push(...children[below]);
        if (ending[below]) counts[ending[below]] = (counts[ending[below]] || 0) + 1;
      }
      ways.set(step.name, counts);
    }
    return ways;
  }

  box.onscroll = drawTree;
  if (violation !== null) { list(); at = visible.indexOf(violation); }
  return { list, draw: drawTree, press, branches, openAll() { isOpen.fill(1); list(); return visible.length; }, inDocument: () => pool.size };
}

function treeNote() {
  const { label, executions: kept, truncated } = DATA.tree;
  const all = `${plural(kept, "execution")}, ${plural(label.length, "node")}: a row is a run of steps up to the next branching`;
  const more = truncated ? "; the search continued; only the first executions are shown" : "";
  // Names of threads have no colon before a number.
  const choices = label.some(text => /:\d/.test(text)) ? "; “:1” after a name is an alternative: a choice, or a value that is not the newest" : "";
  $("tree-note").textContent = all + more + choices;
}
