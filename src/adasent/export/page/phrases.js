// Which words of a text act together, by adasent/explain/phrases.py.

// worth(parts): lists of words -> (parts, C) what the model says of each; words: (n, C) their scores.
// -> [{start, end, score, interaction}], those that add most to any class first.
export async function findPhrases(worth, words, n, nClasses, settings) {
  const { most_asked: mostAsked, asked_units: askedUnits } = settings;
  let candidates = await alone(worth, n, nClasses, settings);
  const nAsked = Math.min(mostAsked, Math.floor(askedUnits / (2 * n * n)));
  if (nAsked) candidates = await inText(worth, candidates.slice(0, nAsked), n, nClasses, settings.least);
  const taken = new Array(n).fill(false);
  const chosen = [];
  for (const { start, end, joint, words: parts } of candidates) {
    if (taken.slice(start, end).includes(true)) continue;
    taken.fill(true, start, end);
    chosen.push({ start, end, interaction: joint.map((one, c) => one - total(parts, c)) });
  }
  taken.forEach((is, i) => is || chosen.push({ start: i, end: i + 1, interaction: new Array(nClasses).fill(0) }));
  for (const one of chosen) {
    one.score = one.interaction.map((_, c) => {
      let sum = 0;
      for (let i = one.start; i < one.end; i++) sum += words[i * nClasses + c];
      return sum;
    });
  }
  return chosen.sort((a, b) => Math.max(...b.score) - Math.max(...a.score));
}

function total(parts, c) {
  return parts.reduce((sum, part) => sum + part[c], 0);
}

function stretch(start, end) {
  return Array.from({ length: end - start }, (_, i) => start + i);
}

function rows(values, nClasses) {
  return Array.from({ length: values.length / nClasses }, (_, i) =>
    Array.from(values.subarray(i * nClasses, (i + 1) * nClasses)));
}

function minus(left, right) {
  return left.map((one, c) => one - right[c]);
}

// Stretches that act together as texts of their own, the strongest first.
async function alone(worth, n, nClasses, { longest, least }) {
  const spans = [];
  for (let size = 1; size <= Math.min(n, longest); size++) {
    for (let i = 0; i + size <= n; i++) spans.push([i, i + size]);
  }
  const [none, ...answers] = rows(await worth([[], ...spans.map((span) => stretch(...span))]), nClasses);
  const says = new Map(spans.map(([start, end], i) => [start * (n + 1) + end, minus(answers[i], none)]));
  const of = (start, end) => says.get(start * (n + 1) + end);
  return strongest(spans.slice(n).map(([start, end]) => {
    const joint = of(start, end);
    const cuts = stretch(start + 1, end).map((cut) => [of(start, cut), of(cut, end)]);
    const words = stretch(start, end).map((i) => of(i, i + 1));
    return { start, end, joint, words, strength: strengthOf(joint, cuts) };
  }), least);
}

// Those that still act together when their text counts as well, the strongest first.
async function inText(worth, candidates, n, nClasses, least) {
  const all = stretch(0, n);
  const asked = candidates.flatMap(({ start, end }) => {
    const rest = all.filter((i) => i < start || i >= end);
    return [rest, ...stretch(start, end).map((own) => all.filter((i) => i < start || i >= end || i === own))];
  });
  const [whole, ...answers] = rows(await worth([all, ...asked]), nClasses);
  return strongest(candidates.map((one) => {
    const [rest, ...withOne] = answers.splice(0, 1 + one.words.length);
    const joint = one.joint.map((value, c) => (value + whole[c] - rest[c]) / 2);
    const words = one.words.map((word, i) => word.map((value, c) => (value + withOne[i][c] - rest[c]) / 2));
    return { ...one, joint, words, strength: Math.min(one.strength, strengthOf(joint, [words])) };
  }), least);
}

// How much more is said together (C), for some class, than by parts in any of some ways.
function strengthOf(joint, ways) {
  return Math.max(...joint.map((value, c) => {
    const sign = Math.sign(value);
    const most = ways.map((parts) =>
      Math.max(sign * total(parts, c), ...parts.map((part) => sign * part[c])));
    return Math.abs(value) - Math.max(...most, 0);
  }));
}

function strongest(candidates, least) {
  return candidates.filter((one) => one.strength >= least).sort((a, b) => b.strength - a.strength);
}
