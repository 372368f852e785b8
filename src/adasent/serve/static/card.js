// One sentence: its text, its answer, its picture; asks the service when the text changes.

import { explain, ServiceError } from "./api.js";
import { classColour, leaning, strength } from "./colours.js";
import { classBars, levelDetails, phraseDetails, unitDetails } from "./details.js";
import { html, percent } from "./dom.js";
import { drawPyramid, rowHeight } from "./pyramid.js";
import { replaceWord, slice } from "./text.js";

const TYPING_PAUSE = 120; // milliseconds without a key before the service is asked

export class Card {
  // on.text(): the text changed; on.answer(): an explanation came or went; on.failure(): what is
  // drawn is not of this text; on.edit(text): show this variant of the sentence beside it.
  constructor(name, on) {
    this.on = on;
    this.explanation = null;
    this.level = null;
    const template = document.getElementById("card");
    this.root = template.content.firstElementChild.cloneNode(true);
    this.find("h2").textContent = name;
    this.input = this.find("textarea");
    this.input.setAttribute("aria-label", name);
    this.find(".words").setAttribute("aria-label", "Words; choose one to replace it");
    this.find(".levels").setAttribute("aria-label", "Levels; choose one to see its vote");
    this.input.addEventListener("input", () => this.changed());
    this.editForm = new WordEdit(this);
    this.hideUnit();
  }

  find(selector) {
    return this.root.querySelector(selector);
  }

  get text() {
    return this.input.value;
  }

  setText(text) {
    if (text === this.text) return;
    this.input.value = text;
    this.changed();
  }

