// A real WebSocket client of a stream for tests: messages in either subprotocol, read as frames, and what an agent
// sends.
import { decode, encode } from '@msgpack/msgpack';
import { WebSocketClient } from '../adapters/uws/websocket.ts';
import type { SseFrame } from './sse.ts';

export type Subprotocol = 'reeve.v1.json' | 'reeve.v1.msgpack';

export class SocketClient {
  readonly protocol: Subprotocol;
  /** The reply to the handshake: its head, and its body when it was refused. */
  head = '';
  readonly #socket: WebSocketClient;

  private constructor(port: number, protocol: Subprotocol) {
    this.#socket = new WebSocketClient(port);
    this.protocol = protocol;
  }

  static async open(
    port: number,
    path: string,
    headers: { [name: string]: string },
    protocol: Subprotocol,
  ): Promise<SocketClient> {
    const client = new SocketClient(port, protocol);
    client.head = await client.#socket.handshake(path, { ...headers, 'Sec-WebSocket-Protocol': protocol });
    return client;
  }

  get status(): number {
    return Number(this.head.slice(9, 12));
  }

  /**
   * Everything received, results of messages included, but keepalives: the clock sends those. Text in the JSON
   * subprotocol and binary in the other, or it fails.
   */
  get frames(): SseFrame[] {
    const isJson = this.protocol === 'reeve.v1.json';
    return this.#socket
      .frames()
      .filter(({ opcode }) => opcode === 1 || opcode === 2)
      .map(({ opcode, payload }) => {
        if ((opcode === 1) !== isJson) throw new Error(`a message of opcode ${opcode} in ${this.protocol}`);
        // biome-ignore lint/suspicious/noExplicitAny: frames of many shapes
        const { id, ...data }: any = isJson ? JSON.parse(payload.toString()) : decode(payload);
        return { id: id ?? '', event: data.type, data };
      })
      .filter(({ event }) => event !== 'keepalive');
  }

  /** The first frame of this type after `from`; fails when the connection ends without one. */
  async next(event: string, from = 0): Promise<SseFrame> {
    const find = () => this.frames.slice(from).find((frame) => frame.event === event);
    await this.#socket.raw.until(() => find() !== undefined || this.closing());
    const found = find();
    if (!found)
      throw new Error(`no ${event} before the end; got ${this.frames.map((f) => f.event).join(', ')}`);
    return found;
  }

  /** Sends a message and waits for the result with its ref. */
  // biome-ignore lint/suspicious/noExplicitAny: results of many shapes
  async ask(type: string, ref: string | number, body: unknown): Promise<any> {
    this.send({ type, ref, body });
    const find = () => this.frames.find(({ data }) => data.type === 'result' && data.ref === ref)?.data;
    await this.#socket.raw.until(() => find() !== undefined || this.closing());
    return find();
  }

  send(message: unknown): void {
    this.raw(this.protocol === 'reeve.v1.json' ? JSON.stringify(message) : encode(message));
  }

  raw(bytes: string | Uint8Array): void {
    this.#socket.send(bytes);
  }

  /** True once the server has sent its close frame. */
  closing(): boolean {
    return this.#socket.frames().some(({ opcode }) => opcode === 8);
  }

  /** Resolves once the server has ended the stream. */
  async end(): Promise<void> {
    await this.#socket.raw.until(() => this.closing());
  }

  /** The close code, or null while it is open. */
  closeCode(): number | null {
    const close = this.#socket.frames().find(({ opcode }) => opcode === 8);
    return close && close.payload.length >= 2 ? close.payload.readUInt16BE(0) : null;
  }

  close(): void {
    this.#socket.raw.destroy();
  }
}
