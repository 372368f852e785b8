// Products with a matrix: single precision is kept, sums are in double.

// Four rows lie side by side, number by number, so that they are read in one go.
export class Matrix {
  // values: (rows, size), row after row; bias: (rows) or none.
  constructor({ shape: [nRows, size], values }, bias = null) {
    Object.assign(this, { nRows, size, bias });
    const nPanels = Math.ceil(nRows / 4);
    this.panels = new Float64Array(4 * nPanels * size);
    for (let row = 0; row < nRows; row++) {
      const first = (row >> 2) * 4 * size + (row & 3);
      for (let k = 0; k < size; k++) this.panels[first + 4 * k] = values[row * size + k];
    }
    this.sums = new Float64Array(8 * nPanels);
    this.pair = [new Float64Array(size), new Float64Array(size)];
  }

  // Multiply rows of some vectors, two at a time, and put each product in the row of its number.
  // from: (n, size) and to: (n, rows), row after row; which: the rows.
  times(from, which, to) {
    const { size, nRows, bias, sums, pair: [left, right] } = this;
    for (let i = 0; i < which.length; i += 2) {
      const both = i + 1 < which.length;
      copyRow(from, which[i], left);
      copyRow(from, which[both ? i + 1 : i], right);
      this.multiplyPair(left, right);
      for (let twin = 0; twin <= Number(both); twin++) {
        const first = which[i + twin] * nRows;
        for (let row = 0; row < nRows; row++) {
          to[first + row] = sums[(row >> 2) * 8 + twin * 4 + (row & 3)] + (bias ? bias[row] : 0);
        }
      }
    }
  }

  multiplyPair(left, right) {
    const { panels, sums, size } = this;
    for (let at = 0, to = 0; at < panels.length; to += 8) {
      let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
      for (let k = 0; k < size; k++, at += 4) {
        const x = left[k], y = right[k];
        const p = panels[at], q = panels[at + 1], r = panels[at + 2], s = panels[at + 3];
        a += p * x;
        b += q * x;
        c += r * x;
        d += s * x;
        e += p * y;
        f += q * y;
        g += r * y;
        h += s * y;
      }
      sums[to] = a;
      sums[to + 1] = b;
      sums[to + 2] = c;
      sums[to + 3] = d;
      sums[to + 4] = e;
      sums[to + 5] = f;
      sums[to + 6] = g;
      sums[to + 7] = h;
    }
  }
}

function copyRow(from, row, to) {
  for (let k = 0; k < to.length; k++) to[k] = from[row * to.length + k];
}

export function range(n, first = 0) {
  return Int32Array.from({ length: n }, (_, i) => first + i);
}
