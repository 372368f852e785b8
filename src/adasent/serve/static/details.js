// What is shown beside the pyramid: a unit with its gates and span, and the vote of a level.

import { classColour, leaning } from "./colours.js";
import { html, percent, points } from "./dom.js";
import { phraseOf } from "./pyramid.js";

export function bar(share, colour, label, value = percent(share)) {
  return html("li", {},
    html("span", { class: "name", title: label }, label),
    html("span", { class: "track" }, html("span", { class: "fill", "--share": share, "--colour": colour })),
    html("span", { class: "value" }, value));
}

// The most probable classes; a class left out is named by the count.
export function classBars(classes, probabilities, most = 6) {
  const order = probabilities.map((_, c) => c).sort((a, b) => probabilities[b] - probabilities[a]);
  const shown = classes.length <= most ? probabilities.map((_, c) => c) : order.slice(0, most);
  const bars = shown.map((c) => bar(probabilities[c], classColour(c), String(classes[c])));
  const rest = order.length - shown.length;
  if (rest > 0) bars.push(html("li", { class: "rest" }, `and ${rest} more classes`));
  return bars;
}

function gateBars([left, right, composed]) {
  const stack = html("span", { class: "stack", "aria-hidden": "true" },
    html("span", { class: "left", "--share": left }),
    html("span", { class: "right", "--share": right }),
    html("span", { class: "composed", "--share": composed }));
  const text = `left ${percent(left)}, right ${percent(right)}, composed ${percent(composed)}`;
  return [html("h4", {}, "Gates"), stack, html("p", { class: "note" }, text)];
}

export function unitDetails(explanation, t, j) {
  const unit = explanation.units[t][j];
  const { index, value } = leaning(unit.score);
  const spans = explanation.spans[t][j];
  const words = explanation.tokens.slice(j, j + t + 1);
  const parts = [
    html("p", { class: "phrase" }, `“${phraseOf(explanation, t, j)}”`),
    html("p", { class: "note" }, `level ${t + 1}, unit ${j + 1} of ${explanation.units[t].length}; `
      + `added ${points(value)} points to ${explanation.classes[index]}`),
    html("h4", {}, "Says alone"),
    html("ul", { class: "bars" }, ...classBars(explanation.classes, unit.probabilities, 4)),
  ];
  if (t > 0) {
    const order = words.map((_, k) => k);
    const heavy = order.length <= 8 ? order
      : order.sort((a, b) => spans[b] - spans[a]).slice(0, 8).sort((a, b) => a - b);
    parts.push(
      ...gateBars(explanation.gates[t - 1][j]),
      html("h4", {}, "Effective span"),
      html("ul", { class: "bars span" }, ...heavy.map((k) => bar(spans[k], "var(--ink)", words[k]))));
    if (heavy.length < words.length) {
      parts.push(html("p", { class: "note" }, `the 8 heaviest of ${words.length} words`));
    }
  }
  return parts;
}

export function levelDetails(explanation, t) {
  const vote = explanation.level_probabilities[t];
  const best = explanation.classes.indexOf(explanation.predicted);
  const what = t === 0 ? "single words" : t === explanation.tokens.length - 1
    ? "the whole sentence" : `phrases of ${t + 1} words`;
  return [
    html("p", { class: "phrase" }, `Level ${t + 1}: ${what}`),
    html("p", { class: "note" }, `belief ${percent(explanation.beliefs[t])}; gives ${explanation.predicted} `
      + `${points(explanation.contributions[t][best])} of its `
      + `${(100 * explanation.probabilities[best]).toFixed(1)} points`),
    html("h4", {}, "Its vote"),
    html("ul", { class: "bars" }, ...classBars(explanation.classes, vote, 6)),
  ];
}

// The phrases that added most to the predicted class, in points of its probability.
export function phraseDetails(explanation, most = 5) {
  const best = explanation.classes.indexOf(explanation.predicted);
  const strongest = explanation.phrases.filter((phrase) => phrase.score[best] > 0).slice(0, most);
  if (!strongest.length) return [html("p", { class: "note" }, "None alone.")];
  const largest = strongest[0].score[best];
  return [
    html("p", { class: "note" }, `points for ${explanation.predicted}`),
    html("ul", { class: "bars" }, ...strongest.map((phrase) => {
      const score = phrase.score[best];
      return bar(score / largest, classColour(best), phrase.text, points(score));
    })),
  ];
}
