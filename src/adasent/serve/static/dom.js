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
export function percent(share, digits = null) {
  const value = 100 * share;
  if (value > 0 && value < 0.05) return "<0.1 %";
  if (value > 99.95 && value < 100) return ">99.9 %";
  const close = (value > 99 && value < 100) || (value < 1 && value > 0);
  return `${value.toFixed(digits ?? (close ? 1 : 0))} %`;
}

// A change of a probability in points; tenths takes whole tenths of a point.
export function points(change) {
  return tenths(Math.round(1000 * change));
}

export function tenths(value) {
  return `${value ? (value > 0 ? "+" : "−") : ""}${(Math.abs(value) / 10).toFixed(1)}`;
}

export function counted(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
