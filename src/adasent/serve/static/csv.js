// CSV to rows of cells and back: RFC 4180 with any separator, as spreadsheets write and read it.

const SEPARATORS = [",", ";", "\t"];

// The separator that the first row has most of, outside quotes.
export function guessSeparator(text) {
  const counts = SEPARATORS.map((separator) => parseCsv(text, separator, 1).rows[0]?.length ?? 0);
  return SEPARATORS[counts.indexOf(Math.max(...counts))];
}

// rows: cells of each row that is not blank; nBlank: blank ones; openRow: the row, counted from 1,
// whose quote is never closed, or null.
export function parseCsv(text, separator, most = Infinity) {
  const rows = [];
  let [cells, cell, quoted, nBlank] = [[], "", false, 0];
  const endRow = () => {
    cells.push(cell);
    if (cells.length === 1 && !cell.trim()) nBlank++;
    else rows.push(cells);
    [cells, cell] = [[], ""];
  };
  let i = text.startsWith("\ufeff") ? 1 : 0;
  for (; i < text.length && rows.length < most; i++) {
    const character = text[i];
    if (quoted) {
      if (character !== '"') cell += character;
      else if (text[i + 1] === '"') cell += text[++i];
      else quoted = false;
    } else if (character === '"' && !cell) quoted = true;
    else if (character === separator) {
      cells.push(cell);
      cell = "";
    } else if (character === "\n" || character === "\r") {
      if (character === "\r" && text[i + 1] === "\n") i++;
      endRow();
    } else cell += character;
  }
  const openRow = quoted ? rows.length + 1 : null;
  if (rows.length < most && (cell || cells.length)) endRow();
  return { rows, nBlank, openRow };
}

// safe: an apostrophe before cells that a spreadsheet would take for a formula.
export function writeCsv(rows, separator, safe) {
  const write = (value) => {
    const plain = String(value);
    const cell = safe && isFormula(plain) ? `'${plain}` : plain;
    return /["\r\n]/.test(cell) || cell.includes(separator) || cell.trim() !== cell
      ? `"${cell.replaceAll('"', '""')}"` : cell;
  };
  // The mark in front tells spreadsheets that the file is UTF-8.
  return `\ufeff${rows.map((cells) => `${cells.map(write).join(separator)}\r\n`).join("")}`;
}

function isFormula(cell) {
  return /^[=+\-@\t\r]/.test(cell) && !/^[+-]?[\d.,]+(e[+-]?\d+)?$/i.test(cell);
}
