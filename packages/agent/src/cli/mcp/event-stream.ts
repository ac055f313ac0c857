// Events to one HTTP client that may read slowly: what stays unread is bounded.
import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../clock.ts';
import { type Message, maxMessage, textOf } from './message.ts';

/** Bytes that a slow reader may leave unread on one stream for a minute. */
const maxUnread = 4 * 1_048_576;
/** Time between two looks at a stream; milliseconds. */
export const lookInterval = 15_000;
/** Looks at a stream over that bound, or at one whose reader takes nothing of the rest. */
const maxLooks = 4;

/**
 * Writes a message, and ends a stream whose reader left too much unread before. A message as large as the proxy permits
 * may be on its way to a reader that takes all of them.
 */
export function writeMessage(response: ServerResponse, message: Message): void {
  if (response.writableEnded) return;
  if (response.writableLength > maxUnread + maxMessage) return void response.destroy();
  const data = textOf(message).replaceAll(/\r\n|\r|\n/g, ' ');
  response.write(`event: message\ndata: ${data}\n\n`);
}

/**
 * A function for each 15 seconds of a stream. It gives the reader a sign of life, and ends a stream that was over the
 * bound for a minute.
 */
export function streamKeeper(response: ServerResponse): () => void {
  let looks = 0;
  response.on('drain', () => {
    looks = 0;
  });
  return () => {
    if (response.writableEnded || response.destroyed) return;
    looks = response.writableLength > maxUnread ? looks + 1 : 0;
    if (looks === maxLooks) response.destroy();
    // Unread bytes are a sign of life themselves.
    else if (response.writableLength === 0) response.write(': keepalive\n\n');
  };
}

/** Ends a response. It closes once its reader has taken the rest, and is cut if that takes nothing for a minute. */
export function endResponse(response: ServerResponse, clock: Clock, data?: string): void {
  if (data === undefined) response.end();
  else response.end(data);
  if (response.closed) return;
  let left = response.writableLength;
  let looks = 0;
  let timer: Timer;
  const lookLater = (): void => {
    timer = clock.after(lookInterval, () => {
      looks = response.writableLength < left ? 0 : looks + 1;
      left = response.writableLength;
      if (looks === maxLooks) response.destroy();
      else lookLater();
    });
  };
  lookLater();
  response.once('close', () => timer.cancel());
}
