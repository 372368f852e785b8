// Classes -> colours that colour-blind readers can tell apart (Okabe and Ito 2008).

const BY_CLASS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a6f00", "#6a6a6a"];

export function classColour(index) {
  return BY_CLASS[index % BY_CLASS.length];
}

// What a unit or word speaks for: the class with the highest score, and that score.
export function leaning(score) {
  const index = score.indexOf(Math.max(...score));
  return { index, value: Math.max(score[index], 0) };
}

// How strongly to paint a value beside the largest one. The root keeps small shares visible; where
// even the largest is next to nothing, rounding is not painted as if it were a difference.
export function strength(value, largest) {
  return Math.sqrt(Math.min(value / Math.max(largest, 1e-4), 1));
}
