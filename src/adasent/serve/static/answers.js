// The answers to many texts as a table, sorted as one likes, and as a CSV file.

import { classColour } from "./colours.js";
import { writeCsv } from "./csv.js";
import { html, percent } from "./dom.js";
import { first, has, named } from "./labels.js";

const PER_PAGE = 100; // rows
const COLUMNS = [["row", "Row"], ["text", "Text"], ["label", "Answer"], ["confidence", "Confidence"], ["note", "Note"]];
const ADDED = ["predicted", "confidence", "note"];
const root = document.getElementById("answers");
const find = (id) => document.getElementById(id);

export class Answers {
  // open(text): show why.
  constructor(classes, open) {
    Object.assign(this, { classes, open, items: [] });
    find("more").addEventListener("click", () => {
      this.shown += PER_PAGE;
      this.draw();
    });
    find("download").addEventListener("click", () => this.download());
  }

  // items: {row, cells, text, label, confidence, note}, label and confidence null where there is no
  // answer; names, separator: of the table that the cells are from.
  show(items, names, separator) {
    Object.assign(this, { items, names, separator, by: "row", down: false, shown: PER_PAGE });
    this.draw();
  }

  draw() {
    root.hidden = false;
    this.drawCounts();
    const columns = COLUMNS.filter(([name]) => name !== "note" || this.items.some((item) => item.note));
    root.querySelector("thead tr").replaceChildren(...columns.map((column) => this.heading(...column)));
    const rows = this.sorted().slice(0, this.shown);
    root.querySelector("tbody").replaceChildren(...rows.map((item) => this.row(item, columns)));
    find("more").hidden = this.items.length <= this.shown;
    find("more").textContent = `Show more: ${this.shown} of ${this.items.length.toLocaleString("en")} are shown`;
  }

  // Texts without an answer come last, or first where the order is turned.
  sorted() {
    const value = {
      row: (item) => item.row,
      label: (item) => (item.label === null ? Infinity : this.classes.indexOf(first(item.label))),
      confidence: (item) => item.confidence ?? Infinity,
    }[this.by];
    const sign = this.down ? -1 : 1;
    const compare = (a, b) => (value(a) === value(b) ? a.row - b.row : sign * (value(a) < value(b) ? -1 : 1));
    return [...this.items].sort(compare);
  }

  heading(name, title) {
    if (name === "text" || name === "note") return html("th", { scope: "col" }, title);
    const button = html("button", { type: "button", "data-column": name }, title);
    button.addEventListener("click", () => {
      this.down = this.by === name && !this.down;
      this.by = name;
      this.draw();
      root.querySelector(`[data-column=${name}]`).focus();
    });
    const sort = this.by !== name ? "none" : this.down ? "descending" : "ascending";
    return html("th", { scope: "col", "aria-sort": sort }, button);
  }

  row(item, columns) {
    const none = item.label === null;
    const cells = {
      row: () => html("td", {}, (item.row + 1).toLocaleString("en")),
      text: () => html("td", {}, html("button", { type: "button", title: "See why" }, item.text)),
      label: () => (none ? html("td", {}, "–")
        : html("td", {}, html("span", this.swatch(item.label), named(item.label)))),
      confidence: () => html("td", {}, none ? "–" : percent(item.confidence)),
      note: () => html("td", { class: "note" }, item.note),
    };
    const row = html("tr", {}, ...columns.map(([name]) => cells[name]()));
    row.addEventListener("click", () => this.open(item.text));
    return row;
  }

  swatch(label) {
    return { class: "swatch", "--colour": classColour(this.classes.indexOf(first(label))) };
  }

  drawCounts() {
    const count = (label) => this.items.filter((item) => has(item.label, label)).length;
    const entries = this.classes.map((label) => [count(label), label, this.swatch(label)]);
    entries.push([count(null), "without an answer", {}]);
    find("counts").replaceChildren(...entries.filter(([n]) => n).map(([n, name, attributes]) =>
      html("li", attributes, `${name} ${n.toLocaleString("en")}`)));
  }

  // All columns that there were, whatever order and part the table shows.
  download() {
    const { items, names, separator } = this;
    const rows = items.map((item) => [
      ...names.map((_, c) => item.cells[c] ?? ""),
      [item.label ?? ""].flat().join("|"), item.confidence?.toFixed(6) ?? "", item.note]);
    const head = [...names, ...ADDED.map((name) => free(name, names))];
    const text = writeCsv([head, ...rows], separator, find("safe").checked);
    const link = html("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: "answers.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
}

// A name that no column has yet.
function free(name, taken) {
  let [found, n] = [name, 2];
  while (taken.includes(found)) found = `${name} ${n++}`;
  return found;
}
