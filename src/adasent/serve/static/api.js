// Requests to the service; errors say what to show and when to try again.

export class ServiceError extends Error {
  constructor(message, retrySeconds = null) {
    super(message);
    this.retrySeconds = retrySeconds;
  }
}

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
  const reason = `Not drawn: ${value?.error ?? `the service answered with status ${response.status}`}.`;
  const after = Number(response.headers.get("Retry-After"));
  throw new ServiceError(reason, after > 0 ? after : null);
}

export function model() {
  return ask("/v1/model");
}

export async function explain(text, signal) {
  const body = JSON.stringify({ texts: [text] });
  const headers = { "Content-Type": "application/json" };
  const answer = await ask("/v1/explain", { method: "POST", headers, body, signal });
  return answer.explanations[0];
}