  changed() {
    this.editForm.form.hidden = true; // it speaks of the old text
    this.on.text();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), TYPING_PAUSE);
  }

  async ask() {
    this.request?.abort();
    clearTimeout(this.timer);
    if (!this.text.trim()) {
      this.say("Type a sentence.", "hint");
      this.setExplanation(null);
      return;
    }
    const request = this.request = new AbortController();
    this.root.setAttribute("aria-busy", "true");
    try {
      const explanation = await explain(this.text, request.signal);
      performance.mark("adasent:answer");
      this.say("");
      this.setExplanation(explanation);
      requestAnimationFrame(() => setTimeout(() => {
        performance.measure("adasent:draw", "adasent:answer");
      }));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof ServiceError)) throw error;
      this.say(error.message, "error");
      this.on.failure();
      if (error.retrySeconds) this.timer = setTimeout(() => this.ask(), 1000 * error.retrySeconds);
    } finally {
      if (this.request === request) this.root.removeAttribute("aria-busy");
    }
  }

  say(message, kind = "") {
    const line = this.find(".message");
    if (line.textContent !== message) line.textContent = message;
    line.hidden = !message;
    line.classList.toggle("hint", kind === "hint");
    this.root.classList.toggle("stale", kind === "error");
  }

  setExplanation(explanation) {
    this.explanation = explanation;
    this.find(".answer").hidden = !explanation;
    this.on.answer();
  }

  // largest: the unit score painted in full; changed: tokens that differ from the other card's.
  draw(largest, changed) {
    const found = this.explanation;
    if (!found) return;
    const best = found.classes.indexOf(found.predicted);
    this.find(".verdict").replaceChildren(
      html("strong", { "--colour": classColour(best) }, String(found.predicted)),
      ` ${percent(found.probabilities[best])}`,
      ...(found.truncated ? [html("span", { class: "note" }, ` only the first ${found.tokens.length} of ${found.n_words} words were read`)] : []));
    this.find(".classes").replaceChildren(...classBars(found.classes, found.probabilities));
    this.drawWords(changed);
    const scroll = this.find(".scroll");
    const width = scroll.clientWidth;
    this.drawLevels(rowHeight(found.beliefs.length, width));
    scroll.replaceChildren(drawPyramid(found, {
      width, largest, changed,
      on: { show: (t, j) => this.showUnit(t, j), hide: () => this.hideUnit() },
    }));
    this.find(".phrases div").replaceChildren(...phraseDetails(found));
    this.hideUnit();
    this.showLevel(this.level !== null && this.level < found.beliefs.length ? this.level : null);
  }

  drawWords(changed) {
    const { text, offsets, words } = this.explanation;
    const largest = Math.max(0, ...words.map((score) => leaning(score).value));
    let end = 0;
    const parts = [];
    offsets.forEach(([start, stop], k) => {
      const { index, value } = leaning(words[k]);
      parts.push(slice(text, end, start), html("button", {
        type: "button", class: changed?.[k] ? "token changed" : "token",
        "--colour": classColour(index), "--strength": strength(value, largest),
        title: "Replace this word and see the difference",
      }, slice(text, start, stop)));
      parts.at(-1).addEventListener("click", () => this.editForm.open(k));
      end = stop;
    });
    parts.push(slice(text, end));
    this.find(".words").replaceChildren(...parts);
  }

  drawLevels(row) {
    const { beliefs, contributions, classes } = this.explanation;
    const most = Math.max(...beliefs);
    const rows = beliefs.map((belief, t) => {
      const stack = html("span", { class: "stack" }, ...classes.map((_, c) => html("span", {
        "--share": contributions[t][c] / most, "--colour": classColour(c),
      })));
      const button = html("button", {
        type: "button", "aria-pressed": "false",
        "aria-label": `Level ${t + 1}, belief ${percent(belief)}`, title: `Level ${t + 1}: belief ${percent(belief)}`,
      }, html("span", { class: "number" }, String(t + 1)), stack,
      html("span", { class: "value" }, percent(belief)));
      button.addEventListener("click", () => this.showLevel(this.level === t ? null : t));
      return button;
    });
    const levels = this.find(".levels");
    levels.style.setProperty("--row", `${row}px`);
    levels.classList.toggle("dense", row < 14);
    levels.replaceChildren(...rows.reverse());
  }

  showUnit(t, j) {
    this.find(".unit div").replaceChildren(...unitDetails(this.explanation, t, j));
  }

  hideUnit() {
    this.find(".unit div").replaceChildren(
      html("p", { class: "note" }, "Point at a unit or tap it, or Tab to the pyramid and use the arrow keys."));
  }

  showLevel(level) {
    this.level = level;
    const buttons = [...this.find(".levels").children].reverse();
    buttons.forEach((button, t) => button.setAttribute("aria-pressed", String(t === level)));
    this.root.querySelectorAll(".pyramid .unit").forEach((unit) => {
      unit.classList.toggle("faded", level !== null && Number(unit.dataset.level) !== level);
    });
    this.find(".level div").replaceChildren(...(level === null
      ? [html("p", { class: "note" }, "Choose a level to see its vote.")]
      : levelDetails(this.explanation, level)));
  }
}

// Replace one word of a card's sentence and see the difference beside it, while typing.
class WordEdit {
  constructor(card) {
    this.card = card;
    this.form = card.find(".edit");
    this.input = this.form.querySelector("input");
    this.input.addEventListener("input", () => this.show(this.input.value));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.close();
    });
    this.form.querySelector(".drop").addEventListener("click", () => {
      this.show("");
      this.close();
    });
    this.form.querySelector(".cancel").addEventListener("click", () => {
      this.card.on.edit(null);
      this.close();
    });
    this.form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.form.querySelector(".cancel").click();
    });
  }

  open(index) {
    const { text, offsets } = this.card.explanation;
    this.index = index;
    this.text = text;
    this.offsets = offsets[index];
    const word = slice(text, ...this.offsets);
    this.form.querySelector("label span").textContent = `Replace “${word}” by`;
    this.form.hidden = false;
    this.input.value = word;
    this.input.focus();
    this.input.select();
  }

  show(replacement) {
    this.card.on.edit(replaceWord(this.text, this.offsets, replacement));
  }

  close() {
    this.form.hidden = true;
    (this.card.root.querySelectorAll(".token")[this.index] ?? this.card.input).focus();
  }
}
