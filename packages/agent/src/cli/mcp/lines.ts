// Lines of text over streams of bytes, as MCP's stdio transport has them: bounded when read, and written no faster than
// they are taken.
import type { Readable, Writable } from 'node:stream';
import { maxMessage } from './message.ts';

export interface LineEvents {
  line(text: string): void;
  /** The stream ended, or a line was too long to go on. */
  ended(failure: Error | null): void;
}

/** A line is over the bound of a message. */
export class MessageSizeError extends Error {
  constructor() {
    super(`a message larger than ${maxMessage} bytes`);
  }
}

/** Reads lines until the stream ends; empty ones are passed over. */
export function readLines(stream: Readable, { line, ended }: LineEvents): void {
  let parts: Buffer[] = [];
  let size = 0;
  let over = false;
  const end = (failure: Error | null): void => {
    if (over) return;
    over = true;
    stream.removeListener('data', take);
    ended(failure);
  };
  const take = (chunk: Buffer): void => {
    let start = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, at));
      const text = (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)).toString('utf8').trim();
      parts = [];
      size = 0;
      start = at + 1;
      if (text !== '') line(text);
      if (over) return;
    }
    const rest = chunk.subarray(start);
    if (rest.length === 0) return;
    parts.push(rest);
    size += rest.length;
    if (size > maxMessage) end(new MessageSizeError());
  };
  stream.on('data', take);
  stream.once('end', () => end(null));
  stream.once('close', () => end(null));
  stream.once('error', (failure) => end(failure));
}

/** Writes lines. While the reader on the other side is slow, `source` is not read either. */
export function lineWriter(stream: Writable, source: () => Readable | null): (text: string) => void {
  // Readers learn about the end from their own streams.
  stream.on('error', () => {});
  const paused = new Set<Readable>();
  const resume = (): void => {
    for (const one of paused) one.resume();
    paused.clear();
  };
  stream.on('drain', resume);
  stream.on('close', resume);
  return (text) => {
    if (!stream.writable || stream.write(`${text}\n`)) return;
    const own = source();
    if (!own) return;
    paused.add(own);
    own.pause();
  };
}
