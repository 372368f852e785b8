// The OpenAPI description of the service as a page: what can be asked, what comes back, and a try.

import { html } from "./dom.js";

const TEXTS = ["what a lovely film", "I am not happy"];

async function main() {
  const page = document.getElementById("operations");
  const response = await fetch("/openapi.json").catch(() => null);
  if (!response?.ok) {
    page.append(html("p", { class: "message", role: "alert" }, "The service does not answer. Reload this page when it is back."));
    return;
  }
  const description = await response.json();
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      page.append(section(description, method.toUpperCase(), path, operation));
    }
  }
}

function section(description, method, path, operation) {
  const body = operation.requestBody?.content["application/json"].schema;
  const parts = [html("h2", {}, `${method} ${path}`), html("p", {}, operation.description ?? operation.summary)];
  if (body) parts.push(html("h3", {}, "Body, application/json"), html("pre", {}, shape(description, body)));
  const rows = Object.entries(operation.responses).map(([status, answer]) => html("tr", {},
    html("th", { scope: "row" }, status), html("td", {}, answer.description)));
  parts.push(html("h3", {}, "Answers"), html("table", {}, html("tbody", {}, ...rows)));
  const schema = operation.responses["200"]?.content?.["application/json"]?.schema;
  if (schema) {
    parts.push(html("details", {}, html("summary", {}, "Shape of the answer"),
      html("pre", {}, shape(description, schema))));
  }
  parts.push(...trial(method, path, body && example(body)));
  return html("section", { class: "operation" }, ...parts);
}

// A schema as an example-like sketch: names, types, and what they mean.
function shape(description, schema, indent = "") {
  if (schema.$ref) return shape(description, description.components.schemas[schema.$ref.split("/").pop()], indent);
  if (schema.anyOf) return [...new Set(schema.anyOf.map((one) => shape(description, one, indent)))].join(" | ");
  if (schema.properties) {
    const inner = `${indent}  `;
    const lines = Object.entries(schema.properties).map(([name, value]) =>
      `${inner}"${name}": ${shape(description, value, inner)}${value.description ? `  // ${value.description}` : ""}`);
    return `{\n${lines.join("\n")}\n${indent}}`;
  }
  if (schema.prefixItems) return `[${schema.prefixItems.map((item) => shape(description, item, indent)).join(", ")}]`;
  if (schema.type === "array") return `[${shape(description, schema.items, indent)}, …]${bounds(schema.minItems, schema.maxItems)}`;
  return `${schema.const ? `"${schema.const}"` : schema.type ?? "any"}${bounds(schema.minLength, schema.maxLength)}`;
}

function bounds(least, most) {
  return most === undefined ? "" : ` (${least ?? 1} to ${most})`;
}

// A body to begin with.
function example({ properties }) {
  if (properties.texts) return { texts: TEXTS };
  return { text: TEXTS[0], label: properties.label.enum[0] };
}

function trial(method, path, body) {
  const input = html("textarea", { rows: 2, "aria-label": `Body for ${path}`, spellcheck: "false" });
  input.value = JSON.stringify(body ?? null);
  const output = html("pre", { "aria-live": "polite", hidden: "" });
  const button = html("button", { type: "button" }, `Try ${path}`);
  button.addEventListener("click", async () => {
    const options = body
      ? { method, body: input.value, headers: { "Content-Type": "application/json" } } : { method };
    try {
      const response = await fetch(path, options);
      const text = await response.text();
      const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
      output.textContent = `${response.status}\n${isJson ? JSON.stringify(JSON.parse(text), null, 1) : text}`;
    } catch {
      output.textContent = "The service does not answer.";
    }
    output.hidden = false;
  });
  return [...(body ? [html("h3", {}, "Try it"), input] : []), button, output];
}

main();
