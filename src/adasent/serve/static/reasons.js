// An explanation in; what speaks for its answer and against it out, in lists that add up to it.

import { classColour, largest, leaning, paint } from "./colours.js";
import { html, percent, tenths } from "./dom.js";
import { readFor } from "./labels.js";

const SHOWN = 5; // phrases of a list
const ANSWERS = 3; // of several labels, those that the sentence names too

// All figures in tenths of a point, rounded before they are summed, so that what is read adds up.
const round = (share) => Math.round(1000 * share);

// The sentence as the library wrote it, the class in its colour.
export function drawVerdict(explanation) {
  const { verdict, classes, tokens, n_words: nWords } = explanation;
  const said = [];
  let rest = verdict;
  for (const best of readFor(explanation).slice(0, ANSWERS)) {
    const name = String(classes[best]);
    const at = rest.indexOf(name);
    if (at < 0) continue;
    said.push(rest.slice(0, at), drawClass(classes[best], classes));
    rest = rest.slice(at + name.length);
  }
  return [...said, rest, ...cut(tokens.length, nWords)];
}

// The same where there is no explanation.
export function drawAnswer({ label, probabilities, n_words: nWords }, classes, nRead) {
  const given = [label].flat();
  const said = given.flatMap((one, i) => [
    i ? ", " : "", drawClass(one, classes), ` (${percent(probabilities[classes.indexOf(one)])})`,
  ]);
  return [...(given.length ? said : ["no label"]), ...cut(nRead, nWords)];
}

function drawClass(label, classes) {
  return html("strong", { "--colour": classColour(classes.indexOf(label)) }, String(label));
}

function cut(nRead, nWords) {
  if (nWords <= nRead) return [];
  const [read, all] = [nRead, nWords].map((n) => n.toLocaleString("en"));
  return [html("span", { class: "note" }, ` Only the first ${read} of ${all} words were read.`)];
}

export function drawReasons(explanation) {
  return readFor(explanation).slice(0, ANSWERS).flatMap((best) => drawFor(explanation, best));
}

function drawFor(explanation, best) {
  const { classes, phrases, base, probabilities } = explanation;
  const predicted = classes[best];
  const most = largest(phrases.map((phrase) => phrase.score));
  const found = phrases
    .map((phrase) => ({ ...phrase, points: round(phrase.score[best]) }))
    .filter((phrase) => phrase.points)
    .sort((a, b) => Math.abs(b.points) - Math.abs(a.points));
  const lists = [found.filter((one) => one.points > 0), found.filter((one) => one.points < 0)]
    .map((list) => list.slice(0, SHOWN));
  const shown = lists.flat();
  const listed = shown.reduce((sum, one) => sum + one.points, 0);
  const rest = round(probabilities[best]) - round(base[best]) - listed;
  const nRest = phrases.length - shown.length;
  const draw = (list, title, none) => html("section", {},
    html("h3", {}, title),
    list.length ? html("ul", {}, ...list.map((phrase) => drawPhrase(phrase, explanation, best, most)))
      : html("p", { class: "note" }, none));
  return [
    line("start", "It starts from no words at all", `${percent(base[best], 1)} ${predicted}`),
    html("div", { class: "sides" },
      draw(lists[0], `For ${predicted}`, "Nothing in the text."),
      draw(lists[1], `Against ${predicted}`, "Nothing in the text.")),
    ...(rest ? [line("rest", nameRest(nRest), tenths(rest))] : []),
    line("sum", "Together", `${percent(probabilities[best], 1)} ${predicted}`),
  ];
}

function nameRest(n) {
  if (n === 0) return "Rounding";
  return n === 1 ? "One more word or phrase" : `${n} more words and phrases`;
}

function line(kind, name, value) {
  return html("p", { class: `line ${kind}` }, html("span", {}, name), html("span", { class: "value" }, value));
}

function drawPhrase(phrase, { classes }, best, most) {
  const notes = [];
  const joint = round(phrase.interaction[best]);
  if (joint) notes.push(`word by word ${tenths(phrase.points - joint)}, by standing together ${tenths(joint)}`);
  const { index } = leaning(phrase.score);
  const [mine, two] = [index === best, classes.length === 2];
  if (!mine && !two) notes.push(`speaks most for ${classes[index]}`);
  return html("li", {},
    html("span", { class: "token", dir: "auto", ...paint(phrase.score, most) }, phrase.text),
    html("span", { class: "value" }, tenths(phrase.points)),
    ...(notes.length ? [html("span", { class: "note" }, notes.join("; "))] : []));
}
