// A text in; what the service would answer out: a prediction, or its explanation.

import { Overflow } from "./head.js";
import { Network } from "./network.js";
import { findPhrases } from "./phrases.js";
import { shapleyValues } from "./shapley.js";
import { tokenizer } from "./tokens.js";
import { readUnits, spansOf } from "./units.js";
import { answersOf, verdictOf } from "./verdict.js";
import { readTensors, WordTable } from "./weights.js";

const UNKNOWN = 1; // as in adasent/text/vocabulary.py
const TOO_LONG = 413; // the status that the service has for it

// Why something was not done, and the status that a service would say it with.
export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export class Reader {
  // model: what adasent/export/page_model.py wrote; weights: base64.
  constructor(model, weights) {
    const tensors = readTensors(weights);
    this.model = model;
    this.tokens = tokenizer(model.tokenizer, model.unicode);
    this.ids = new Map(model.vocabulary.map((word, id) => [word, id]));
    model.specials.forEach((special) => this.ids.set(special, UNKNOWN));
    this.network = new Network(model.network, tensors, new WordTable(tensors), model.relu_cap);
    this.shapley = { ...model.shapley, drawn: (n) => drawnParts(model.shapley.drawn, n) };
  }

  // The words of a text as they are read, and how many it has.
  read(text) {
    const { characters, spans, tokens } = this.tokens.read(text);
    const most = this.model.max_words;
    const ids = tokens.slice(0, most).map((token) => this.ids.get(token) ?? UNKNOWN);
    return {
      characters, spans: spans.slice(0, most), tokens: tokens.slice(0, most),
      ids: ids.length ? ids : [UNKNOWN], nWords: tokens.length,
    };
  }

  async predict(text, pause) {
    const { ids, nWords } = this.read(text);
    const { probabilities } = await this.classify(ids, pause);
    return {
      label: this.label(Array.from(probabilities)), probabilities: Array.from(probabilities),
      n_words: nWords, truncated: nWords > this.model.max_words,
    };
  }

  classify(ids, pause) {
    return guarded(() => this.network.classify(ids, pause));
  }

  // One label, or all that reach their thresholds, in the order of the classes.
  label(probabilities) {
    const { classes, thresholds } = this.model;
    const found = answersOf({ probabilities, thresholds });
    return thresholds ? found.sort((a, b) => a - b).map((c) => classes[c]) : classes[found[0]];
  }

  explain(text, pause) {
    return guarded(() => this.explainText(text, pause));
  }

  async explainText(text, pause) {
    const { model, network } = this;
    const { classes, thresholds } = model;
    const { characters, spans, tokens, ids, nWords } = this.read(text);
    if (nWords > model.max_explained_words) {
      throw new Refusal(`expected at most ${model.max_explained_words} words to explain, got ${nWords}`, TOO_LONG);
    }
    const [n, nClasses] = [ids.length, classes.length];
    const worth = (parts) => this.worth(ids, parts, pause);
    const { base, words, errors } = await shapleyValues(worth, n, nClasses, this.shapley);
    const found = await findPhrases(worth, words, n, nClasses, model.phrases);
    // From here on nothing waits: the units that are read are those that are kept.
    const pyramid = network.climb(ids);
    const mixed = network.head.mix(pyramid.levels, pyramid.rows.length);
    const units = readUnits(network, pyramid, mixed, base);
    const rows = (values) => Array.from({ length: values.length / nClasses }, (_, i) =>
      Array.from(values.subarray(i * nClasses, (i + 1) * nClasses)));
    const [probabilities, beliefs] = [mixed.probabilities, mixed.beliefs].map((values) => Array.from(values));
    const votes = rows(mixed.votes);
    const offsets = nWords ? spans : [[0, 0]];
    const wordScores = rows(words);
    const explanation = {
      text, offsets, classes, probabilities, thresholds, beliefs,
      tokens: nWords ? tokens : [model.specials[UNKNOWN]],
      base: Array.from(base),
      known: ids.map((id) => id !== UNKNOWN),
      predicted: this.label(probabilities),
      level_probabilities: votes,
      contributions: votes.map((vote, t) => vote.map((one) => beliefs[t] * one)),
      level_scores: votes.map((vote, t) => vote.map((one, c) => beliefs[t] * (one - base[c]))),
      gates: units.slice(1).map((level) => level.gates),
      spans: spansOf(units.map((level) => level.gates), n),
      units: units.map(({ votes: said, scores }, t) => said.map((one, j) =>
        ({ score: t ? scores[j] : wordScores[j], probabilities: one }))),
      words: wordScores,
      errors: rows(errors),
      phrases: found.map(({ start, end, score, interaction }) => ({
        start, end, score, interaction, text: characters.slice(offsets[start][0], offsets[end - 1][1]).join(""),
      })),
      method: model.method, n_words: nWords, truncated: nWords > model.max_words,
    };
    return { ...explanation, verdict: verdictOf(explanation, model.verdict) };
  }

  // (parts, C) what the model says of some words of a text alone; of none, what it says of no word.
  async worth(ids, parts, pause) {
    const nClasses = this.model.classes.length;
    const found = new Float64Array(parts.length * nClasses);
    for (const [i, part] of parts.entries()) {
      const own = part.length ? part.map((word) => ids[word]) : [UNKNOWN];
      found.set((await this.network.classify(own, pause)).probabilities, i * nClasses);
      await pause();
    }
    return found;
  }
}

async function guarded(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Overflow)) throw error;
    throw new Refusal("the network overflows on this text: its weights are too large", 500);
  }
}

// The parts that are drawn of texts of n words, from their bits.
function drawnParts({ first, counts, bits }, n) {
  const before = counts.slice(0, n - first).reduce((sum, count, i) => sum + count * (first + i), 0);
  const bytes = atob(bits);
  const bit = (at) => (bytes.charCodeAt(at >> 3) >> (7 - (at & 7))) & 1;
  return Array.from({ length: counts[n - first] }, (_, part) =>
    Uint8Array.from({ length: n }, (__, word) => bit(before + part * n + word)));
}
