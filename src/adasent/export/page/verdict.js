// The answer and its reasons in a sentence, by adasent/explain/reading.py.

import { plain } from "./tokens.js";

// explanation: as reader.js makes it; settings: the bounds of reading.py.
export function verdictOf(explanation, settings) {
  const { classes, probabilities, base, thresholds, phrases, n_words: nWords } = explanation;
  const answers = answersOf(explanation);
  const shares = answers.map((c) => `${classes[c]} (${percent(probabilities[c])})`);
  const most = settings.most_answers;
  const more = shares.length > most ? [`${shares.length - most} more`] : [];
  const answer = shares.length ? list([...shares.slice(0, most), ...more]) : noneOf(explanation);
  if (!nWords) return `${answer}: there is no word to go by`;
  const ranked = (c) => [...phrases].sort((a, b) => b.score[c] - a.score[c]);
  const name = (c, sign, count) =>
    named((sign > 0 ? ranked(c) : ranked(c).reverse()).map((one) => [one.text, sign * one.score[c]]), count, settings);
  if (answers.length !== 1) {
    const reasons = answers.slice(0, most).map((c) => [c, name(c, 1, 2)]).filter(([, found]) => found.length)
      .map(([c, found]) => `${classes[c]} mostly because of ${list(found)}`);
    return [answer, ...reasons].join("; ");
  }
  const [best] = answers;
  const [speakFor, against] = [name(best, 1, 3), name(best, -1, 2)];
  const first = thresholds ? best : highest(base);
  const reason = speakFor.length ? `${answer}, mostly because of ${list(speakFor)}`
    : `${answer}, though no phrase speaks clearly for it: without a word the model says ${classes[first]} `
      + `(${percent(base[first])})`;
  if (!against.length) return reason;
  return `${reason}; ${list(against)} ${against.length > 1 ? "speak" : "speaks"} against it`;
}

// The classes that a text gets, the most probable first: one, or any number.
export function answersOf({ probabilities, thresholds }) {
  if (!thresholds) return [highest(probabilities)];
  return probabilities.map((_, c) => c).sort((a, b) => probabilities[b] - probabilities[a])
    .filter((c) => probabilities[c] >= thresholds[c]);
}

function highest(values) {
  return values.indexOf(Math.max(...values));
}

function noneOf({ classes, probabilities, thresholds }) {
  const nearest = highest(probabilities.map((one, c) => one - thresholds[c]));
  return `none of the labels: ${classes[nearest]} (${percent(probabilities[nearest])}) is nearest, it takes `
    + `${percent(thresholds[nearest])}`;
}

function named(phrases, most, { named: least, named_share: share }) {
  const least_ = Math.max(least, share * Math.max(0, ...phrases.map(([, score]) => score)));
  const names = phrases.filter(([, score]) => score >= least_).map(([text]) => `“${plain(text)}”`);
  return [...new Set(names)].slice(0, most);
}

function list(names) {
  return [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" and ");
}

function percent(share) {
  if (share > 0.995 && share < 1) return ">99 %";
  return share > 0 && share < 0.005 ? "<1 %" : `${(100 * share).toFixed(0)} %`;
}
