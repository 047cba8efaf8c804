// A small engine for TextMate grammars: `node test-grammar.js FILE…` prints, for each file, the parts with a scope as
// [start, end, scope], in bytes. The tests of selvedge-cli compare them with what the language itself says. It knows what the
// grammar of this folder uses, and refuses everything else, so that nothing is taken for tested that is not.
"use strict";

const { readFileSync } = require("node:fs");
const { join } = require("node:path");

const grammar = JSON.parse(readFileSync(join(__dirname, "syntaxes/sel.tmLanguage.json"), "utf8"));
const KEYS = {
  grammar: ["name", "scopeName", "fileTypes", "patterns", "repository"],
  rule: ["name", "match", "begin", "end", "patterns", "include"],
};

function onlyKnown(it, kind) {
  const unknown = Object.keys(it).filter((key) => !KEYS[kind].includes(key));
  if (unknown.length) throw new Error(`a ${kind} with ${unknown}: ${JSON.stringify(it)}`);
}

/// A pattern that means the same to Oniguruma, which editors use, and to JavaScript.
function expression(source) {
  const CLASS = /\[[^\]]*\]/g, plain = source.replaceAll("\\\\", "");
  const isStrange = /\\[^b."*|/(]|\(\?(?!=)|\{|[*+?]{2}/.test(plain.replace(CLASS, ""))
    || (plain.match(CLASS) ?? []).some((it) => /\\|&&|.\[/.test(it));
  if (isStrange) throw new Error(`this engine does not know all of ${source}`);
  return new RegExp(source, "g");
}

const compiled = new Map();

/// The rules of a list, with those that it includes.
function rules(patterns) {
  return patterns.flatMap((rule) => {
    onlyKnown(rule, "rule");
    if (rule.include) {
      const found = grammar.repository[rule.include.slice(1)];
      if (!rule.include.startsWith("#") || !found) throw new Error(`nothing is called ${rule.include}`);
      return found.match || found.begin ? [found] : rules(found.patterns);
    }
    return [rule];
  });
}

function find(source, line, from) {
  if (!compiled.has(source)) compiled.set(source, expression(source));
  const pattern = compiled.get(source);
  pattern.lastIndex = from;
  return pattern.exec(line);
}

function parts(text) {
  const found = [], open = [{ patterns: grammar.patterns }];
  let start = 0;
  for (const line of text.split("\n")) {
    let at = 0;
    for (let turns = 0; ; turns++) {
      if (turns > 10 * line.length + 10) throw new Error(`no end of ${JSON.stringify(line)}`);
      const top = open.at(-1);
      const tries = [...(top.end ? [{ end: top.end }] : []), ...rules(top.patterns ?? [])];
      // The first in the line; of several there, the first in the list.
      let best;
      for (const rule of tries) {
        const match = find(rule.end && !rule.begin ? rule.end : rule.match ?? rule.begin, line, at);
        if (match && (!best || match.index < best.match.index)) best = { rule, match };
      }
      if (top.name) found.push([start + at, start + (best ? best.match.index : line.length), top.name]);
      if (!best) break;
      const { rule, match } = best, end = match.index + match[0].length;
      const name = rule.end && !rule.begin ? top.name : rule.name;
      found.push([start + match.index, start + end, name]);
      if (rule.begin) open.push(rule);
      else if (rule.end) open.pop();
      at = end;
    }
    start += line.length + 1;
  }
  return found.filter(([from, to]) => from < to);
}

onlyKnown(grammar, "grammar");
// Each byte is a character: places are bytes.
for (const file of process.argv.slice(2)) console.log(JSON.stringify(parts(readFileSync(file, "latin1"))));
