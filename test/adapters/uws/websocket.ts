// A WebSocket client as small as the tests need: handshake, masked text, binary and close frames, whole frames read.
import { RawSocket } from './fixtures.ts';

export class WebSocketClient {
  readonly raw: RawSocket;
  #head = 0;

  constructor(port: number) {
    this.raw = new RawSocket(port);
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
    return text.slice(0, this.#head);
  }

  send(payload: string | Uint8Array): void {
    const bytes = Buffer.from(payload);
    const mask = Buffer.from([1, 2, 3, 4]);
    const opcode = typeof payload === 'string' ? 0x81 : 0x82;
    const length =
      bytes.length < 126
        ? Buffer.from([opcode, 0x80 | bytes.length])
        : Buffer.from([opcode, 0x80 | 126, bytes.length >> 8, bytes.length & 255]);
    this.raw.send(Buffer.concat([length, mask, bytes.map((b, i) => b ^ (mask[i % 4] ?? 0))]));
  }

  /** Every whole frame received: opcode and payload. */
  frames(): { opcode: number; payload: Buffer }[] {
    const bytes = Buffer.from(this.raw.text.slice(this.#head), 'latin1');
    const found: { opcode: number; payload: Buffer }[] = [];
    for (let at = 0; at + 2 <= bytes.length; ) {
      const opcode = bytes.readUInt8(at) & 15;
      let length = bytes.readUInt8(at + 1) & 127;
      let start = at + 2;
      if (length === 126) {
        length = bytes.readUInt16BE(start);
        start += 2;
      } else if (length === 127) {
        length = Number(bytes.readBigUInt64BE(start));
        start += 8;
      }
      if (start + length > bytes.length) break;
      found.push({ opcode, payload: bytes.subarray(start, start + length) });
      at = start + length;
    }
    return found;
  }

  /** Text and binary messages, once there are `count`. */
  async messages(count: number): Promise<Buffer[]> {
    const of = () => this.frames().filter(({ opcode }) => opcode === 1 || opcode === 2);
    await this.raw.until(() => of().length >= count);
    return of().map(({ payload }) => payload);
  }
}
