// Graphs with batches, as JSON on standard input; what onnxruntime-web's wasm backend says of them.
const fs = require("node:fs");
const ort = require("onnxruntime-web");

const whole = (values, shape) =>
  new ort.Tensor("int64", BigInt64Array.from(values.map(BigInt)), shape);

async function answersOf({ path, batches }) {
  const session = await ort.InferenceSession.create(fs.readFileSync(path), {
    executionProviders: ["wasm"],
  });
  const answers = [];
  for (const { ids, lengths, keep_gates } of batches) {
    const found = await session.run({
      ids: whole(ids.flat(), [ids.length, ids[0].length]),
      lengths: whole(lengths, [lengths.length]),
      keep_gates: new ort.Tensor("bool", [keep_gates], []),
    });
    const names = Object.keys(found);
    answers.push(
      Object.fromEntries(names.map((name) => [name, [found[name].dims, [...found[name].data]]])),
    );
  }
  return answers;
}

async function main() {
  ort.env.wasm.numThreads = 1;
  const answers = [];
  for (const graph of JSON.parse(fs.readFileSync(0, "utf8"))) answers.push(await answersOf(graph));
  fs.writeSync(1, JSON.stringify(answers));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
