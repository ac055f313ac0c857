// The server ends counts after the time that the caller has for them.
import type { Collection } from 'mongodb';
import { expect, it } from 'vitest';
import { mongoEventFigures } from '../../../adapters/mongo/event-figures.ts';
import type { EventRow } from '../../../adapters/mongo/event-filter.ts';

it('gives each count the time of its caller, never none', async () => {
  const times: unknown[] = [];
  const aggregate = (_stages: unknown, { maxTimeMS }: { maxTimeMS: number }) => {
    times.push(maxTimeMS);
    return { toArray: async () => [] };
  };
  const figures = mongoEventFigures({ aggregate } as unknown as Collection<EventRow>);
  const timesOf = async (count: Promise<unknown>) => {
    await count;
    return [...new Set(times.splice(0))];
  };
  const filter = { env: null };
  expect(await timesOf(figures.facets('t', filter, 50, undefined, 150.5))).toEqual([151]);
  expect(await timesOf(figures.histogram('t', filter, 60_000, 150))).toEqual([150]);
  expect(await timesOf(figures.histogram('t', filter, 60_000, 0))).toEqual([1]);
  expect(await timesOf(figures.facets('t', filter, 50))).toEqual([6_000]);
});
