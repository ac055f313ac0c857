// Parses server-sent events from pieces of text: events with their ids, and comments.

export interface SseListener {
  event(data: string, id: string): void;
  comment(text: string): void;
}

export class SseReader {
  readonly #listener: SseListener;
  #rest = '';
  #data: string[] = [];
  #id = '';

  constructor(listener: SseListener) {
    this.#listener = listener;
  }

  take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#line(line.endsWith('\r') ? line.slice(0, -1) : line);
  }

  #line(line: string): void {
    if (line === '') {
      if (this.#data.length > 0) this.#listener.event(this.#data.join('\n'), this.#id);
      this.#data = [];
      this.#id = '';
      return;
    }
    if (line.startsWith(':')) {
      this.#listener.comment(line.slice(1).trim());
      return;
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#data.push(value);
    if (name === 'id') this.#id = value;
  }
}
