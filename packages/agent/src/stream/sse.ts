// Reads server-sent events out of bytes, however they are cut. Bounded: a frame above the limit is an error, not
// memory.

export interface StreamFrame {
  /** The position to name when the stream is taken up again; null when the frame has none. */
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** Characters of one frame: a bundle of a megabyte in base64, with room. */
const defaultLimit = 4 * 1024 * 1024;

export class SseParser {
  readonly #limit: number;
  readonly #decoder = new TextDecoder('utf-8');
  /** The begin of a line whose end has not come, in pieces: put together once, or each piece would copy all of it. */
  #begin: string[] = [];
  #beginLength = 0;
  #afterReturn = false;
  #id: string | null = null;
  #event = '';
  #data: string[] = [];
  #size = 0;

  constructor(limit = defaultLimit) {
    this.#limit = limit;
  }

  /** The frames that these bytes complete, in order. @throws RangeError when a frame is longer than the limit */
  push(bytes: Uint8Array): StreamFrame[] {
    const frames: StreamFrame[] = [];
    let text = this.#decoder.decode(bytes, { stream: true });
    // The second half of a CRLF that was cut in two.
    if (this.#afterReturn && text.startsWith('\n')) text = text.slice(1);
    if (text !== '') this.#afterReturn = false;
    let start = 0;
    const lineEnd = /\r\n|\n|\r/g;
    for (let match = lineEnd.exec(text); match; match = lineEnd.exec(text)) {
      const frame = this.#line(this.#begin.join('') + text.slice(start, match.index));
      this.#begin = [];
      this.#beginLength = 0;
      if (frame) frames.push(frame);
      start = lineEnd.lastIndex;
      this.#afterReturn = match[0] === '\r' && start === text.length;
    }
    this.#begin.push(text.slice(start));
    this.#beginLength += text.length - start;
    if (this.#beginLength + this.#size > this.#limit) throw new RangeError('a stream frame is too long');
    return frames;
  }

  #line(line: string): StreamFrame | null {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') {
      this.#data.push(value);
      this.#size += value.length + 1;
      if (this.#size > this.#limit) throw new RangeError('a stream frame is too long');
    } else if (field === 'event') this.#event = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return null;
  }

  #dispatch(): StreamFrame | null {
    const frame = { id: this.#id, event: this.#event, data: this.#data.join('\n') };
    const empty = this.#data.length === 0 && this.#id === null;
    this.#id = null;
    this.#event = '';
    this.#data = [];
    this.#size = 0;
    return empty ? null : frame;
  }
}
