// The page: one sentence or two, what differs between them, and the address that brings them back.

import { model, ServiceError } from "./api.js";
import { Card } from "./card.js";
import { classColour } from "./colours.js";
import { drawDifference } from "./difference.js";
import { html } from "./dom.js";
import { largestScore } from "./pyramid.js";
import { changedTokens } from "./text.js";

const EXAMPLE = "I am not happy with this, but it is not bad either.";
const [first, second] = ["Sentence", "Second sentence"].map((name) => new Card(name, {
  text: remember,
  answer: draw,
  failure: () => drawDifference(null, null),
  edit: (text) => (text === null ? setComparing(false) : compareWith(text)),
}));
const toggle = document.getElementById("compare");

function comparing() {
  return second.root.isConnected;
}

function setComparing(wanted) {
  toggle.setAttribute("aria-expanded", String(wanted));
  toggle.textContent = wanted ? "Back to one sentence" : "Compare with a second sentence";
  document.getElementById("cards").classList.toggle("two", wanted);
  if (wanted) first.root.after(second.root);
  else second.root.remove();
  remember();
  draw();
}

function compareWith(text) {
  if (!comparing()) setComparing(true);
  second.setText(text);
}

// Both pictures at once: their colours share a scale, and each marks what the other lacks.
function draw() {
  const found = [first, second].map((card) => (card.root.isConnected ? card.explanation : null));
  const largest = Math.max(0, ...found.filter(Boolean).map(largestScore));
  const both = found[0] && found[1];
  const changed = both ? changedTokens(found[0].tokens, found[1].tokens) : [null, null];
  [first, second].forEach((card, i) => found[i] && card.draw(largest, changed[i]));
  drawDifference(...found);
  const method = found.find(Boolean)?.method;
  if (method) document.getElementById("method").textContent = method;
}

// The sentences live in the fragment of the address: it is never sent, and a reload brings them back.
function remember() {
  const texts = new URLSearchParams({ a: first.text, ...(comparing() ? { b: second.text } : {}) });
  history.replaceState(null, "", `#${texts}`);
}

function recall() {
  const texts = new URLSearchParams(location.hash.slice(1));
  first.setText(texts.get("a") ?? EXAMPLE);
  if (texts.has("b")) compareWith(texts.get("b"));
}

async function showModel() {
  try {
    const { name, classes, n_vocabulary: nWords, n_texts: nTexts } = await model();
    document.title = `${name} – adasent`;
    const trained = nTexts === null ? "" : `, trained on ${nTexts.toLocaleString("en")} texts`;
    document.getElementById("model").textContent = `${name}: ${nWords.toLocaleString("en")} words${trained}`;
    document.getElementById("legend").replaceChildren(
      ...classes.slice(0, 8).map((label, c) => html("li", { "--colour": classColour(c) }, String(label))));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    setTimeout(showModel, 1000 * (error.retrySeconds ?? 5));
  }
}

toggle.addEventListener("click", () => {
  const wanted = !comparing();
  setComparing(wanted);
  if (!wanted) return;
  if (!second.text) second.setText(first.text);
  second.input.focus();
});
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return; // a phone's keyboard changes the height alone
  width = innerWidth;
  draw();
});

document.getElementById("cards").append(first.root);
recall();
showModel();
