// The weights as they were saved: base64 of a safetensors file in, arrays and the word table out.

const ARRAYS = { F32: Float32Array, F16: Uint16Array, I8: Int8Array };

// name -> {shape, values}; halves stay as the bits that they are.
export function readTensors(base64) {
  const bytes = decode(base64);
  const view = new DataView(bytes.buffer);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  return Object.fromEntries(Object.entries(header).map(([name, { dtype, shape, data_offsets: [from, to] }]) =>
    [name, { shape, values: new ARRAYS[dtype](bytes.buffer.slice(start + from, start + to)) }]));
}

function decode(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// A row is widened when it is looked up.
export class WordTable {
  constructor({ "embedding.trained": trained, "embedding.fixed": fixed, "embedding.fixed_scale": scale }) {
    Object.assign(this, { trained: trained.values, fixed: fixed.values, scale: scale.values });
    [this.nTrained, this.size] = trained.shape;
  }

  row(id) {
    const { size, nTrained, trained, fixed, scale } = this;
    const found = new Float32Array(size);
    for (let k = 0; k < size; k++) {
      if (id >= nTrained) found[k] = fixed[(id - nTrained) * size + k] * scale[id - nTrained];
      else found[k] = trained instanceof Uint16Array ? fromHalf(trained[id * size + k]) : trained[id * size + k];
    }
    return found;
  }
}

// A number of 16 bits: sign, 5 of exponent, 10 of fraction.
function fromHalf(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return bits & 0x8000 ? -size : size;
}
