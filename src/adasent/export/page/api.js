// The answers of the page in one file: computed here, in a worker, with the model that the file holds.
// To the page it is what serve/static/api.js is to the page of a service.

import { ServiceError } from "./errors.js";

const held = (id) => document.getElementById(id).textContent;
const known = JSON.parse(held("held-known"));
const waiting = new Map(); // id -> {resolve, reject}
let [worker, count] = [null, 0];

function start() {
  const source = URL.createObjectURL(new Blob([held("held-worker")], { type: "text/javascript" }));
  const started = new Worker(source);
  started.addEventListener("message", ({ data: { id, value, error } }) => {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error) reject?.(new ServiceError(`Not done: ${error.message}.`, null, error.status));
    else resolve?.(value);
  });
  started.addEventListener("error", (event) => {
    const message = `Not done: the page cannot compute in this browser (${event.message || "no worker"}).`;
    for (const { reject } of waiting.values()) reject(new ServiceError(message));
    waiting.clear();
  });
  started.postMessage({ model: held("held-model"), weights: held("held-weights") });
  return started;
}

async function ask(kind, value, signal) {
  signal?.throwIfAborted();
  worker ??= start();
  const id = count++;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, kind, value });
    signal?.addEventListener("abort", () => {
      if (!waiting.delete(id)) return;
      worker.postMessage({ cancel: id });
      reject(signal.reason);
    });
  });
}

export async function model() {
  return known;
}

export function explain(text, signal) {
  return ask("explain", text.toWellFormed(), signal);
}

export function predict(texts, signal) {
  return ask("predict", texts.map((text) => text.toWellFormed()), signal);
}

// Nobody asks: the model says that there is no feedback.
export async function sendFeedback() {
  throw new ServiceError("Not done: a page in one file has nowhere to keep it.");
}
