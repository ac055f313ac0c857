// The JSON of a segment's events as it is stored: packed where that saves pages.
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';

/** Bytes of JSON that are packed at least: fewer fill a page or two, and each packing has a price of its own. */
const leastPacked = 8 * 1024;
/** The fastest: events of one agent repeat most of their text. */
const quality = 0;
/** Bytes of a piece that is unpacked at once. */
const pieceBytes = 64 * 1024;

export interface StoredJson {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly isPacked: boolean;
  /** Bytes of the JSON. */
  readonly jsonBytes: number;
}

/** JSON as it is stored; the bytes lie in a buffer of their own, which can go to another thread. */
export function packJson(json: Uint8Array): StoredJson {
  const jsonBytes = json.byteLength;
  if (jsonBytes >= leastPacked) {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_SIZE_HINT]: jsonBytes,
    };
    const packed = brotliCompressSync(json, { params });
    if (packed.byteLength < jsonBytes / 2) return { body: new Uint8Array(packed), isPacked: true, jsonBytes };
  }
  return { body: new Uint8Array(json), isPacked: false, jsonBytes };
}

/** The JSON that `packJson` stored, UTF-8. */
export const unpackedJson = (body: Uint8Array, isPacked: boolean): Uint8Array =>
  isPacked ? brotliDecompressSync(body, { chunkSize: pieceBytes }) : body;

export const jsonText = (json: Uint8Array): string =>
  Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');

/** The text of JSON that `packJson` stored. */
export const unpackedText = (body: Uint8Array, isPacked: boolean): string =>
  jsonText(unpackedJson(body, isPacked));
