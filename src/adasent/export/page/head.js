// From pooled levels to probabilities: how much each level is believed, what it says, the mixture.
// The same as adasent/runtime/head.py.

import { Matrix, range } from "./matrix.js";

const NORM_EPS = 1e-5;

// The network's weights are too large for what is asked of them.
export class Overflow extends Error {}

export class Head {
  constructor({ hidden_size: size, n_classes: nClasses, multilabel }, tensors) {
    Object.assign(this, { size, nClasses, multilabel });
    this.gain = tensors["level_norm.weight"]?.values;
    this.offset = tensors["level_norm.bias"]?.values;
    const layer = (name) => {
      const weight = tensors[`${name}.weight`];
      return weight && new Matrix(weight, tensors[`${name}.bias`].values);
    };
    // A gate and a classifier are a layer, or two with something between them.
    this.gate = [layer("level_gate.score.0"), layer("level_gate.score.2") ?? layer("level_gate.score")];
    this.classifier = [layer("classifier.hidden"), layer("classifier.out")];
  }

  // values: (n, D) levels or units -> their scores (n), and what each says, (n, C).
  judge(values, n) {
    const taken = this.gain ? this.normalise(values, n) : values;
    const scores = Float64Array.from(apply(this.gate, taken, n, Math.tanh));
    return { scores, votes: this.vote(apply(this.classifier, taken, n, (one) => Math.max(one, 0)), n) };
  }

  normalise(values, n) {
    const { size, gain, offset } = this;
    const found = new Float32Array(n * size);
    for (let i = 0; i < n; i++) {
      const row = values.subarray(i * size, (i + 1) * size);
      const mean = row.reduce((sum, one) => sum + one, 0) / size;
      const variance = row.reduce((sum, one) => sum + (one - mean) ** 2, 0) / size;
      const root = Math.sqrt(variance + NORM_EPS);
      for (let k = 0; k < size; k++) found[i * size + k] = ((row[k] - mean) / root) * gain[k] + offset[k];
    }
    return found;
  }

  vote(scores, n) {
    const { nClasses, multilabel } = this;
    const found = new Float64Array(n * nClasses);
    for (let i = 0; i < n; i++) {
      const own = scores.subarray(i * nClasses, (i + 1) * nClasses);
      const most = own.reduce((a, b) => Math.max(a, b), -Infinity);
      let total = 0;
      own.forEach((score, c) => {
        // What overflowed must not look certain: its difference from itself is not a number.
        const power = multilabel ? 1 / (1 + Math.exp(-score)) + (score - score) : Math.exp(score - most);
        found[i * nClasses + c] = power;
        total += power;
      });
      if (!multilabel) for (let c = 0; c < nClasses; c++) found[i * nClasses + c] /= total;
    }
    return found;
  }

  // (L, D) pooled levels of a text -> {beliefs, votes, probabilities}.
  mix(levels, nLevels) {
    const { scores, votes } = this.judge(levels, nLevels);
    const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
    const beliefs = scores.map((score) => Math.exp(score - most));
    const all = beliefs.reduce((sum, one) => sum + one, 0);
    const mixed = new Float64Array(this.nClasses);
    beliefs.forEach((power, t) => {
      beliefs[t] = power / all;
      mixed.forEach((_, c) => { mixed[c] += beliefs[t] * votes[t * this.nClasses + c]; });
    });
    return { beliefs, votes, probabilities: this.settle(mixed) };
  }

  // Without rounding: they sum to 1, or where a text may have several labels nothing is beyond 1.
  settle(mixed) {
    const total = mixed.reduce((sum, one) => sum + one, 0);
    if (!Number.isFinite(total) || !(this.multilabel || total > 0)) throw new Overflow();
    return mixed.map((one) => (this.multilabel ? Math.min(one, 1) : one / total));
  }
}

function apply([first, second], values, n, between) {
  if (!first) return product(second, values, n);
  return product(second, product(first, values, n).map(between), n);
}

function product(matrix, values, n) {
  const found = new Float32Array(n * matrix.nRows);
  matrix.times(values, range(n), found);
  return found;
}
