// Missed frames for clients, read from the logs. One reading of an audience's log serves all requests at the same time;
// a few logs are read at once. A thousand agents that reconnect cost Redis and this node about as much as one.
import type { Audience } from '../../src/shared/frame.ts';
import type { BroadcastEntry } from '../../src/shared/ports/broadcast.ts';
import { comparePositions, type Position } from '../../src/shared/position.ts';
import { readFrame } from './entry.ts';
import type { Logs } from './log.ts';

type Missed = readonly BroadcastEntry[] | 'gone';

interface Ask {
  resolve(missed: Missed): void;
  reject(error: unknown): void;
}

/** Logs that are read at the same time. */
const atOnce = 4;

/**
 * Answers what the log holds after each position, or `gone` for those it does not know: neither its floor nor an entry.
 * @param positions `<ms>-<n>`
 * @throws HubError unavailable
 */
export async function readAll(
  logs: Pick<Logs, 'page'>,
  audience: Audience,
  positions: readonly Position[],
): Promise<ReadonlyMap<Position, Missed>> {
  const sorted = [...positions].sort(comparePositions);
  const answers = new Map<Position, Missed>(sorted.map((position) => [position, 'gone']));
  for (;;) {
    const first = await logs.page(audience, sorted);
    if (!first) return answers;
    const placed: BroadcastEntry[] = [];
    /** Of each known position, how many of the frames are not after it. */
    const offsets = new Map<Position, number>([[first.from, 0]]);
    let page: typeof first | null = first;
    for (;;) {
      for (const { position, body } of page.entries) {
        const frame = body && readFrame(audience, body);
        if (frame) placed.push({ position, frame });
        offsets.set(position, placed.length);
      }
      const last: Position | undefined = page.entries.at(-1)?.position;
      if (!page.more || last === undefined) {
        for (const position of sorted) {
          const from = offsets.get(position);
          if (from !== undefined) answers.set(position, from === 0 ? placed : placed.slice(from));
        }
        return answers;
      }
      page = await logs.page(audience, [last]);
      // Trimmed during the read, with its first entries: again from the log's oldest entry, at least one position less.
      if (!page) break;
    }
  }
}

/**
 * Answers what came after a position. Asks that come while their audience's log is read wait for the next reading: each
 * gets all up to its own time.
 */
export function openReplay(
  logs: Pick<Logs, 'page'>,
): (audience: Audience, position: Position) => Promise<Missed> {
  const waiting = new Map<Audience, Map<Position, Ask[]>>();
  const reading = new Set<Audience>();

  async function read(audience: Audience, asks: ReadonlyMap<Position, readonly Ask[]>): Promise<void> {
    try {
      const answers = await readAll(logs, audience, [...asks.keys()]);
      for (const [position, list] of asks) {
        for (const ask of list) ask.resolve(answers.get(position) ?? 'gone');
      }
    } catch (error) {
      for (const ask of [...asks.values()].flat()) ask.reject(error);
    }
    reading.delete(audience);
    next();
  }

  function next(): void {
    for (const [audience, asks] of waiting) {
      if (reading.size >= atOnce) return;
      if (reading.has(audience)) continue;
      waiting.delete(audience);
      reading.add(audience);
      void read(audience, asks);
    }
  }

  return (audience, position) =>
    new Promise((resolve, reject) => {
      const asks = waiting.get(audience) ?? new Map<Position, Ask[]>();
      waiting.set(audience, asks);
      const list = asks.get(position) ?? [];
      asks.set(position, list);
      list.push({ resolve, reject });
      next();
    });
}
