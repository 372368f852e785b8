// Many texts: asks the service about them, some at a time, within its limits.

import { predict } from "./api.js";
import { Answers } from "./answers.js";
import { counted } from "./dom.js";
import { ServiceError } from "./errors.js";
import { Source } from "./source.js";

const PER_REQUEST = 200; // texts, so that there is progress to see
const AROUND = 100; // bytes of a body beside its texts, and to spare
const find = (id) => document.getElementById(id);

// known: what /v1/model says; open(text): show why.
export function startMany(known, open) {
  const { limits } = known;
  const source = new Source();
  const answers = new Answers(known.classes, open);
  let stopping = null; // an AbortController while texts are asked about

  find("start").addEventListener("click", async () => {
    const { names, separator, rows, column } = source;
    const items = rows.map((cells, row) => {
      const text = cells[column] ?? "";
      return { row, cells, text, label: null, confidence: null, note: refusal(text) };
    });
    find("answers").hidden = true;
    if (!items.length) {
      find("state").textContent = "There are no texts yet.";
      return;
    }
    stopping = new AbortController();
    busy(true);
    await askAll(items, stopping.signal).finally(() => {
      trouble("");
      busy(false);
      answers.show(items, names, separator);
    });
  });
  find("halt").addEventListener("click", () => stopping.abort());

  async function askAll(items, signal) {
    const waiting = items.filter((item) => !item.note);
    progress(items);
    try {
      for (const batch of batches(waiting)) {
        await ask(batch, signal);
        progress(items);
      }
    } catch (error) {
      if (error.name !== "AbortError") throw error;
      for (const item of waiting) if (item.label === null && !item.note) item.note = "not asked: stopped";
      progress(items);
    }
  }

  // What the service would not take, said beside the text in place of an answer.
  function refusal(text) {
    if (!text.trim()) return "not asked: no text";
    const fits = [...text].length <= limits.max_chars && size(text) <= limits.max_body_bytes - AROUND;
    return fits ? "" : "not asked: too long";
  }

  function* batches(waiting) {
    let [batch, bytes] = [[], AROUND];
    for (const item of waiting) {
      const more = size(item.text);
      if (batch.length === Math.min(PER_REQUEST, limits.max_texts) || bytes + more > limits.max_body_bytes) {
        yield batch;
        [batch, bytes] = [[], AROUND];
      }
      batch.push(item);
      bytes += more;
    }
    if (batch.length) yield batch;
  }

  // The service may be busy or gone for a while: then the same is asked again. What it refuses is
  // halved until the text that is to blame stands alone.
  async function ask(batch, signal) {
    try {
      const found = await predict(batch.map((item) => item.text), signal);
      found.forEach((one, i) => {
        const note = one.truncated ? `only the first ${known.max_words} of ${one.n_words} words were read` : "";
        Object.assign(batch[i], { label: one.label, confidence: Math.max(...one.probabilities), note });
      });
      trouble("");
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.retrySeconds) {
        trouble(error.message);
        await pause(error.retrySeconds, signal);
        await ask(batch, signal);
      } else if (batch.length > 1) {
        const half = batch.length >> 1;
        await ask(batch.slice(0, half), signal);
        await ask(batch.slice(half), signal);
      } else batch[0].note = error.message;
    }
  }

  function busy(now) {
    for (const id of ["halt", "progress"]) find(id).hidden = !now;
    for (const id of ["start", "lines", "file", "header", "column"]) find(id).disabled = now;
  }
}

function size(text) {
  return new TextEncoder().encode(JSON.stringify(text)).length + 1;
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, 1000 * seconds);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

function trouble(message) {
  find("trouble").textContent = message;
  find("trouble").hidden = !message;
}

function progress(items) {
  const nDone = items.filter((item) => item.label !== null || item.note).length;
  const nAnswered = items.filter((item) => item.label !== null).length;
  find("progress").value = nDone / items.length;
  find("state").textContent = `${nAnswered.toLocaleString("en")} of ${counted(items.length, "text")} answered`;
}
