// "Wrong? The right label is …": sends the right label of a card's sentence, if the service keeps it.

import { sendFeedback } from "./api.js";
import { html } from "./dom.js";
import { ServiceError } from "./errors.js";

export class Feedback {
  constructor(form) {
    this.form = form;
    [this.select, this.button, this.status] = ["select", "button", "p"].map((tag) => form.querySelector(tag));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.select.addEventListener("change", () => this.enable());
  }

  show({ text, classes, predicted }) {
    if (text === this.text) return; // drawn again in another width
    Object.assign(this, { text, classes });
    this.form.hidden = false;
    this.select.replaceChildren(html("option", { value: "" }, "…"),
      ...classes.map((label, c) => html("option", { value: c }, String(label)))
        .filter((_, c) => classes[c] !== predicted));
    this.status.textContent = "";
    this.enable();
  }

  enable() {
    this.button.disabled = this.select.value === "";
  }

  async send() {
    const { text } = this;
    const label = this.classes[Number(this.select.value)];
    this.button.disabled = true;
    let said;
    try {
      await sendFeedback(text, label);
      said = `Thank you. Stored for the next training: ${label}.`;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      said = error.message;
      this.enable();
    }
    if (text === this.text) this.status.textContent = said;
  }
}
