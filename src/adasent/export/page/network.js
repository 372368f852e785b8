// AdaSent from ids to probabilities; the same as adasent/runtime/network.py and climb.py.
//
// A unit is made of its two children and of nothing else. So a unit that two parts of a text share is
// built once: of the parts that an explanation asks for, most units are.

import { Head } from "./head.js";
import { Matrix } from "./matrix.js";

const MAX_SCORE = 80; // as in climb.py
const KEPT_BYTES = 2 ** 26; // of units that may come again
const MOST_SHARED = 5_050; // units of a text whose units are kept: 100 words

export class Network {
  constructor(config, tensors, table, reluCap) {
    Object.assign(this, { config, table });
    this.size = config.hidden_size;
    this.projection = new Matrix(tensors.projection);
    this.recurrence = new Recurrence(config, tensors, reluCap);
    this.head = new Head(config, tensors);
    this.forget();
  }

  nLevels(nWords) {
    return Math.min(nWords, this.config.max_height ?? nWords);
  }

  nUnits(nWords) {
    const n = this.nLevels(nWords);
    return n * nWords - (n * (n - 1)) / 2;
  }

  isShared(nWords) {
    return this.nUnits(nWords) <= MOST_SHARED;
  }

  forget() {
    const width = this.size + this.recurrence.matrix.nRows;
    this.mostKept = Math.max(2 * MOST_SHARED, Math.floor(KEPT_BYTES / (4 * width)));
    this.kept = new Rows(this.recurrence, 1024);
    this.words = new Map();
    this.pairs = new Map();
  }

  // Beliefs, votes and probabilities of a text. pause(): lets others have their turn.
  async classify(ids, pause) {
    const levels = this.isShared(ids.length) ? this.climb(ids).levels : await this.climbOnce(ids, pause);
    return this.head.mix(levels, this.nLevels(ids.length));
  }

  // The pyramid of a text: rows of `kept` on each level, and (L, D) the levels, pooled.
  climb(ids) {
    if (this.kept.n + this.nUnits(ids.length) > this.mostKept) this.forget();
    const nLevels = this.nLevels(ids.length);
    const levels = new Float32Array(nLevels * this.size);
    const rows = [ids.map((id) => this.word(id))];
    for (let t = 0; ; t++) {
      this.pool(this.kept, rows[t], levels, t);
      if (t + 1 === nLevels) return { rows, levels };
      rows.push(this.above(rows[t]));
    }
  }

  word(id) {
    if (!this.words.has(id)) {
      const at = this.kept.add();
      this.project(id, this.kept, at);
      this.words.set(id, at);
    }
    return this.words.get(id);
  }

  project(id, rows, at) {
    const unit = new Float32Array(this.size);
    this.projection.times(this.table.row(id), [0], unit);
    rows.units.set(unit, at * this.size);
  }

  // The units over neighbours, those that are new built together.
  above(below) {
    const fresh = [];
    const found = new Int32Array(below.length - 1);
    for (let j = 0; j < found.length; j++) {
      const key = below[j] * 2 ** 26 + below[j + 1];
      if (!this.pairs.has(key)) {
        this.pairs.set(key, this.kept.add());
        fresh.push([below[j], below[j + 1], this.pairs.get(key)]);
      }
      found[j] = this.pairs.get(key);
    }
    this.kept.build(fresh);
    return found;
  }

  // The pooled levels of a text that is too long to keep its units: two levels are there at a time.
  async climbOnce(ids, pause) {
    const n = ids.length;
    const rows = new Rows(this.recurrence, 2 * n);
    const nLevels = this.nLevels(n);
    const levels = new Float32Array(nLevels * this.size);
    ids.forEach((id, j) => this.project(id, rows, j));
    const halves = [0, n];
    for (let t = 0; t < nLevels; t++) {
      const [here, below] = [halves[t % 2], halves[(t + 1) % 2]];
      const level = Int32Array.from({ length: n - t }, (_, j) => here + j);
      for (let j = 0; t && j < n - t; j += 64) {
        const some = Array.from(level.subarray(j, j + 64), (at, k) => [below + j + k, below + j + k + 1, at]);
        rows.build(some);
        await pause();
      }
      rows.multiplied.fill(0, below, below + n);
      this.pool(rows, level, levels, t);
    }
    return levels;
  }

