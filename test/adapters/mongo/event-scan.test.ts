// Searches by text whose narrowing filter fits few events: the end of a window takes no longer than the search may.
import { type Collection, MongoServerError } from 'mongodb';
import { expect, it } from 'vitest';
import type { EventRow } from '../../../adapters/mongo/event-filter.ts';
import { mongoEventScan } from '../../../adapters/mongo/event-scan.ts';

const outOfTime = new MongoServerError({ code: 50, message: 'operation exceeded time limit' });

/** Answers each look for the end of a window, and finds nothing in windows. */
function collectionOf(ends: readonly (EventRow | MongoServerError | null)[]) {
  const times: number[] = [];
  const find = (_filter: object, { maxTimeMS, projection }: { maxTimeMS: number; projection?: object }) => {
    if (projection === undefined) return { sort: () => [] };
    const end = ends[times.push(maxTimeMS) - 1];
    const toArray = async () => {
      if (end instanceof MongoServerError) throw end;
      return end ? [end] : [];
    };
    const rows = { sort: () => rows, skip: () => rows, limit: () => rows, toArray };
    return rows;
  };
  return { times, events: { find } as unknown as Collection<EventRow> };
}

const filter = { env: 'production', search: 'secret' } as const;
const rowAt = (ts: number) => ({ _id: `id-${ts}`, ts }) as EventRow;

it('begins as a sparse search once the budget has no end of a window', async () => {
  const { events, times } = collectionOf([outOfTime, null]);
  expect(await mongoEventScan(events)('t', filter, 10, null, 'newest', 100)).toEqual({
    events: [],
    next: null,
  });
  expect(times[0]).toBeLessThanOrEqual(100);
  expect(times[1]).toBe(6_000);
});

it('ends at the last window that it read when the next one takes longer than the time left', async () => {
  const { events, times } = collectionOf([rowAt(7), outOfTime]);
  const page = await mongoEventScan(events)('t', filter, 10, null, 'newest', 200);
  expect(page).toMatchObject({ events: [], searchedTo: 7 });
  expect(page.next).not.toBeNull();
  expect(Math.max(...times)).toBeLessThanOrEqual(200);
});

it('ends with search_timeout when the sparse search finds no end of a window either', async () => {
  const { events, times } = collectionOf([outOfTime, outOfTime, null]);
  await expect(mongoEventScan(events)('t', filter, 10, null, 'newest', 100)).rejects.toThrow(
    expect.objectContaining({ code: 'search_timeout' }),
  );
  expect(times).toHaveLength(2);
});
