// An explanation in; its pyramid as SVG out. Words at the bottom, one focus stop, arrow keys inside.

import { largest, paint, strength } from "./colours.js";
import { percent, svg } from "./dom.js";

const LONGEST_WORD = 14; // characters shown of a slanted word
const NARROW = 420; // pixels, a phone
const BELOW = 22; // pixels under the boxes that slanted words take beside their length
const canvas = document.createElement("canvas").getContext("2d");

// As many levels as words, unless the model has a height.
export function rowHeight(nLevels, width) {
  const row = nLevels <= 14 ? 26 : nLevels <= 30 ? 20 : nLevels <= 60 ? 14 : 10;
  return width < NARROW ? Math.min(row, 22, Math.max(14, Math.floor(400 / nLevels))) : row;
}

// The largest score of each kind of part, over all explanations that are seen together. The bottom
// row has the scores of the words.
export function scales(explanations) {
  const of = (scores) => largest(explanations.flatMap(scores));
  return {
    words: of((one) => one.words),
    phrases: of((one) => one.units.slice(1).flat().map((unit) => unit.score)),
    levels: of((one) => one.level_scores),
  };
}

export function levelName(explanation, t) {
  if (t === 0) return "single words";
  return t === explanation.tokens.length - 1 ? "the whole text" : `phrases of ${t + 1} words`;
}

// Pixels, at the largest size that words have, and in bold as some are at times.
function width13(text) {
  canvas.font = "700 13px system-ui, sans-serif";
  return canvas.measureText(text).width;
}

// Room to the left of the first boxes, so that no slanted word is cut off.
function leanOf(widths, cell, size, angle) {
  const turn = angle * Math.PI / 180;
  const [along, across] = [Math.cos(turn) * size / 13, Math.sin(turn) * size];
  return Math.max(4, ...widths.map((width, j) => Math.ceil(width * along + across - (j + 0.5) * cell)));
}

export function phraseOf(explanation, level, index) {
  return explanation.tokens.slice(index, index + level + 1).join(" ");
}

