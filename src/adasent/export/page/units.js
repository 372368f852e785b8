// What each unit of a pyramid says by itself and adds to the answer, what it is made of, and which words
// it rests on; by adasent/explain/units.py and spans.py.

const TIE_MARGIN = 0.1; // as in units.py

// rows: of each level; -> for each level {votes: (units, C), gates: (units, 3), scores: (units, C)}.
export function readUnits(network, { rows, levels }, { beliefs, votes: levelVotes }, base) {
  return rows.map((own, t) => {
    const votes = votesOf(network, own);
    const gates = t ? gatesOf(network, rows[t - 1]) : [];
    const vote = levelVotes.subarray(t * base.length, (t + 1) * base.length);
    const scores = scoresOf(votes, sharesOf(network, own, levels, t), beliefs[t], vote, base);
    return { votes, gates, scores };
  });
}

function votesOf({ head, kept, size }, rows) {
  const values = new Float32Array(rows.length * size);
  rows.forEach((row, j) => values.set(kept.units.subarray(row * size, (row + 1) * size), j * size));
  const { votes } = head.judge(values, rows.length);
  return Array.from(rows, (_, j) => Array.from(votes.subarray(j * head.nClasses, (j + 1) * head.nClasses)));
}

// Means over the groups of dimensions.
function gatesOf({ recurrence, kept }, below) {
  const { nGroups } = recurrence;
  return Array.from(below.slice(1), (right, j) => {
    const shares = recurrence.gates(kept.products, below[j], right);
    return [0, 1, 2].map((kind) =>
      shares.subarray(kind * nGroups, (kind + 1) * nGroups).reduce((sum, one) => sum + one, 0) / nGroups);
  });
}

// How much of its pooled level each unit is; of a maximum it owns the dimensions that are its.
function sharesOf({ config, kept: { units }, size }, rows, levels, t) {
  const shares = new Float64Array(rows.length);
  if (config.pooling === "mean") return shares.fill(1 / rows.length);
  for (let k = 0; k < size; k++) {
    const owned = Array.from(rows, (row) => Math.max(units[row * size + k] - levels[t * size + k] + TIE_MARGIN, 0));
    const total = owned.reduce((sum, one) => sum + one, 0);
    owned.forEach((one, j) => { shares[j] += one / total / size; });
  }
  return shares;
}

// What the units of a level add sums to what the level adds; what is missing is shared by size.
function scoresOf(votes, shares, belief, levelVote, base) {
  const scores = votes.map((vote, j) => vote.map((one, c) => (one - base[c]) * shares[j] * belief));
  const sizes = scores.map((score) => score.reduce((sum, one) => sum + Math.abs(one), 0));
  const total = Math.max(sizes.reduce((sum, one) => sum + one, 0), 1e-12);
  const missing = Array.from(base, (start, c) =>
    belief * (levelVote[c] - start) - scores.reduce((sum, score) => sum + score[c], 0));
  return scores.map((score, j) => score.map((one, c) => one + (sizes[j] / total) * missing[c]));
}

// For each level, of each unit the weight of every word that it covers.
export function spansOf(gates, n) {
  const spans = [Array.from({ length: n }, () => [1])];
  for (const level of gates.slice(1)) {
    const below = spans.at(-1);
    spans.push(level.map(([left, right, composed], j) => {
      const own = [...below[j].map((weight) => (left + composed / 2) * weight), 0];
      below[j + 1].forEach((weight, k) => { own[k + 1] += (right + composed / 2) * weight; });
      return own;
    }));
  }
  return spans;
}
