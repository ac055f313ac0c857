// HTTP/1.1 as strict as a client can be: requests to bytes, answers read byte by byte, one connection for many
// requests.
import { connect, type Socket } from 'node:net';

export interface OutgoingRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | null;
  /** The body goes out in chunks of about this many bytes; null: with a Content-Length. */
  readonly chunkBytes: number | null;
}

export interface Answer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  /** Its beginning when it is longer than `keptBytes`. */
  readonly body: Buffer;
  /** Bytes of the whole body. */
  readonly bytes: number;
  /** Its fault as HTTP; null when there is none. */
  readonly fault: string | null;
}

/** Why there is no answer. */
export type Silence = 'closed' | 'late' | 'cut short';

/** Bytes of a body that are kept and looked at. */
export const keptBytes = 24 * 1024 * 1024;

export function bytesOf({ method, path, headers, body, chunkBytes }: OutgoingRequest): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const length =
    body === null
      ? ''
      : chunkBytes === null
        ? `Content-Length: ${body.length}\r\n`
        : 'Transfer-Encoding: chunked\r\n';
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: hub\r\n${lines}${length}\r\n`, 'latin1');
  if (body === null) return head;
  return Buffer.concat([head, chunkBytes === null ? body : chunked(body, chunkBytes)]);
}

function chunked(body: Uint8Array, size: number): Buffer {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < body.length; at += size) {
    const piece = body.subarray(at, at + size);
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** Reads chunked bodies piece by piece. */
export class ChunkReader {
  #left = 0;
  #line = '';
  #state: 'size' | 'data' | 'after' | 'end' | 'done' = 'size';
  /** The fault; null when there is none. */
  fault: string | null = null;

  get done(): boolean {
    return this.#state === 'done' || this.fault !== null;
  }

  /** Takes bytes and gives those of the body; `rest` is what follows its end. */
  take(bytes: Buffer): { data: Buffer[]; rest: Buffer } {
    const data: Buffer[] = [];
    let at = 0;
    while (at < bytes.length && !this.done) {
      if (this.#state === 'data') {
        const piece = bytes.subarray(at, at + this.#left);
        data.push(piece);
        at += piece.length;
        this.#left -= piece.length;
        if (this.#left === 0) this.#state = 'after';
        continue;
      }
      const c = bytes[at++] ?? 0;
      this.#line += String.fromCharCode(c);
      if (c === 10) this.#takeLine();
      else if (this.#line.length > 20) this.fault = `a chunk begins with ${JSON.stringify(this.#line)}`;
    }
    return { data, rest: bytes.subarray(at) };
  }

  #takeLine(): void {
    const line = this.#line;
    this.#line = '';
    if (this.#state === 'size') {
      if (!/^[0-9a-fA-F]{1,8}\r\n$/.test(line)) this.fault = `a chunk has the size ${JSON.stringify(line)}`;
      this.#left = Number.parseInt(line, 16);
      this.#state = this.#left === 0 ? 'end' : 'data';
    } else if (line !== '\r\n') this.fault = `a chunk is followed by ${JSON.stringify(line)}`;
    else this.#state = this.#state === 'end' ? 'done' : 'size';
  }
}

export interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Bytes of the head. */
  readonly length: number;
  readonly fault: string | null;
}

/** The head at the beginning of these bytes; null while it is not whole. */
export function readHead(bytes: Buffer): Head | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = new Map<string, string>();
  let fault = /^HTTP\/1\.1 [1-5]\d\d [ -~]*$/.test(first)
    ? null
    : `it begins with ${JSON.stringify(first.slice(0, 80))}`;
  for (const line of lines) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t -~\x80-\xff]*)$/.exec(line);
    if (!match) fault ??= `it has the header line ${JSON.stringify(line.slice(0, 80))}`;
    const name = (match?.[1] ?? '').toLowerCase();
    if (headers.has(name) && name !== 'set-cookie') fault ??= `it has the header ${name} twice`;
    headers.set(name, match?.[2] ?? '');
  }
  return { status: Number(first.slice(9, 12)), headers, length: end + 4, fault };
}