// most: the scores painted in full, see scales; changed: which tokens differ from the other sentence,
// or null; on.show(level, index), on.hide(): a unit is pointed at, or no unit is.
export function drawPyramid(explanation, { width, most, changed, on }) {
  const n = explanation.tokens.length;
  const highest = explanation.units.length - 1;
  const row = rowHeight(highest + 1, width);
  const words13 = explanation.tokens.map((token) => width13(token));
  const fits = words13.every((one) => one + 6 <= Math.min(88, width / n));
  const shown = explanation.tokens.map((token) =>
    (!fits && token.length > LONGEST_WORD ? `${token.slice(0, LONGEST_WORD)}…` : token));
  const widths = shown.map((token) => width13(token));
  // A phone scrolls, so that boxes can be tapped; so does a flat pyramid, so that it can be read.
  const least = width < NARROW ? 11 : highest + 1 < n ? 13 : 8;
  const cellFor = (room) => Math.max(least, Math.min(88, Math.floor((width - room) / n)));
  const angle = cellFor(0) < 16 ? 70 : 52;
  const size = fits ? 13 : Math.min(13, cellFor(0) + 1);
  const tail = fits ? 0 : 4;
  const lean = fits ? 0 : leanOf(widths, cellFor(24), size, angle);
  const cell = cellFor(lean + tail);
  const gap = cell < 14 ? 1 : 2;
  const base = (highest + 1) * row;
  const depth = Math.sin(angle * Math.PI / 180) * Math.max(...widths) * size / 13;
  const height = Math.ceil(base + (fits ? 26 : BELOW + depth));
  const root = svg("svg", {
    width: lean + n * cell + tail, height, role: "group", class: "pyramid",
    tabindex: -1, // Chromium stops on Tab at an SVG that listens for focus
    "aria-label": `Pyramid of ${n} ${n === 1 ? "word" : "words"}. Arrow keys move between phrases.`,
  });
  const cone = svg("g", { class: "cone" });
  const units = explanation.units.map((level, t) => level.map((unit, j) => {
    const node = svg("rect", {
      x: lean + (j + t / 2) * cell + gap / 2, y: base - (t + 1) * row + gap / 2,
      width: cell - gap, height: row - gap, rx: Math.min(4, row / 4),
      ...paint(unit.score, t === 0 ? most.words : most.phrases),
      class: changed?.slice(j, j + t + 1).some(Boolean) ? "unit changed" : "unit",
      role: "button", "aria-pressed": "false", tabindex: -1, "data-level": t, "data-index": j,
      "aria-label": unitLabel(explanation, t, j),
    });
    root.append(node);
    return node;
  }));
  const words = explanation.tokens.map((_, j) => {
    const x = lean + (j + 0.5) * cell;
    const place = fits
      ? { x, y: base + 16, "text-anchor": "middle" }
      : { transform: `translate(${x + 4} ${base + 10}) rotate(${-angle})`, "text-anchor": "end" };
    const node = svg("text", { ...place, "font-size": size, class: "word", "aria-hidden": "true" }, shown[j]);
    root.append(node);
    return node;
  });
  root.append(cone);

  const state = { at: [0, 0], pinned: null };
  units[0][0].setAttribute("tabindex", 0);

  function unmark() {
    cone.replaceChildren();
    words.forEach((word) => {
      word.style.opacity = "";
      word.classList.remove("spanned");
    });
  }
  function show(t, j) {
    unmark();
    cone.append(outline(t, j));
    explanation.spans[t][j].forEach((weight, k) => {
      words[j + k].style.opacity = 0.3 + 0.7 * strength(weight, 1);
      words[j + k].classList.add("spanned");
    });
    on.show(t, j);
  }
  function outline(t, j) {
    const [left, right] = [lean + j * cell, lean + (j + t + 1) * cell];
    const [top, middle] = [base - (t + 1) * row, (left + right) / 2];
    const points = [[left, base], [left, base - row], [middle - cell / 2, top],
      [middle + cell / 2, top], [right, base - row], [right, base]];
    return svg("polygon", { points: points.map((point) => point.join(",")).join(" ") });
  }
  function hide() {
    if (state.pinned) return show(...state.pinned);
    unmark();
    return on.hide();
  }
  function pin(t, j) {
    const same = state.pinned?.[0] === t && state.pinned?.[1] === j;
    if (state.pinned) press(...state.pinned, false);
    state.pinned = same ? null : [t, j];
    if (!same) press(t, j, true);
  }
  function press(t, j, pressed) {
    units[t][j].setAttribute("aria-pressed", String(pressed));
  }
  function move(t, j) {
    const [level, index] = state.at;
    units[level][index].setAttribute("tabindex", -1);
    state.at = [t, j];
    units[t][j].setAttribute("tabindex", 0);
    units[t][j].focus();
  }
  function place(event) {
    const node = event.target.closest?.(".unit");
    return node && [Number(node.dataset.level), Number(node.dataset.index)];
  }

  for (const kind of ["pointerover", "focusin"]) {
    root.addEventListener(kind, (event) => {
      const where = place(event);
      if (where) show(...where);
    });
  }
  for (const kind of ["pointerleave", "focusout"]) root.addEventListener(kind, hide);
  root.addEventListener("click", (event) => {
    const where = place(event);
    if (!where) return;
    pin(...where);
    move(...where);
  });
  root.addEventListener("keydown", (event) => {
    const where = place(event);
    if (!where) return;
    const [t, j] = where;
    const steps = {
      ArrowLeft: [t, j - 1], ArrowRight: [t, j + 1],
      ArrowUp: [t + 1, Math.min(j, n - t - 2)], ArrowDown: [t - 1, j],
      Home: [t, 0], End: [t, n - t - 1], PageUp: [highest, Math.min(j, n - highest - 1)], PageDown: [0, j],
    };
    if (event.key === "Enter" || event.key === " ") pin(t, j);
    else if (event.key === "Escape" && state.pinned) pin(...state.pinned);
    else if (event.key in steps) {
      const [level, index] = steps[event.key];
      if (units[level]?.[index]) move(level, index);
    } else return;
    event.preventDefault();
  });
  return root;
}

function unitLabel(explanation, t, j) {
  const unit = explanation.units[t][j];
  const best = unit.probabilities.indexOf(Math.max(...unit.probabilities));
  const what = t === 0 ? `Word ${j + 1} of ${explanation.tokens.length}`
    : `${t + 1} words, phrase ${j + 1} of ${explanation.units[t].length}`;
  return `${phraseOf(explanation, t, j)}. ${what}. `
    + `By itself it says ${explanation.classes[best]}, ${percent(unit.probabilities[best])}.`;
}
