// Readers of what a hub sends on a stream, as it comes in: the answer's head, then SSE blocks or WebSocket messages.
// Strict.
import { decode } from '@msgpack/msgpack';
import { ChunkReader, type Head, readHead } from './http.ts';

export type Codec = 'sse' | 'json' | 'msgpack';

/** A frame may not be larger. Bytes. */
export const maxFrameBytes = 4 * 1024 * 1024;

export class StreamReader {
  head: Head | null = null;
  /** Frames received so far, by type. */
  readonly types = new Map<string, number>();
  /** Positions of frames, for Last-Event-ID; the newest. */
  lastId = '';
  /** Results received. One of a message that could not be read has no `ref`. */
  results = 0;
  /** The fault of the received text; null while there is none. */
  fault: string | null = null;
  /** The largest frame. Bytes. */
  largest = 0;
  /** The code of the server's close frame; null before it. */
  closeCode: number | null = null;
  readonly #codec: Codec;
  readonly #chunks = new ChunkReader();
  #buffer: Buffer = Buffer.alloc(0);
  #text = '';

  constructor(codec: Codec) {
    this.#codec = codec;
  }

  take(bytes: Buffer): void {
    if (this.fault) return;
    if (this.#codec === 'sse' && this.head) {
      this.#takeChunks(bytes);
      return;
    }
    this.#buffer = this.#buffer.length === 0 ? bytes : Buffer.concat([this.#buffer, bytes]);
    if (!this.head) {
      this.head = readHead(this.#buffer);
      if (!this.head) return;
      this.fault = this.head.fault;
      const rest = this.#buffer.subarray(this.head.length);
      this.#buffer = rest;
      if (this.head.status >= 300) return;
      if (this.#codec === 'sse') {
        this.#buffer = Buffer.alloc(0);
        this.#takeChunks(rest);
        return;
      }
    }
    if (this.head.status === 101) while (this.#takeMessage());
  }

  #takeChunks(bytes: Buffer): void {
    const { data } = this.#chunks.take(bytes);
    this.fault ??= this.#chunks.fault;
    for (const piece of data) this.#text += piece.toString('latin1');
    if (this.#text.length > maxFrameBytes * 2) this.largest = this.#text.length;
    if (!this.#text.includes('\n\n')) return;
    const blocks = this.#text.split('\n\n');
    this.#text = blocks.pop() ?? '';
    for (const block of blocks) this.#takeBlock(block);
  }

  #takeBlock(block: string): void {
    this.largest = Math.max(this.largest, block.length);
    let event = '';
    let data: string | null = null;
    for (const line of block.split('\n')) {
      const [, field = '', value = ''] = /^([a-z]*): ?(.*)$/s.exec(line) ?? [];
      if (line === '' || line.startsWith(':')) continue;
      if (field === 'event') event = value;
      else if (field === 'data') data = (data ?? '') + value;
      else if (field === 'id') this.lastId = value;
      else if (field !== 'retry') this.fault ??= `an SSE line is ${JSON.stringify(line.slice(0, 80))}`;
    }
    if (data === null) return;
    try {
      JSON.parse(Buffer.from(data, 'latin1').toString());
      this.#count(event);
    } catch {
      this.fault ??= `the data of ${event} is ${JSON.stringify(data.slice(0, 80))}`;
    }
  }

  /** Takes one WebSocket frame out of the buffer; false when none is whole. */
  #takeMessage(): boolean {
    const bytes = this.#buffer;
    if (bytes.length < 2) return false;
    const first = bytes.readUInt8(0);
    const second = bytes.readUInt8(1);
    const short = second & 127;
    const start = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (bytes.length < start) return false;
    const length =
      short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
    this.largest = Math.max(this.largest, length);
    const opcode = first & 15;
    if ((second & 128) !== 0) this.fault = 'a frame of the server is masked';
    else if ((first & 0x70) !== 0) this.fault = 'a frame has reserved bits';
    else if (![1, 2, 8, 9, 10].includes(opcode)) this.fault = `a frame has the opcode ${opcode}`;
    if (this.fault || bytes.length < start + length) return false;
    const payload = bytes.subarray(start, start + length);
    this.#buffer = bytes.subarray(start + length);
    if (opcode === 8) this.closeCode = length >= 2 ? payload.readUInt16BE(0) : 1005;
    if (opcode === 1 || opcode === 2) this.#takePayload(opcode, payload);
    return true;
  }

  #takePayload(opcode: number, payload: Buffer): void {
    if ((opcode === 1) !== (this.#codec === 'json')) {
      this.fault = `a message of opcode ${opcode} in ${this.#codec}`;
      return;
    }
    try {
      const value = (opcode === 1 ? JSON.parse(payload.toString()) : decode(payload)) as {
        id?: string;
        type: string;
      };
      this.#count(value.type);
      if (value.id) this.lastId = value.id;
      if (value.type === 'result') this.results++;
    } catch {
      this.fault = `a message is ${JSON.stringify(payload.subarray(0, 80).toString('latin1'))}`;
    }
  }

  #count(type: string): void {
    this.types.set(type, (this.types.get(type) ?? 0) + 1);
  }
}

/** A WebSocket frame of a client. */
export function clientFrame(
  payload: Uint8Array,
  options: { opcode?: number; fin?: boolean; masked?: boolean; reserved?: number } = {},
): Buffer {
  const { opcode = 1, fin = true, masked = true, reserved = 0 } = options;
  const mask = Buffer.from([7, 11, 13, 17]);
  const first = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  const flag = masked ? 0x80 : 0;
  const size = payload.length;
  let head: Buffer;
  if (size < 126) head = Buffer.from([first, flag | size]);
  else if (size < 65_536) head = Buffer.from([first, flag | 126, size >> 8, size & 255]);
  else {
    head = Buffer.alloc(10);
    head.set([first, flag | 127]);
    head.writeBigUInt64BE(BigInt(size), 2);
  }
  if (!masked) return Buffer.concat([head, payload]);
  const covered = Buffer.from(payload);
  for (let i = 0; i < covered.length; i++) covered[i] = (covered[i] ?? 0) ^ (mask[i % 4] ?? 0);
  return Buffer.concat([head, mask, covered]);
}
