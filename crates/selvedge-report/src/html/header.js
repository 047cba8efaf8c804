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

const plural = (number, one, end = "s") => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : end}`;
const colour = thread => `var(--t${thread % 6})`;
const isSymbolic = DATA.symbolic !== undefined;

// The header.

// A replay has one execution and perhaps several violations in it; a check has one execution for each.
const runs = DATA.violations.length || DATA.command === "check"
  ? DATA.violations
  : [{ message: "no violation", notes: [], places: [], trace: DATA.steps, waiting: DATA.waiting, initial: DATA.initial,
       schedule: DATA.schedule, context_switches: DATA.context_switches, cycle: DATA.cycle }];
let run = null;

function header() {
  const verdict = DATA.verdict || (DATA.violations.length ? "violated" : "no violation");
  $("verdict").textContent = verdict;
  $("verdict").classList.add(verdict.replace(" ", "-"));
  document.title = clean(`${verdict}: ${DATA.file}`);
  $("message").textContent = clean(run ? run.message : headline());
  const parts = [DATA.file, ...constants(), DATA.algorithm || DATA.symbolic || "replay"];
  const memory = DATA.facts && DATA.facts["memory model"];
  if (memory) parts.push(`memory model ${memory.split(":")[0]}`);
  const total = DATA.executions && executions();
  if (DATA.states) parts.push(plural(DATA.states, "state"));
  else if (total !== undefined) parts.push(plural(total, "execution"));
  if (run) parts.push(plural(run.trace.length, "step"), plural(run.context_switches, "context switch", "es"));
  if (run && run.cycle) parts.push(`steps ${run.cycle} to ${run.trace.length} (↻) repeat forever`);
  $("meta").replaceChildren(clean(parts.join(" · ")));
  if (DATA.verdict === "inconclusive") {
    const next = DATA.inconclusive.map(reason => reason.next).find(Boolean);
    if (next) $("meta").append(el("div", { class: "next" }, el("b", {}, "next: "), ...advice(next)));
  }
  if (run && run.replay) {
    const copy = el("button", { type: "button", title: "copy the command" }, "copy");
    copy.onclick = () => navigator.clipboard && navigator.clipboard.writeText(run.replay);
    $("meta").append(el("div", { class: "command" }, el("code", {}, run.replay), copy));
  }
}

/// What to do next, with the options in it in one piece each.
const advice = text => text.split(/(--[a-z-]+(?: \d\w*)?)/).map((part, index) => index % 2 ? el("span", { class: "option" }, part) : part);

function headline() {
  if (DATA.verdict === "verified" && isSymbolic) return "no violation in any execution";
  if (DATA.verdict === "verified") return `no violation in ${DATA.states ? plural(DATA.states, "state") : plural(executions(), "execution")}`;
  return DATA.inconclusive && DATA.inconclusive.length ? DATA.inconclusive[0].message : "no violation";
}

const executions = () => DATA.executions.complete + DATA.executions.deadlocked + DATA.executions.blocked;
const constants = () => Object.entries(DATA.constants || {}).map(([name, value]) => `${name} = ${value}`);
