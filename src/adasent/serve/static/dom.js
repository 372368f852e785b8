// Elements from names and texts. Text is only ever set as text, so markup in it stays text.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("--")) node.style.setProperty(name, value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A share for reading: never rounded to all or nothing.
export function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.05) return "<0.1 %";
  if (value > 99.95 && value < 100) return ">99.9 %";
  const close = (value > 99 && value < 100) || (value < 1 && value > 0);
  return `${value.toFixed(close ? 1 : 0)} %`;
}

export function points(change) {
  const value = 100 * change;
  const shown = Math.abs(value).toFixed(1);
  return `${shown === "0.0" ? "" : value > 0 ? "+" : "−"}${shown}`;
}
