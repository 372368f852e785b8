// The texts that are given, as pasted lines or as a CSV file: their rows, and which cell is the text.

import { guessSeparator, parseCsv } from "./csv.js";
import { counted, html } from "./dom.js";

const MOST_READ = 200_000; // characters of a pasted text that are read to see whether it is a table
const TEXT_NAMES = ["text", "sentence", "review", "question", "comment", "content", "message", "body"];
const find = (id) => document.getElementById(id);
const isTextName = (name) => TEXT_NAMES.includes(name.trim().toLowerCase());

export class Source {
  constructor() {
    this.asTable = find("as-table").querySelector("input");
    this.takePasted(find("lines").value); // a browser may bring back what was there before
    this.takeFile(find("file").files[0]); // one that was chosen before the page was ready
    find("lines").addEventListener("input", () => {
      find("file").value = "";
      this.takePasted(find("lines").value);
    });
    this.asTable.addEventListener("change", () => this.readPasted(find("lines").value));
    find("file").addEventListener("change", () => this.takeFile(find("file").files[0]));
    const area = find("many").querySelector(".drop");
    area.addEventListener("dragover", (event) => event.preventDefault());
    area.addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return; // a dragged text, which the box takes itself
      event.preventDefault();
      this.takeFile(event.dataTransfer.files[0]);
    });
    find("header").addEventListener("change", () => this.offerColumns(this.column));
    find("column").addEventListener("change", () => this.preview());
  }

  get hasHeader() {
    return this.isTable && find("header").checked;
  }

  // Cells of each row but that of names.
  get rows() {
    return this.hasHeader ? this.all.slice(1) : this.all;
  }

  get column() {
    return this.isTable ? Number(find("column").value) : 0;
  }

  get names() {
    const width = this.all.reduce((most, cells) => Math.max(most, cells.length), 0);
    const given = this.hasHeader ? this.all[0] : [];
    return Array.from({ length: width }, (_, c) =>
      given[c]?.trim() || (this.isTable ? `column ${c + 1}` : "text"));
  }

  // Lines or a table: a guess, which can be put right.
  takePasted(text) {
    const guess = guessTable(text.slice(0, MOST_READ));
    find("as-table").hidden = guess === null;
    this.asTable.checked = guess === true;
    this.readPasted(text);
  }

  readPasted(text) {
    if (this.asTable.checked) this.takeTable(text, "Pasted table", []);
    else this.takeLines(text);
  }

  takeLines(text) {
    const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
    if (!lines.at(-1)) lines.pop(); // the end of the last line
    const rows = lines.filter((line) => line.trim()).map((line) => [line]);
    Object.assign(this, { all: rows, separator: ",", isTable: false });
    find("table").hidden = true;
    remark(blank(lines.length - rows.length, "line"));
  }

  async takeFile(file) {
    if (!file) return;
    const { text, remarks } = await decode(file);
    find("lines").value = "";
    if (/\.txt$/i.test(file.name)) {
      find("lines").value = text;
      this.takePasted(text);
      remark([...remarks, find("remarks").textContent].filter(Boolean));
    } else {
      find("as-table").hidden = true;
      this.takeTable(text, file.name, remarks);
    }
  }

  takeTable(text, name, remarks) {
    const separator = guessSeparator(text);
    const { rows, nBlank, openRow } = parseCsv(text, separator);
    Object.assign(this, { all: rows, separator, isTable: true });
    const first = rows[0] ?? [];
    find("header").checked = hasNames(rows);
    find("table").hidden = !rows.length;
    find("table").querySelector("legend").textContent = name;
    this.offerColumns(this.likelyColumn());
    const odd = rows.filter((cells) => cells.length !== first.length).length;
    remark([...remarks, ...blank(nBlank, "row"),
      ...(rows.length ? [] : ["The table is empty."]),
      ...(openRow ? [`A quote that opens in row ${openRow} is never closed; all after it is one cell.`] : []),
      ...(odd ? [`Not as many cells as the first row: ${counted(odd, "row")}. Is each text that holds `
        + "a separator in quotes?"] : [])]);
  }

  // The one with a usual name, or else that with most to read.
  likelyColumn() {
    const usual = this.names.findIndex(isTextName);
    if (usual >= 0) return usual;
    const sizes = this.names.map((_, c) => this.rows.reduce((sum, cells) => sum + (cells[c]?.length ?? 0), 0));
    return sizes.indexOf(Math.max(...sizes));
  }

  offerColumns(chosen) {
    find("column").replaceChildren(...this.names.map((name, c) => html("option", { value: c }, name)));
    find("column").value = chosen;
    this.preview();
  }

  preview() {
    const text = this.rows[0]?.[this.column] ?? "";
    const start = text.length > 80 ? `${text.slice(0, 80)}…` : text;
    find("preview").textContent = `${counted(this.rows.length, "row")}; the first text: “${start}”`;
  }
}

// Whether a pasted text is a table: true, false, or null where there is nothing to ask. Sentences have
// commas and quotes, too; what they seldom have is the name of a column in the first line, a cell
// in quotes that spans lines, or as many tabs or semicolons in each line.
function guessTable(text) {
  const separator = guessSeparator(text);
  const { rows, openRow } = parseCsv(text, separator);
  const width = rows[0]?.length ?? 0;
  const nLines = text.split(/\r\n|\n|\r/).filter((line) => line.trim()).length;
  const isNamed = rows.length > 1 && rows[0].some(isTextName);
  if (width < 2 && !isNamed && rows.length === nLines) return null;
  const isEven = rows.length > 1 && rows.every((cells) => cells.length === width);
  return isNamed || (isEven && width > 1 && (separator !== "," || (rows.length < nLines && openRow === null)));
}

// Whether the first row is of names: a usual one, or else cells that look like names and that do not
// occur again below, as labels would.
function hasNames([first, ...rest]) {
  if (!first) return false;
  const isName = (cell, c) => cell.trim() && cell.length < 30 && !/\d/.test(cell)
    && cell.trim().split(/\s+/).length < 4 && !rest.some((cells) => cells[c] === cell);
  return first.some(isTextName) || (rest.length > 0 && first.every(isName));
}

async function decode(file) {
  const bytes = await file.arrayBuffer();
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), remarks: [] };
  } catch {
    const text = new TextDecoder("windows-1252").decode(bytes);
    return { text, remarks: ["The file is not UTF-8; it was read as Windows-1252."] };
  }
}

function blank(n, noun) {
  return n ? [`Left out: ${counted(n, `blank ${noun}`)}.`] : [];
}

function remark(remarks) {
  find("remarks").textContent = remarks.join(" ");
  find("remarks").hidden = !remarks.length;
}
