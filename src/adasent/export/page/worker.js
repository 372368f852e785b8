// Computes beside the page, a slice at a time, so that what is no longer wanted can be given up.
//
// In: first {model, weights}; then {id, kind, value} for each piece of work, or {cancel: id}.
// Out: {id, value}, or {id, error: {message, status}}.

import { Reader, Refusal } from "./reader.js";

const SLICE = 40; // milliseconds
const cancelled = new Set();
const running = new Set();
let reader = null;

class Cancelled extends Error {}

const work = {
  explain: (text, pause) => reader.explain(text, pause),
  async predict(texts, pause) {
    const found = [];
    for (const text of texts) {
      found.push(await reader.predict(text, pause));
      await pause();
    }
    return found;
  },
};

// Between slices, messages are read.
function pauseOf(id) {
  let start = performance.now();
  return async () => {
    if (performance.now() - start < SLICE) return;
    await new Promise((resolve) => setTimeout(resolve));
    start = performance.now();
    if (cancelled.has(id)) throw new Cancelled();
  };
}

async function run({ id, kind, value }) {
  running.add(id);
  try {
    self.postMessage({ id, value: await work[kind](value, pauseOf(id)) });
  } catch (error) {
    if (error instanceof Cancelled) return;
    const message = error instanceof Refusal ? error.message : `internal error: ${error}`;
    self.postMessage({ id, error: { message, status: error.status ?? null } });
  } finally {
    running.delete(id);
    cancelled.delete(id);
  }
}

self.addEventListener("message", ({ data }) => {
  if ("model" in data) reader = new Reader(JSON.parse(data.model), data.weights);
  else if ("cancel" in data) {
    if (running.has(data.cancel)) cancelled.add(data.cancel);
  } else run(data);
});
