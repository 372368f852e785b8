// Requests to the service; errors say what to show and when to try again.

import { ServiceError } from "./errors.js";

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError(
      "The service does not answer. Is adasent serve still running? This page tries again by itself.", 2);
  }
  const value = await response.json().catch(() => null);
  if (response.ok && value !== null) return value;
  const reason = value?.error ?? `the service answered with status ${response.status}`;
  const after = Number(response.headers.get("Retry-After"));
  throw new ServiceError(`Not done: ${reason}.`, after > 0 ? after : null, response.status);
}

function post(path, value, signal) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(value), signal });
}

export function model() {
  return ask("/v1/model");
}

export async function explain(text, signal) {
  return (await post("/v1/explain", { texts: [text.toWellFormed()] }, signal)).explanations[0];
}

export async function predict(texts, signal) {
  return (await post("/v1/predict", { texts: texts.map((text) => text.toWellFormed()) }, signal)).predictions;
}

export function sendFeedback(text, label) {
  return post("/v1/feedback", { text, label });
}
