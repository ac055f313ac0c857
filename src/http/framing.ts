// Requests that a server refuses before anybody handles them: their end is in doubt, they are too large, or their
// handshake is none. Keeps promise P49.
import { HubError } from '../shared/error.ts';

const maxHeaderBytes = 16 * 1024;
const maxHeaders = 100;
const maxUrl = 8 * 1024;
const wholeNumber = /^\d{1,15}$/;

export interface ReadHeaders {
  /** Lower-case names; repeated headers are joined (`; ` for cookie, `, ` otherwise). */
  readonly headers: ReadonlyMap<string, string>;
  /** Reason why the request is refused; null when all is well. */
  readonly refused: HubError | null;
}

/** Gathers the headers of a request. */
export class HeaderReader {
  readonly #headers = new Map<string, string>();
  #bytes = 0;
  #count = 0;
  #twice = false;

  /** @param name in lower case */
  add(name: string, value: string): void {
    this.#count++;
    this.#bytes += name.length + value.length + 4;
    if (this.#tooLarge) return;
    const before = this.#headers.get(name);
    if (before === undefined) this.#headers.set(name, value);
    else {
      if (name === 'content-length' || name === 'host') this.#twice = true;
      this.#headers.set(name, `${before}${name === 'cookie' ? '; ' : ', '}${value}`);
    }
  }

  /** @param urlLength characters of path and query */
  read(urlLength: number): ReadHeaders {
    return { headers: this.#headers, refused: this.#refused(urlLength) };
  }

  get #tooLarge(): boolean {
    return this.#bytes > maxHeaderBytes || this.#count > maxHeaders;
  }

  #refused(urlLength: number): HubError | null {
    const encoding = this.#headers.get('transfer-encoding');
    if (this.#tooLarge || urlLength > maxUrl) {
      return new HubError('headers_too_large', 'The request line or headers are too large.');
    }
    if (this.#twice)
      return new HubError('bad_request', 'A header that must occur once occurs twice. Send it once.');
    if (
      encoding !== undefined &&
      (encoding.trim().toLowerCase() !== 'chunked' || this.#headers.has('content-length'))
    ) {
      // The native parser takes any transfer-encoding for chunked: a proxy in front may read the body's end elsewhere.
      return new HubError(
        'bad_request',
        'The framing of the body is ambiguous. Send either Content-Length or Transfer-Encoding: chunked.',
      );
    }
    if (!wholeNumber.test(this.#headers.get('content-length') ?? '0')) {
      // An empty one counts as none for the native parser, and might as a length for a proxy.
      return new HubError('bad_request', 'Content-Length must be a whole number.');
    }
    return null;
  }
}

/** Reason why a request that a server took for a handshake is none; null when it is one. */
export function refuseHandshake(headers: ReadonlyMap<string, string>): HubError | null {
  const tokens = (headers.get('connection') ?? '').toLowerCase().split(',');
  const names = (token: string): boolean => tokens.some((each) => each.trim() === token);
  // With `close` the native server would end the connection right after the 101.
  if (!names('upgrade') || names('close') || headers.get('upgrade')?.trim().toLowerCase() !== 'websocket') {
    return new HubError(
      'bad_request',
      'The WebSocket handshake is not valid. Send Upgrade: websocket and Connection: Upgrade.',
    );
  }
  if (headers.get('sec-websocket-version')?.trim() !== '13') {
    return new HubError(
      'upgrade_required',
      'The WebSocket version is not supported. Send Sec-WebSocket-Version: 13.',
    );
  }
  if (!/^[A-Za-z0-9+/]{22}==$/.test(headers.get('sec-websocket-key') ?? '')) {
    return new HubError('bad_request', 'Sec-WebSocket-Key must be 16 bytes in base64.');
  }
  // Its bytes would be read as frames.
  if (headers.has('content-length') || headers.has('transfer-encoding')) {
    return new HubError('bad_request', 'A WebSocket handshake must not have a body. Remove it.');
  }
  return null;
}
