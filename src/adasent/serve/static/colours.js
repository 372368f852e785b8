// One rule everywhere: a colour is a class. A part of a text is painted in the colour of the class
// it adds most to, as strongly as it adds beside the part of its kind that adds most.

let palette = [];

// colours: of each class, from the service, which is where all pictures have them from.
export function setPalette(colours) {
  palette = colours;
}

export function classColour(index) {
  return palette[index];
}

// What a part speaks for: the class with the highest score, and that score.
export function leaning(score) {
  const index = score.indexOf(Math.max(...score));
  return { index, value: Math.max(score[index], 0) };
}

export function largest(scores) {
  return scores.reduce((most, score) => Math.max(most, leaning(score).value), 0);
}

// The root keeps small shares visible; where even the largest is next to nothing, rounding is not
// painted as if it were a difference.
export function strength(value, most) {
  return Math.sqrt(Math.min(value / Math.max(most, 1e-4), 1));
}

// Custom properties that style.css paints a part with.
export function paint(score, most) {
  const { index, value } = leaning(score);
  return { "--colour": classColour(index), "--strength": strength(value, most).toFixed(3) };
}
