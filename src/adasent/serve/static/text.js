// A text with one of its words replaced. The service counts characters as code points.

export function replaceWord(text, [start, end], replacement) {
  const characters = Array.from(text);
  let [before, after] = [characters.slice(0, start).join(""), characters.slice(end).join("")];
  if (!replacement && /\s$/u.test(before)) before = before.replace(/\s+$/u, "");
  return before + replacement + after;
}

export function slice(text, start, end) {
  return Array.from(text).slice(start, end).join("");
}

// Which tokens of two sentences differ: all but the longest common subsequence.
export function changedTokens(left, right) {
  const [n, m] = [left.length, right.length];
  const common = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      common[i][j] = left[i] === right[j]
        ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const changed = [new Array(n).fill(true), new Array(m).fill(true)];
  for (let i = 0, j = 0; i < n && j < m;) {
    if (left[i] === right[j]) changed[0][i++] = changed[1][j++] = false;
    else if (common[i + 1][j] >= common[i][j + 1]) i++;
    else j++;
  }
  return changed;
}
