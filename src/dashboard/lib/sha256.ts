// SHA-256 (FIPS 180-4) without crypto.subtle, which browsers hide on plain http.

/** The first 32 bits of the fractional parts of a root of each of the first primes. */
function fractions(count: number, root: (prime: number) => number): Uint32Array {
  const fractions: number[] = [];
  for (let n = 2; fractions.length < count; n += 1) {
    let prime = true;
    for (let d = 2; d * d <= n; d += 1) if (n % d === 0) prime = false;
    if (prime) fractions.push((root(n) % 1) * 2 ** 32);
  }
  return Uint32Array.from(fractions, Math.floor);
}

const start = fractions(8, Math.sqrt);
const rounds = fractions(64, Math.cbrt);
const block = 64;

const turned = (value: number, bits: number): number => (value >>> bits) | (value << (32 - bits));

export function sha256(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / block) * block);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length - 4, (message.length << 3) >>> 0);
  const state = start.slice();
  const words = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += block) {
    for (let i = 0; i < 16; i += 1) words[i] = view.getUint32(at + i * 4);
    for (let i = 16; i < 64; i += 1) {
      const [w2, w7, w15, w16] = [
        words[i - 2] ?? 0,
        words[i - 7] ?? 0,
        words[i - 15] ?? 0,
        words[i - 16] ?? 0,
      ];
      const low = turned(w15, 7) ^ turned(w15, 18) ^ (w15 >>> 3);
      const high = turned(w2, 17) ^ turned(w2, 19) ^ (w2 >>> 10);
      words[i] = w16 + low + w7 + high;
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
    for (let i = 0; i < 64; i += 1) {
      const one = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const first = (h + one + ((e & f) ^ (~e & g)) + (rounds[i] ?? 0) + (words[i] ?? 0)) | 0;
      const two = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
      const second = (two + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + value;
  }
  const digest = new DataView(new ArrayBuffer(32));
  for (const [i, value] of state.entries()) digest.setUint32(i * 4, value);
  return new Uint8Array(digest.buffer);
}
