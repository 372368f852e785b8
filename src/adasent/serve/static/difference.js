// Two explanations in; tables of what differs out. The differences of the levels add up exactly.

import { classColour } from "./colours.js";
import { html, percent, points } from "./dom.js";
import { named, readFor } from "./labels.js";

const find = (id) => document.getElementById(id);

export function drawDifference(first, second) {
  const panel = find("difference");
  panel.hidden = !(first && second);
  if (panel.hidden) return;
  const changes = first.probabilities.map((p, c) => second.probabilities[c] - p);
  const sizes = changes.map(Math.abs);
  const most = sizes.indexOf(Math.max(...sizes));
  // Of two classes both change alike; the one that was predicted is the one to speak of.
  const shown = first.classes.length === 2 && !first.thresholds ? readFor(first)[0] : most;
  const same = named(first.predicted) === named(second.predicted);
  const strong = (found) => html("strong", { "--colour": classColour(readFor(found)[0]) }, named(found.predicted));
  find("difference-verdict").replaceChildren(
    same ? "The same class: " : "Another class: ",
    strong(first),
    ...(same ? [] : [" → ", strong(second)]),
    `. ${first.classes[shown]}: ${percent(first.probabilities[shown])} → ${percent(second.probabilities[shown])}, `
    + `${points(changes[shown])} points.`);
  classTable(first, second, changes);
  levelTable(first, second, shown);
}

function classTable(first, second, changes) {
  const order = changes.map((_, c) => c);
  const rows = order.length <= 6 ? order
    : order.sort((a, b) => Math.abs(changes[b]) - Math.abs(changes[a])).slice(0, 6);
  fill(find("difference-classes"), "Classes", ["class", "first", "second", "points"], rows.map((c) => [
    String(first.classes[c]), percent(first.probabilities[c]), percent(second.probabilities[c]),
    change(changes[c], 1),
  ]));
}

function levelTable(first, second, c) {
  const n = Math.max(first.beliefs.length, second.beliefs.length);
  const part = (found, t) => found.contributions[t]?.[c] ?? 0;
  const changes = Array.from({ length: n }, (_, t) => part(second, t) - part(first, t));
  const largest = Math.max(...changes.map(Math.abs));
  const rows = changes.map((value, t) => [
    String(t + 1), belief(first, t), belief(second, t), change(value, largest),
  ]);
  const total = changes.reduce((sum, value) => sum + value, 0);
  fill(find("difference-levels"), `Lengths of phrases, for ${first.classes[c]}`,
    ["words in a phrase", "counts, first", "second", "points"], rows, ["sum", "", "", points(total)]);
}

function belief(found, t) {
  return t < found.beliefs.length ? percent(found.beliefs[t]) : "–";
}

function change(value, largest) {
  const share = largest > 0 ? Math.abs(value) / largest : 0;
  return html("span", { class: value < 0 ? "change less" : "change more" },
    html("span", { class: "half" }, html("span", { "--share": share })),
    html("span", { class: "amount" }, points(value)));
}

function fill(table, caption, heads, rows, foot = null) {
  const cells = (row) => row.map((cell, i) => html(i ? "td" : "th", i ? {} : { scope: "row" }, cell));
  table.replaceChildren(
    html("caption", {}, caption),
    html("thead", {}, html("tr", {}, ...heads.map((head) => html("th", { scope: "col" }, head)))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...cells(row)))),
    ...(foot ? [html("tfoot", {}, html("tr", {}, ...cells(foot)))] : []));
}