  pool({ units }, rows, levels, t) {
    const { size, config } = this;
    for (let k = 0; k < size; k++) {
      let value = config.pooling === "max" ? -Infinity : 0;
      for (const row of rows) {
        const one = units[row * size + k];
        if (config.pooling === "mean") value += one;
        else if (!(one <= value)) value = one; // also what is not a number
      }
      levels[t * size + k] = config.pooling === "max" ? value : value / rows.length;
    }
  }
}

// Units and their products with the matrix of the recurrence, which are made when they are needed.
class Rows {
  constructor(recurrence, room) {
    this.recurrence = recurrence;
    this.n = 0;
    this.units = new Float32Array(room * recurrence.size);
    this.products = new Float32Array(room * recurrence.matrix.nRows);
    this.multiplied = new Uint8Array(room);
  }

  // A row for one more.
  add() {
    if (this.n === this.multiplied.length) {
      for (const name of ["units", "products", "multiplied"]) {
        const larger = new this[name].constructor(2 * this[name].length);
        larger.set(this[name]);
        this[name] = larger;
      }
    }
    return this.n++;
  }

  // Units from [left child, right child, own row].
  build(triples) {
    this.multiply(new Set(triples.flatMap(([left, right]) => [left, right])));
    for (const [left, right, at] of triples) this.recurrence.unit(this, left, right, at);
  }

  multiply(rows) {
    const fresh = [...rows].filter((row) => !this.multiplied[row]);
    this.recurrence.matrix.times(this.units, fresh, this.products);
    for (const row of fresh) this.multiplied[row] = 1;
  }
}

class Recurrence {
  constructor({ hidden_size: size, gate_groups: nGroups, activation }, tensors, reluCap) {
    Object.assign(this, { size, nGroups });
    this.matrix = new Matrix(tensors.composition);
    this.activate = activation === "relu" ? (one) => Math.min(Math.max(one, 0), reluCap) : Math.tanh;
    this.composeBias = tensors.compose_bias.values;
    this.gateBias = tensors.gate_bias.values;
    this.gateOut = tensors.gate_out && new Matrix(tensors.gate_out, tensors.gate_out_bias.values);
    this.hidden = new Float32Array(this.gateBias.length);
    this.powers = new Float32Array(2 * nGroups);
    this.shares = new Float64Array(3 * nGroups);
  }

  unit({ units, products }, left, right, at) {
    const { size, nGroups, composeBias, activate, matrix: { nRows } } = this;
    const shares = this.gates(products, left, right);
    const [fromLeft, fromRight] = [left * nRows, right * nRows + size];
    for (let k = 0, g = 0; k < size; k++, g = g + 1 === nGroups ? 0 : g + 1) { // dimension k is of group k mod N
      const composed = activate(products[fromLeft + k] + products[fromRight + k] + composeBias[k]);
      units[at * size + k] = shares[g] * units[left * size + k] + shares[nGroups + g] * units[right * size + k]
        + shares[2 * nGroups + g] * composed;
    }
  }

  // Shares of the left child, of the right one and of what both compose, for each group.
  gates(products, left, right) {
    const { size, nGroups, gateBias, hidden, shares, matrix: { nRows } } = this;
    const width = gateBias.length;
    const [fromLeft, fromRight] = [left * nRows + 2 * size, right * nRows + 2 * size + width];
    for (let g = 0; g < width; g++) hidden[g] = products[fromLeft + g] + products[fromRight + g] + gateBias[g];
    const powers = this.gateOut ? this.fromHidden() : hidden;
    for (let g = 0; g < nGroups; g++) {
      const a = Math.exp(Math.min(powers[g], MAX_SCORE));
      const b = Math.exp(Math.min(powers[nGroups + g], MAX_SCORE));
      const composed = 1 / (1 + a + b);
      shares[g] = a * composed;
      shares[nGroups + g] = b * composed;
      shares[2 * nGroups + g] = composed;
    }
    return shares;
  }

  // Of a gate that is an MLP.
  fromHidden() {
    this.gateOut.times(this.hidden.map(Math.tanh), [0], this.powers);
    return this.powers;
  }
}
