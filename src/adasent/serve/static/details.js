// What is shown beside the pyramid: a phrase and how it came about, and what a length of phrase says.

import { classColour, leaning, paint } from "./colours.js";
import { html, percent, points } from "./dom.js";
import { levelName, phraseOf } from "./pyramid.js";

const LONG = 14; // characters of a name that stands above its bar

export function bar(share, colour, label) {
  return html("li", { class: label.length > LONG ? "long" : null },
    html("span", { class: "name", dir: "auto" }, label),
    html("span", { class: "track" }, html("span", { class: "fill", "--share": share, "--colour": colour })),
    html("span", { class: "value" }, percent(share)));
}

function classBar(share, colour, label, start) {
  const one = bar(share, colour, label);
  one.firstChild.classList.add("swatch");
  one.style.setProperty("--colour", colour);
  if (start !== undefined) {
    one.children[1].append(html("span", { class: "origin", "--share": start }));
    one.append(html("span", { class: "unseen" }, `, from ${percent(start)}`));
  }
  return one;
}

// The most probable classes; a class left out is named by the count. starts: the shares that are
// marked on the bars, if any.
export function classBars(classes, probabilities, most = 6, starts = []) {
  const order = probabilities.map((_, c) => c).sort((a, b) => probabilities[b] - probabilities[a]);
  const shown = classes.length <= most ? probabilities.map((_, c) => c) : order.slice(0, most);
  const bars = shown.map((c) => classBar(probabilities[c], classColour(c), String(classes[c]), starts[c]));
  const rest = order.length - shown.length;
  if (rest > 0) bars.push(html("li", { class: "rest" }, rest === 1 ? "and one class more" : `and ${rest} classes more`));
  return bars;
}

function adds(score, classes, error = null) {
  const { index } = leaning(score);
  if (Math.round(1000 * score[index]) === 0) return "adds nothing that shows";
  const spread = error && error[index] >= 0.0005 ? ` ± ${(100 * error[index]).toFixed(1)}` : "";
  return `adds ${points(score[index])}${spread} points to ${classes[index]}`;
}

export function unitDetails(explanation, t, j) {
  const { classes, tokens, units, spans, gates, errors } = explanation;
  const unit = units[t][j];
  const place = t === 0 ? `word ${j + 1} of ${tokens.length}`
    : `${t + 1} words, phrase ${j + 1} of ${units[t].length}`;
  const parts = [
    html("p", { class: "phrase" }, `“${phraseOf(explanation, t, j)}”`),
    html("p", { class: "note" }, `${place}; ${adds(unit.score, classes, t === 0 ? errors?.[j] : null)}`),
    html("h4", {}, "Says by itself"),
    html("ul", { class: "bars" }, ...classBars(classes, unit.probabilities, 4)),
  ];
  if (t > 0) {
    const weights = spans[t][j];
    const words = tokens.slice(j, j + t + 1);
    const order = words.map((_, k) => k);
    const heavy = order.length <= 8 ? order
      : order.sort((a, b) => weights[b] - weights[a]).slice(0, 8).sort((a, b) => a - b);
    parts.push(
      ...makeup(gates[t - 1][j], phraseOf(explanation, t - 1, j), phraseOf(explanation, t - 1, j + 1)),
      html("h4", {}, "Which words it rests on"),
      html("ul", { class: "bars rests" }, ...heavy.map((k) => bar(weights[k], "var(--ink)", words[k]))));
    if (heavy.length < words.length) {
      parts.push(html("p", { class: "note" }, `the 8 that weigh most of ${words.length} words`));
    }
  }
  return parts;
}

// What became of the two phrases below.
function makeup([left, right, combined], leftPhrase, rightPhrase) {
  return [
    html("h4", {}, "What it is made of"),
    html("ul", { class: "bars makeup" },
      bar(left, "var(--soft)", `kept left: “${leftPhrase}”`),
      bar(right, "var(--soft)", `kept right: “${rightPhrase}”`),
      bar(combined, "var(--focus)", "combined of both")),
  ];
}

export function levelDetails(explanation, t) {
  const { beliefs, classes, level_scores: scores } = explanation;
  const name = levelName(explanation, t);
  return [
    html("p", { class: "phrase" }, name[0].toUpperCase() + name.slice(1)),
    html("p", { class: "note" }, `${percent(beliefs[t])} of the answer; ${adds(scores[t], classes)}`),
    html("h4", {}, "Say by themselves"),
    html("ul", { class: "bars" }, ...classBars(classes, explanation.level_probabilities[t], 6)),
  ];
}

// The rows of bars beside the pyramid, from the top one down: as long as a length of phrase counts.
export function levelButton(explanation, t, most, onClick) {
  const { beliefs, level_scores: scores } = explanation;
  const said = `${levelName(explanation, t)}: count ${percent(beliefs[t])}`;
  const button = html("button", { type: "button", "aria-pressed": "false", "aria-label": said, title: said },
    html("span", { class: "number" }, String(t + 1)),
    html("span", { class: "belief" }, html("span", {
      "--share": beliefs[t] / Math.max(...beliefs), ...paint(scores[t], most),
    })),
    html("span", { class: "value" }, percent(beliefs[t])));
  button.addEventListener("click", onClick);
  return button;
}
