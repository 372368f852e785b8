// Scores of words that add up, by adasent/explain/shapley.py: exact of a text of few words, and else
// fitted to what drawn parts are worth. The parts are those that Python draws; they come with the page.

// worth(parts): lists of words -> (parts, C) what the model says of each part alone.
// -> {base: (C), words: (n, C), errors: (n, C)}
export function shapleyValues(worth, n, nClasses, settings) {
  return n <= settings.all_parts ? fromAllParts(worth, n, nClasses) : fromDraws(worth, n, nClasses, settings);
}

async function fromAllParts(worth, n, nClasses) {
  const parts = Array.from({ length: 2 ** n }, (_, part) => wordsOf(n, (word) => (part >> word) & 1));
  const values = await worth(parts);
  const words = new Float64Array(n * nClasses);
  const orders = parts.slice(0, n).map((_, size) => 1 / (n * choose(n - 1, size)));
  for (let word = 0; word < n; word++) {
    for (let part = 0; part < parts.length; part++) {
      if ((part >> word) & 1) continue;
      const weight = orders[parts[part].length];
      const more = part | (1 << word);
      for (let c = 0; c < nClasses; c++) {
        words[word * nClasses + c] += weight * (values[more * nClasses + c] - values[part * nClasses + c]);
      }
    }
  }
  return { base: values.slice(0, nClasses), words, errors: new Float64Array(n * nClasses) };
}

function wordsOf(n, isThere) {
  return Array.from({ length: n }, (_, word) => word).filter(isThere);
}

function choose(n, k) {
  let found = 1;
  for (let i = 1; i <= k; i++) found *= (n - k + i) / i;
  return Math.round(found);
}

// What turns the answers about a text of n words into scores; see _Design in shapley.py.
class Design {
  constructor(n, drawn, { leave_out: leaveOut, holds }) {
    Object.assign(this, { n, nDrawn: drawn.length, leaveOut: n <= leaveOut });
    const alone = Array.from({ length: n }, (_, word) => Uint8Array.from({ length: n }, (__, i) => i === word));
    this.parts = [...alone, ...drawn];
    this.withRest = this.leaveOut ? this.parts : drawn;
    this.m = this.parts.length;
    const ofSize = Array.from({ length: n - 1 }, (_, i) => 1 / ((i + 1) * (n - i - 1)));
    const all = sum(ofSize);
    const ends = ((1 + this.leaveOut) * ofSize[0]) / all;
    const middle = sum(ofSize.slice(1, -1)) / all;
    const weights = this.parts.map((_, row) => (row < n ? ends / n : middle / this.nDrawn));
    const total = sum(weights);
    this.weights = Float64Array.from(weights, (one) => one / total);
    this.shares = this.parts.map((part) => sum(part) / n);
    this.there = new Float64Array(this.m * n); // what sums to nothing knows no share
    this.parts.forEach((part, row) => part.forEach((one, i) => { this.there[row * n + i] = one - this.shares[row]; }));
    this.fits = holds.map((hold) => this.fit(hold));
  }

  // The inverse of the normal equations, and how much each row weighs on what is foretold of it.
  fit(hold) {
    const { n, m, there, weights } = this;
    const normal = new Float64Array(n * n);
    for (let row = 0; row < m; row++) {
      for (let i = 0; i < n; i++) {
        const left = weights[row] * there[row * n + i];
        for (let j = 0; j < n; j++) normal[i * n + j] += left * there[row * n + j];
      }
    }
    for (let i = 0; i < n; i++) normal[i * n + i] += hold;
    const inverse = invert(normal, n);
    const leverages = Float64Array.from(weights, (weight, row) => {
      let found = 0;
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) found += there[row * n + i] * inverse[i * n + j] * there[row * n + j];
      }
      return found * weight;
    });
    return { inverse, leverages, variances: centredDiagonal(inverse, n) };
  }

  // Lists of words: none, all, each part, and the rest of those that have one.
  asked() {
    const listed = (part, value) => wordsOf(this.n, (word) => part[word] === value);
    return [[], wordsOf(this.n, () => true), ...this.parts.map((part) => listed(part, 1)),
      ...this.withRest.map((part) => listed(part, 0))];
  }

  // (n, C) of words -> (m, C) of parts.
  foretell(words, nClasses) {
    const { n, m, there } = this;
    const found = new Float64Array(m * nClasses);
    for (let row = 0; row < m; row++) {
      for (let i = 0; i < n; i++) {
        for (let c = 0; c < nClasses; c++) found[row * nClasses + c] += there[row * n + i] * words[i * nClasses + c];
      }
    }
    return found;
  }

  // (m, C) of parts -> the (n, C) of words that foretell them best.
  solve(inverse, values, nClasses) {
    const { n, m, there, weights } = this;
    const right = new Float64Array(n * nClasses);
    for (let row = 0; row < m; row++) {
      for (let i = 0; i < n; i++) {
        const left = weights[row] * there[row * n + i];
        for (let c = 0; c < nClasses; c++) right[i * nClasses + c] += left * values[row * nClasses + c];
      }
    }
    const found = new Float64Array(n * nClasses);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        for (let c = 0; c < nClasses; c++) found[i * nClasses + c] += inverse[i * n + j] * right[j * nClasses + c];
      }
    }
    return found;
  }
}

const designs = new Map();

function designOf(n, settings) {
  if (!designs.has(n)) designs.set(n, new Design(n, settings.drawn(n), settings));
  return designs.get(n);
}

