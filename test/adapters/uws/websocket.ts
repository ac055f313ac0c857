// A WebSocket client as small as the tests need: handshake, masked frames, whole frames read, pings answered.
import { RawSocket } from './fixtures.ts';

export class WebSocketClient {
  readonly raw: RawSocket;
  /** Pings answered. */
  pongs = 0;
  /** Pongs received. */
  heard = 0;
  /** True if each ping is answered by a ping as well, so that `heard` counts the answers that the server has read. */
  echoes = false;
  #head = 0;
  /** Where the first frame begins that was not whole when it was last looked for pings. */
  #looked = 0;

  /** @param answers false: leaves pings without an answer */
  constructor(port: number, answers = true) {
    this.raw = new RawSocket(port);
    if (answers) this.raw.onRead = () => this.#answerPings();
  }

  /** The head of the reply to the handshake. */
  async handshake(path: string, headers: { [name: string]: string }): Promise<string> {
    await this.raw.opened;
    const lines = Object.entries({
      Host: 'a',
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.raw.send(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    const text = await this.raw.until((t) => t.includes('\r\n\r\n'));
    this.#head = text.indexOf('\r\n\r\n') + 4;
    this.#looked = this.#head;
    return text.slice(0, this.#head);
  }

  send(payload: string | Uint8Array): void {
    this.raw.send(clientFrame(typeof payload === 'string' ? 1 : 2, Buffer.from(payload)));
  }

  /** Every whole frame received: opcode and payload. */
  frames(): Frame[] {
    return framesIn(Buffer.from(this.raw.text.slice(this.#head), 'latin1')).found;
  }

  #answerPings(): void {
    if (this.#head === 0) return;
    const { found, end } = framesIn(Buffer.from(this.raw.text.slice(this.#looked), 'latin1'));
    this.#looked += end;
    for (const { opcode, payload } of found) {
      if (opcode === 10) this.heard++;
      if (opcode !== 9) continue;
      this.pongs++;
      this.raw.send(clientFrame(10, payload));
      // The server answers in turn, when it has read the pong before.
      if (this.echoes) this.raw.send(clientFrame(9, payload));
    }
  }

  /** Text and binary messages, once there are `count`. */
  async messages(count: number): Promise<Buffer[]> {
    const of = () => this.frames().filter(({ opcode }) => opcode === 1 || opcode === 2);
    await this.raw.until(() => of().length >= count);
    return of().map(({ payload }) => payload);
  }
}

interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The whole frames at the start of what a server sent, and where they end. */
function framesIn(bytes: Buffer): { found: Frame[]; end: number } {
  const found: Frame[] = [];
  let end = 0;
  while (end + 2 <= bytes.length) {
    const opcode = bytes.readUInt8(end) & 15;
    let length = bytes.readUInt8(end + 1) & 127;
    let start = end + 2;
    if (length === 126) {
      if (start + 2 > bytes.length) break;
      length = bytes.readUInt16BE(start);
      start += 2;
    } else if (length === 127) {
      if (start + 8 > bytes.length) break;
      length = Number(bytes.readBigUInt64BE(start));
      start += 8;
    }
    if (start + length > bytes.length) break;
    found.push({ opcode, payload: bytes.subarray(start, start + length) });
    end = start + length;
  }
  return { found, end };
}

/** A masked frame. @param more frames of the same message follow */
export function clientFrame(opcode: number, payload: Uint8Array, more = false): Buffer {
  const first = more ? opcode : 0x80 | opcode;
  const size = payload.length;
  const mask = Buffer.from([1, 2, 3, 4]);
  let head = Buffer.from([first, 0x80 | size]);
  if (size > 65_535) {
    head = Buffer.alloc(10);
    head.set([first, 0xff]);
    head.writeBigUInt64BE(BigInt(size), 2);
  } else if (size > 125) head = Buffer.from([first, 0xfe, size >> 8, size & 255]);
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0))]);
}
