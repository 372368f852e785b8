// What a text is labelled with: one label or, of models that may give several, a list of them.

export function named(label) {
  return Array.isArray(label) ? label.join(", ") || "no label" : String(label);
}

export function has(answer, label) {
  return Array.isArray(answer) ? answer.includes(label) : answer === label;
}

// The first of several.
export function first(label) {
  return Array.isArray(label) ? label[0] : label;
}

// The classes an explanation is read for, the most probable first; where a text gets none, the one
// that is nearest to its threshold.
export function readFor({ predicted, classes, probabilities, thresholds }) {
  if (!Array.isArray(predicted)) return [classes.indexOf(predicted)];
  const order = classes.map((_, c) => c).sort((a, b) => probabilities[b] - probabilities[a]);
  const found = order.filter((c) => predicted.includes(classes[c]));
  if (found.length) return found;
  const short = (c) => thresholds[c] - probabilities[c];
  return order.sort((a, b) => short(a) - short(b)).slice(0, 1);
}
