// The help: open on the first visit, with what the model says before it has read much.

import { predict } from "./api.js";
import { classColour, leaning } from "./colours.js";
import { html, percent } from "./dom.js";
import { ServiceError } from "./errors.js";

const VISITED = "adasent:visited";
const NO_WORD = "\u001f"; // a text without a word, which the model reads as one that it does not know
const MOST = 6; // classes of the table

// Browsers may refuse a page its memory; then each visit is the first.
function isFirstVisit() {
  try {
    const isFirst = localStorage.getItem(VISITED) === null;
    localStorage.setItem(VISITED, "yes");
    return isFirst;
  } catch {
    return true;
  }
}

const find = (id) => document.getElementById(id);

export class Help {
  constructor(classes) {
    this.classes = classes;
    this.root = find("help");
    this.root.open = isFirstVisit();
    this.root.addEventListener("toggle", () => this.ask());
    find("more-help").addEventListener("toggle", () => this.ask());
  }

  show(explanation) {
    this.explanation = explanation;
    find("method").textContent = explanation.method;
    const { base } = explanation;
    const best = base.indexOf(Math.max(...base));
    find("start-from").replaceChildren("of no words at all this model says ",
      html("span", { class: "swatch", "--colour": classColour(best) }, String(this.classes[best])),
      ` (${percent(base[best])}).`);
    this.ask();
  }

  // For no words the explanation has it; for an unknown word and the strongest one the model is asked.
  async ask() {
    const { explanation } = this;
    if (!this.root.open || !find("more-help").open) return;
    if (!explanation || explanation === this.shown) return;
    this.shown = explanation;
    const values = explanation.words.map((score) => leaning(score).value);
    const word = explanation.tokens[values.indexOf(Math.max(...values))];
    const columns = [["no words", explanation.base]];
    try {
      const [unknown, single] = await predict([NO_WORD, word]);
      columns.push(["a word it does not know", unknown.probabilities], [`“${word}” alone`, single.probabilities]);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error; // the card says what is wrong
      this.shown = null;
    }
    if (explanation === this.explanation) this.draw(columns);
  }

  // The classes that any of them is for most.
  draw(columns) {
    const most = this.classes.map((_, c) => Math.max(...columns.map(([, shares]) => shares[c])));
    const order = this.classes.map((_, c) => c).sort((a, b) => most[b] - most[a]);
    const shown = order.slice(0, MOST).sort((a, b) => a - b);
    find("prior").querySelector("thead tr").replaceChildren(html("th", { scope: "col" }, "class"),
      ...columns.map(([name]) => html("th", { scope: "col" }, name)));
    find("prior").querySelector("tbody").replaceChildren(...shown.map((c) => html("tr", {},
      html("th", { scope: "row", class: "swatch", "--colour": classColour(c) }, String(this.classes[c])),
      ...columns.map(([, shares]) => html("td", {}, percent(shares[c]))))));
    const rest = order.length - shown.length;
    find("prior-note").hidden = !rest;
    find("prior-note").textContent = rest === 1 ? "and one class more" : `and ${rest} classes more`;
  }
}