async function fromDraws(worth, n, nClasses, settings) {
  const design = designOf(n, settings);
  const { m, nDrawn, weights, leaveOut } = design;
  const nPairs = design.withRest.length;
  const answers = await worth(design.asked());
  const row = (i) => answers.subarray(i * nClasses, (i + 1) * nClasses);
  const base = row(0).slice();
  const gain = minus(row(1), base);
  const ofParts = table(m, nClasses, (i, c) => row(2 + i)[c] - base[c]);
  const ofRests = table(nPairs, nClasses, (i, c) => row(1)[c] - row(2 + m + i)[c]);
  const wanted = table(m, nClasses, (i, c) => {
    const pair = i - (m - nPairs);
    const own = ofParts[i * nClasses + c];
    return (pair < 0 ? own : (own + ofRests[pair * nClasses + c]) / 2) - design.shares[i] * gain[c];
  });
  const ends = leaveOut ? [ofParts, ofRests] : [ofParts];
  const known = ends.map((one) => centre(one.subarray(0, n * nClasses), n, nClasses));
  const foretold = known.map((one) => design.foretell(one, nClasses));
  let best = null;
  for (const { inverse, leverages, variances } of design.fits) {
    // One share of what is known for all classes: scores of a word then sum to 0 over them.
    const unlike = foretold.map((one) => minus(one, design.foretell(design.solve(inverse, one, nClasses), nClasses)));
    const weighted = (a, b) => a.reduce((all, one, at) => all + one * b[at] * weights[Math.floor(at / nClasses)], 0);
    const shares = leastSquares(unlike.map((a) => foretold.map((b) => weighted(a, b))),
      unlike.map((a) => weighted(a, wanted)));
    const left = wanted.map((one, at) => one - sum(shares.map((share, k) => share * foretold[k][at])));
    const own = design.solve(inverse, left, nClasses);
    const found = design.foretell(own, nClasses);
    const squares = left.map((one, at) => {
      const i = Math.floor(at / nClasses);
      return weights[i] * ((one - found[at]) / Math.max(1 - leverages[i], 1e-3)) ** 2;
    });
    const drawn = squares.subarray((m - nDrawn) * nClasses);
    const missed = sum(drawn);
    if (best && missed >= best.missed) continue;
    const words = table(n, nClasses, (i, c) => gain[c] / n + own[i * nClasses + c]
      + sum(shares.map((share, k) => share * known[k][i * nClasses + c])));
    // Which of the two is larger differs; to be too small is the worse mistake.
    const spread = Float64Array.from({ length: nClasses }, (_, c) =>
      Math.max(columnMean(squares, nClasses, c), columnMean(drawn, nClasses, c)));
    best = { missed, words, errors: table(n, nClasses, (i, c) => Math.sqrt(variances[i] * spread[c])) };
  }
  return { base, words: best.words, errors: best.errors };
}

function sum(values) {
  return values.reduce((all, one) => all + one, 0);
}

function minus(left, right) {
  return left.map((one, at) => one - right[at]);
}

function table(n, nClasses, value) {
  return Float64Array.from({ length: n * nClasses }, (_, at) => value(Math.floor(at / nClasses), at % nClasses));
}

function columnMean(values, nClasses, c) {
  let total = 0;
  for (let at = c; at < values.length; at += nClasses) total += values[at];
  return (total * nClasses) / values.length;
}

function centre(values, n, nClasses) {
  const means = Array.from({ length: nClasses }, (_, c) => columnMean(values, nClasses, c));
  return table(n, nClasses, (i, c) => values[i * nClasses + c] - means[c]);
}

// The diagonal of a matrix from which the means of rows and columns are taken.
function centredDiagonal(matrix, n) {
  const columns = Array.from({ length: n }, (_, j) => columnMean(matrix, n, j));
  return Array.from({ length: n }, (_, i) => {
    const own = matrix.subarray(i * n, (i + 1) * n).map((one, j) => one - columns[j]);
    return own[i] - sum(own) / n;
  });
}

// By elimination; of a matrix that is symmetric and has all eigenvalues above 0, without exchanges.
function invert(matrix, n) {
  const left = matrix.slice();
  const found = Float64Array.from({ length: n * n }, (_, at) => Number(at % (n + 1) === 0));
  for (let i = 0; i < n; i++) {
    const scale = 1 / left[i * n + i];
    for (let k = 0; k < n; k++) {
      left[i * n + k] *= scale;
      found[i * n + k] *= scale;
    }
    for (let j = 0; j < n; j++) {
      const factor = left[j * n + i];
      if (j === i || factor === 0) continue;
      for (let k = 0; k < n; k++) {
        left[j * n + k] -= factor * left[i * n + k];
        found[j * n + k] -= factor * found[i * n + k];
      }
    }
  }
  return found;
}

const NEXT_TO_NOTHING = 1e-9; // an eigenvalue beside the largest

// The shortest solution of one or two symmetric equations, as numpy's lstsq has it.
function leastSquares(matrix, right) {
  if (matrix.length === 1) return [matrix[0][0] ? right[0] / matrix[0][0] : 0];
  const [[a, b], [c, d]] = matrix;
  const off = (b + c) / 2;
  const [middle, half] = [(a + d) / 2, Math.hypot((a - d) / 2, off)];
  const turn = Math.atan2(2 * off, a - d) / 2;
  const axes = [[Math.cos(turn), Math.sin(turn)], [-Math.sin(turn), Math.cos(turn)]];
  const values = [middle + half, middle - half];
  const most = Math.max(...values.map(Math.abs));
  const found = [0, 0];
  axes.forEach(([x, y], i) => {
    if (Math.abs(values[i]) <= NEXT_TO_NOTHING * most) return;
    const along = (x * right[0] + y * right[1]) / values[i];
    found[0] += along * x;
    found[1] += along * y;
  });
  return found;
}
