// One sentence: its text, its answer, its picture; asks the service when the text changes.

import { explain, predict } from "./api.js";
import { leaning, paint } from "./colours.js";
import { classBars, levelButton, levelDetails, unitDetails } from "./details.js";
import { counted, html, points } from "./dom.js";
import { ServiceError } from "./errors.js";
import { Feedback } from "./feedback.js";
import { drawLegend } from "./legend.js";
import { drawPyramid, rowHeight } from "./pyramid.js";
import { drawAnswer, drawReasons, drawVerdict } from "./reasons.js";
import { replaceWord, slice } from "./text.js";

const TYPING_PAUSE = 120; // milliseconds without a key before the service is asked

export class Card {
  // on.text(): the text changed; on.answer(): an explanation came or went; on.failure(): what is
  // drawn is not of this text; on.edit(text): show this variant of the sentence beside it.
  constructor(name, known, on) {
    this.on = on;
    this.known = known;
    this.explanation = null;
    this.level = null;
    const template = document.getElementById("card");
    this.root = template.content.firstElementChild.cloneNode(true);
    this.find("h2").textContent = name;
    this.input = this.find("textarea");
    this.input.setAttribute("aria-label", name);
    this.find(".words").setAttribute("aria-label", "Words; choose one to replace it");
    this.find(".levels").setAttribute("aria-label", "Lengths of phrases; choose one to see what it says");
    this.input.addEventListener("input", () => this.changed());
    this.editForm = new WordEdit(this);
    this.feedback = known.feedback ? new Feedback(this.find(".feedback")) : null;
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

  // Texts to try, each a button.
  offer(examples) {
    const list = this.find(".examples");
    list.hidden = !examples.length;
    list.replaceChildren(...examples.map(({ text }) => {
      const button = html("button", { type: "button", dir: "auto" }, text);
      button.addEventListener("click", () => this.setText(text));
      return html("li", {}, button);
    }));
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
      await this.answer(this.text, request.signal);
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

  // Of a text that is too long to explain, the answer alone.
  async answer(text, signal) {
    const { max_chars: mostCharacters, max_explained_words: mostWords } = this.known.limits;
    const size = Array.from(text).length;
    if (size > mostCharacters) {
      throw new ServiceError(`Not done: this text has ${counted(size, "character")}; at most `
        + `${mostCharacters.toLocaleString("en")} are read.`);
    }
    try {
      const explanation = await explain(text, signal);
      this.say("");
      this.setExplanation(explanation);
    } catch (error) {
      if (error.status !== 413) throw error;
      const [found] = await predict([text], signal);
      this.say(`The answer alone: this text has ${counted(found.n_words, "word")}, and reasons are given for up `
        + `to ${mostWords.toLocaleString("en")}.`, "hint");
      this.setAlone(text, found);
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
    this.root.classList.remove("alone");
    this.find(".answer").hidden = !explanation;
    this.on.answer();
  }

  setAlone(text, found) {
    const { classes, max_words: nRead } = this.known;
    this.explanation = null;
    this.root.classList.add("alone");
    this.find(".answer").hidden = false;
    this.find(".verdict").replaceChildren(...drawAnswer(found, classes, nRead));
    this.find(".classes").replaceChildren(...classBars(classes, found.probabilities));
    this.feedback?.show({ text, classes, predicted: found.label });
    this.on.answer();
  }

  // most: the scores painted in full, of each kind of part; changed: tokens that differ from the
  // other card's.
  draw(most, changed) {
    const found = this.explanation;
    if (!found) return;
    this.find(".verdict").replaceChildren(...drawVerdict(found));
    this.find(".reasons").replaceChildren(...drawReasons(found));
    this.find(".classes").replaceChildren(...classBars(found.classes, found.probabilities, 6, found.base));
    this.feedback?.show(found);
    this.drawWords(most.words, changed);
    this.drawUnknown();
    const phrases = found.units.flat().map((unit) => unit.score);
    const painted = [found.words, [...phrases, ...found.level_scores]];
    this.root.querySelectorAll(".legend").forEach((legend, i) => {
      legend.replaceChildren(...drawLegend(found.classes, painted[i]));
    });
    const scroll = this.find(".scroll");
    const width = scroll.clientWidth;
    this.drawLevels(rowHeight(found.beliefs.length, width), most.levels);
    scroll.replaceChildren(drawPyramid(found, {
      width, most, changed,
      on: { show: (t, j) => this.showUnit(t, j), hide: () => this.hideUnit() },
    }));
    this.find(".sideways").hidden = scroll.scrollWidth <= scroll.clientWidth;
    this.hideUnit();
    this.showLevel(this.level !== null && this.level < found.beliefs.length ? this.level : null);
  }

  drawWords(most, changed) {
    const { text, offsets, words, classes, known } = this.explanation;
    let end = 0;
    const parts = [];
    offsets.forEach(([start, stop], k) => {
      const { index, value } = leaning(words[k]);
      const adds = `${points(value)} points for ${classes[index]}${known[k] ? "" : "; a word that the model does not know"}`;
      parts.push(slice(text, end, start), html("button", {
        type: "button",
        class: ["token", ...(changed?.[k] ? ["changed"] : []), ...(known[k] ? [] : ["new"])].join(" "),
        ...paint(words[k], most), title: `${adds}. Choose it to replace it and see the difference.`,
      }, slice(text, start, stop)));
      parts.at(-1).addEventListener("click", () => this.editForm.open(k));
      end = stop;
    });
    parts.push(slice(text, end));
    this.find(".words").replaceChildren(...parts);
  }

  drawUnknown() {
    const { known, n_words: nWords } = this.explanation;
    const nNew = known.filter((one) => !one).length;
    const note = this.find(".unknown");
    note.hidden = !nNew;
    if (!nWords) note.textContent = "The model found no word here; this is what it says of an unknown one.";
    else if (nNew === known.length) {
      note.textContent = "The model knows none of these words: it says this of any unknown ones in their place.";
    } else {
      note.replaceChildren(html("span", { class: "token new" }, "Underlined"),
        nNew === 1 ? ": a word that the model does not know." : `: ${nNew} words that the model does not know.`);
    }
  }

  drawLevels(row, most) {
    const rows = this.explanation.beliefs.map((_, t) => levelButton(this.explanation, t, most, () => {
      this.showLevel(this.level === t ? null : t);
    }));
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
      html("p", { class: "note" }, "Point at a box of the pyramid or tap it, or Tab to it and use the arrow keys."));
  }

  showLevel(level) {
    this.level = level;
    const buttons = [...this.find(".levels").children].reverse();
    buttons.forEach((button, t) => button.setAttribute("aria-pressed", String(t === level)));
    this.root.querySelectorAll(".pyramid .unit").forEach((unit) => {
      unit.classList.toggle("faded", level !== null && Number(unit.dataset.level) !== level);
    });
    this.find(".level div").replaceChildren(...(level === null
      ? [html("p", { class: "note" }, "Choose a row to see what phrases of its length say.")]
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
    this.form.querySelector(".drop-word").addEventListener("click", () => {
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
