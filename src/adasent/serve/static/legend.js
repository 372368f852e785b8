// Which class a colour is: beside the words, and again beside the pyramid, which may be a screen away.

import { classColour, leaning } from "./colours.js";
import { html } from "./dom.js";

const MOST = 8; // classes of a legend that names all of them, whether they occur or not
const NAMED = 4; // classes of one colour that are named

// scores: of the parts that are painted; of many classes only those that they add most to are named.
// Where there are more classes than colours, some share one.
export function drawLegend(classes, scores) {
  const all = classes.map((_, c) => c);
  const painted = new Set(scores.map(leaning).filter(({ value }) => value > 0).map(({ index }) => index));
  const named = classes.length <= MOST ? all : all.filter((c) => painted.has(c));
  const entries = [...new Set(named.map(classColour))].map((colour) => {
    const names = named.filter((c) => classColour(c) === colour).map((c) => String(classes[c]));
    return html("li", { class: "swatch", "--colour": colour }, nameAll(names));
  });
  const nColours = new Set(all.map(classColour)).size;
  const shared = nColours < classes.length ? `; ${classes.length} classes share ${nColours} colours` : "";
  return [
    html("ul", {}, ...entries),
    html("p", { class: "note" },
      html("span", { class: "scale", "aria-hidden": "true" }, ...[1, 2, 3, 4].map(() => html("span"))),
      ` stronger: adds more to its class${shared}`),
  ];
}

function nameAll(names) {
  const rest = names.length - NAMED;
  return rest > 0 ? `${names.slice(0, NAMED).join(" or ")} or ${rest} more` : names.join(" or ");
}
