// The page: one sentence or two, what differs between them, and the address that brings them back.

import { model } from "./api.js";
import { Card } from "./card.js";
import { setPalette } from "./colours.js";
import { drawDifference } from "./difference.js";
import { html } from "./dom.js";
import { ServiceError } from "./errors.js";
import { Help } from "./help.js";
import { startMany } from "./many.js";
import { scales } from "./pyramid.js";
import { changedTokens } from "./text.js";

const NEUTRAL = "Type a sentence here to see how the model reads it."; // for models without examples
const SHOWN_EXAMPLES = 6;
const WRITING_PAUSE = 300; // milliseconds without a key before the address is written
const find = (id) => document.getElementById(id);

const known = await askForModel();
setPalette(known.colours);
const [first, second] = ["Sentence", "Second sentence"].map((name) => new Card(name, known, {
  text: remember,
  answer: draw,
  failure: () => drawDifference(null, null),
  edit: (text) => (text === null ? setComparing(false) : compareWith(text)),
}));
const help = new Help(known.classes);

function comparing() {
  return second.root.isConnected;
}

function setComparing(wanted) {
  find("compare").setAttribute("aria-expanded", String(wanted));
  find("compare").textContent = wanted ? "Back to one sentence" : "Compare with a second sentence";
  find("cards").classList.toggle("two", wanted);
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
  const shared = scales(found.filter(Boolean));
  const both = found[0] && found[1];
  const changed = both ? changedTokens(found[0].tokens, found[1].tokens) : [null, null];
  [first, second].forEach((card, i) => found[i] && card.draw(shared, changed[i]));
  drawDifference(...found);
  if (found[0]) help.show(found[0]);
}

// The sentences live in the fragment of the address: it is never sent, and a reload brings them back.
function link() {
  const texts = new URLSearchParams({ a: first.text, ...(comparing() ? { b: second.text } : {}) });
  return `${location.href.split("#")[0]}#${texts}`;
}

let writing = null;

// Not at each key: browsers refuse a page that changes its address some hundred times in a minute.
function remember() {
  find("copied").textContent = "";
  find("link").hidden = true;
  clearTimeout(writing);
  writing = setTimeout(writeAddress, WRITING_PAUSE);
}

function writeAddress() {
  clearTimeout(writing);
  writing = null;
  history.replaceState(null, "", link());
}

function recall() {
  const texts = new URLSearchParams(location.hash.slice(1));
  first.setText(texts.get("a") ?? known.examples[0]?.text ?? NEUTRAL);
  if (texts.has("b")) compareWith(texts.get("b"));
  else if (comparing()) setComparing(false);
}

// Browsers let a page write to the clipboard only where nobody can listen in: on this machine, or
// over https. Elsewhere the link is shown, to be copied by hand.
async function copyLink() {
  try {
    await navigator.clipboard.writeText(link());
    find("copied").textContent = "Copied.";
  } catch {
    find("link").value = link();
    find("link").hidden = false;
    find("link").select();
    find("copied").textContent = "Copy it from here:";
  }
}

async function askForModel() {
  for (;;) {
    try {
      return await model();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      find("model").textContent = error.message;
      await new Promise((resolve) => setTimeout(resolve, 1000 * (error.retrySeconds ?? 5)));
    }
  }
}

// api: where the service describes itself, if there is a service.
function showModel({ name, n_vocabulary: nWords, n_texts: nTexts, api }) {
  document.title = `${name} – adasent`;
  const trained = nTexts === null ? "" : `, trained on ${nTexts.toLocaleString("en")} texts`;
  const alone = api ? "" : "; in this file, which sends nothing anywhere";
  find("model").textContent = `${name}: knows ${nWords.toLocaleString("en")} words${trained}${alone}`;
  if (api) find("links").append(html("a", { href: api }, "API"));
}

find("compare").addEventListener("click", () => {
  const wanted = !comparing();
  setComparing(wanted);
  if (!wanted) return;
  if (!second.text) second.setText(first.text);
  second.input.focus();
});
find("copy").addEventListener("click", copyLink);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return; // a phone's keyboard changes the height alone
  width = innerWidth;
  draw();
});
addEventListener("pagehide", () => writing === null || writeAddress());
addEventListener("hashchange", recall); // a link that is pasted into the address of this page

showModel(known);
first.offer(known.examples.slice(0, SHOWN_EXAMPLES));
find("cards").append(first.root);
recall();
startMany(known, (text) => {
  first.setText(text);
  first.input.focus({ preventScroll: true });
  first.root.scrollIntoView();
});
// Until now nobody would have heard a click.
for (const id of ["compare", "copy", "start"]) find(id).disabled = false;
