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
  /** The text behind the last line end that was read, in pieces: they are read together once a line ends. */
  let rest: string[] = [];
  /** A CR at the end may be half of a line end. */
  let endsInReturn = false;
  let event = '';
  let data: string[] = [];
  let size = 0;
  for await (const piece of pieces) {
    const text = utf8.decode(piece, { stream: true });
    rest.push(text);
    size += piece.length;
    if (size > maxEvent) throw new AiError('malformed');
    if (!endsInReturn && !/[\r\n]/.test(text)) continue;
    const whole = rest.join('');
    endsInReturn = whole.endsWith('\r');
    const lines = (endsInReturn ? whole.slice(0, -1) : whole).split(/\r\n|\r|\n/);
    const begin = (lines.pop() ?? '') + (endsInReturn ? '\r' : '');
    rest = [begin];
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { event, data: data.join('\n') };
        [event, data, size] = ['', [], begin.length];
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
