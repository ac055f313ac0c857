// Reads server-sent events from the pieces of an answer. Bounded; knows no provider.
import { AiError } from '../../src/assistant/record.ts';

export interface ServerEvent {
  /** Empty when the event has no name. */
  readonly event: string;
  readonly data: string;
}

/** Characters of one event. */
const maxEvent = 1_000_000;

/** @throws AiError malformed for an event that is too large; errors from the pieces */
export async function* serverEvents(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const utf8 = new TextDecoder();
  let buffer = '';
  let event = '';
  let data: string[] = [];
  let size = 0;
  for await (const piece of pieces) {
    buffer += utf8.decode(piece, { stream: true });
    // A CR at the end may be half of a line end.
    const held = buffer.endsWith('\r') ? 1 : 0;
    const lines = buffer.slice(0, buffer.length - held).split(/\r\n|\r|\n/);
    buffer = (lines.pop() ?? '') + (held === 1 ? '\r' : '');
    size += piece.length;
    if (buffer.length > maxEvent || size > maxEvent) throw new AiError('malformed');
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { event, data: data.join('\n') };
        [event, data, size] = ['', [], buffer.length];
        continue;
      }
      const colon = line.indexOf(':');
      const field = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'event') event = value;
      else if (field === 'data') data.push(value);
    }
  }
}