/** One connection: a request at a time, each answer read to its end. */
export class HttpConnection {
  readonly #socket: Socket;
  #buffer: Buffer = Buffer.alloc(0);
  #wake: (() => void) | null = null;
  closed = false;
  lastUsedAt = Date.now();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
      this.#wake?.();
    });
    socket.on('close', () => {
      this.closed = true;
      this.#wake?.();
    });
  }

  static async open(port: number): Promise<HttpConnection> {
    const socket = connect({ port, host: '127.0.0.1' });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new HttpConnection(socket);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Sends a request and reads its answer. @param ms how long the answer may take, to its last byte */
  async ask(request: OutgoingRequest, ms: number): Promise<Answer | Silence> {
    const deadline = Date.now() + ms;
    this.#socket.write(bytesOf(request));
    const head = await this.#head(deadline);
    if (typeof head === 'string') return head;
    const body = await this.#body(head, request.method, deadline);
    this.lastUsedAt = Date.now();
    if (typeof body === 'string') return body;
    const left = this.#buffer.length;
    const fault = body.fault ?? head.fault ?? (left > 0 ? `${left} bytes follow it` : null);
    return { status: head.status, headers: head.headers, body: body.kept, bytes: body.bytes, fault };
  }

  async #head(deadline: number): Promise<Head | Silence> {
    for (;;) {
      const head = readHead(this.#buffer);
      if (head) this.#buffer = this.#buffer.subarray(head.length);
      // An interim answer is followed by the one that counts.
      if (head && head.status !== 100) return head;
      if (head) continue;
      if (!(await this.#more(deadline))) return this.closed ? 'closed' : 'late';
    }
  }

  async #body(
    { status, headers }: Head,
    method: string,
    deadline: number,
  ): Promise<{ kept: Buffer; bytes: number; fault: string | null } | Silence> {
    const none = { kept: Buffer.alloc(0), bytes: 0, fault: null };
    const length = headers.get('content-length');
    const isChunked = headers.get('transfer-encoding') === 'chunked';
    if (status === 204 || status === 304 || status < 200) {
      const says = status === 304 ? null : (length ?? (isChunked ? 'chunked' : null));
      return { ...none, fault: says === null ? null : `a ${status} says its body has ${says} bytes` };
    }
    if (method === 'HEAD') return none;
    if (isChunked) return this.#chunkedBody(deadline);
    if (length === undefined) return { ...none, fault: `a ${status} does not say where it ends` };
    if (!/^\d{1,12}$/.test(length)) return { ...none, fault: `its Content-Length is ${length}` };
    const parts: Buffer[] = [];
    let bytes = 0;
    let kept = 0;
    for (;;) {
      const piece = this.#buffer.subarray(0, Number(length) - bytes);
      this.#buffer = this.#buffer.subarray(piece.length);
      bytes += piece.length;
      if (kept < keptBytes) parts.push(piece);
      kept += piece.length;
      if (bytes === Number(length)) return { kept: Buffer.concat(parts), bytes, fault: null };
      if (!(await this.#more(deadline))) return 'cut short';
    }
  }

  async #chunkedBody(
    deadline: number,
  ): Promise<{ kept: Buffer; bytes: number; fault: string | null } | Silence> {
    const reader = new ChunkReader();
    const parts: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const { data, rest } = reader.take(this.#buffer);
      this.#buffer = rest;
      for (const piece of data) {
        if (bytes < keptBytes) parts.push(piece);
        bytes += piece.length;
      }
      if (reader.done) return { kept: Buffer.concat(parts), bytes, fault: reader.fault };
      if (!(await this.#more(deadline))) return 'cut short';
    }
  }

  /** False when the connection is closed or the time is over before more came. */
  async #more(deadline: number): Promise<boolean> {
    const left = deadline - Date.now();
    if (this.closed || left <= 0) return false;
    const before = this.#buffer.length;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, left);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
    return this.#buffer.length > before;
  }
}
