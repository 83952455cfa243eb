// The fit: kmeans-core itself, compiled to WebAssembly, and the data that the page was written with.

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const data = JSON.parse(document.getElementById("data").textContent);
const ELEMENTS = ["f16", "bf16", "f32", "f64"];

// A number from its half-precision or bfloat16 bits: only for drawing, so that f32 will do.
function fromF16(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return exponent === 31 ? NaN : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function fromBf16(bits) {
  return new Float32Array(new Uint32Array([bits << 16]).buffer)[0];
}

// The points as numbers to draw, row-major.
function drawable(bytes, type) {
  switch (type) {
    case "f64": return new Float64Array(bytes.buffer);
    case "f32": return new Float32Array(bytes.buffer);
    case "f16": return Float32Array.from(new Uint16Array(bytes.buffer), fromF16);
    default: return Float32Array.from(new Uint16Array(bytes.buffer), fromBf16);
  }
}

// A fit that makes its rounds one by one. Round r, from 1, has labels, a record, and the centroids after it.
class Fit {
  constructor(exports, n, d) {
    this.wasm = exports;
    this.n = n;
    this.d = d;
    this.k = 0;
    this.ended = true;
  }

  static async load(bytes) {
    const { instance } = await WebAssembly.instantiate(bytesOf(data.wasm), {});
    const fit = new Fit(instance.exports, data.n, data.d);
    const room = fit.wasm.room(bytes.length);
    new Uint8Array(fit.wasm.memory.buffer, room, bytes.length).set(bytes);
    return fit;
  }

  begin(settings) {
    const seed = BigInt.asUintN(64, BigInt(settings.seed));
    const low = Number(seed & 0xffffffffn), high = Number(seed >> 32n);
    const begun = this.wasm.begin(
      ELEMENTS.indexOf(data.type), this.d, settings.k, settings.start, low, high, settings.threshold, data.max_iter, 1);
    if (!begun) throw new Error("these settings make no fit");
    this.k = settings.k;
    this.ended = false;
  }

  // Makes a round if the fit has not ended.
  step() {
    if (!this.ended && !this.wasm.step()) this.ended = true;
    if (this.wasm.converged() || this.rounds() >= data.max_iter) this.ended = true;
    return !this.ended;
  }

  rounds() { return this.wasm.rounds(); }

  converged() { return this.wasm.converged() === 1; }

  record(round) {
    const at = round - 1;
    return { inertia: this.wasm.inertia(at), movement: this.wasm.movement(at), changed: this.wasm.changed(at) };
  }

  // Copies: the module's memory changes with the next call. The call comes first: it may move the memory.
  labels(round) {
    const at = this.wasm.labels(round - 1);
    return Uint32Array.from(new Uint32Array(this.wasm.memory.buffer, at, this.n));
  }

  centroids(round) {
    const at = this.wasm.centroids(round);
    return Float64Array.from(new Float64Array(this.wasm.memory.buffer, at, this.k * this.d));
  }

  // The labels and inertia that belong to the last centroids.
  result() {
    const at = this.wasm.result();
    const labels = Uint32Array.from(new Uint32Array(this.wasm.memory.buffer, at, this.n));
    return { labels, inertia: this.wasm.result_inertia() };
  }
}

// What differs between a finished fit and the library's run; nothing if they are the same.
function differences(fit) {
  const expected = data.expected, found = [];
  if (fit.rounds() !== expected.iterations) found.push(`${fit.rounds()} iterations, not ${expected.iterations}`);
  if (fit.converged() !== expected.converged) found.push("another end");
  for (let r = 1; r <= Math.min(fit.rounds(), expected.iterations); r++) {
    const record = fit.record(r);
    if (record.inertia !== expected.inertia[r - 1] || record.movement !== expected.movement[r - 1]
      || record.changed !== expected.changed[r - 1]) {
      found.push(`other numbers in iteration ${r}`);
      break;
    }
  }
  const result = fit.result();
  const labels = new Uint32Array(bytesOf(expected.labels).buffer);
  let wrong = 0;
  for (let i = 0; i < labels.length; i++) wrong += labels[i] !== result.labels[i];
  if (wrong > 0) found.push(`${wrong} other labels`);
  if (result.inertia !== expected.result_inertia) found.push("another inertia");
  if (!fit.centroids(fit.rounds()).every((value, i) => value === expected.centroids[i])) found.push("other centroids");
  return found;
}
