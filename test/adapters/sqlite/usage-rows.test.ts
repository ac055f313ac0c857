// Rows of summaries of a batch with more tools, versions and contracts than are looked for without a key.
import { expect, it } from 'vitest';
import type { CountedRun } from '../../../adapters/sqlite/events/segment.ts';
import { addPlaced, joinChanges, type Place } from '../../../adapters/sqlite/usage/rows.ts';

const place: Place = { tenant: 1, env: 'production', agent: 'a', hour: 0 } as Place;
/** Twenty names, each three times, far from each other. */
const names = Array.from({ length: 60 }, (_, i) => `n${i % 20}`);

it('counts each tool and version once, however many a batch has', () => {
  const [tools, versions] = [new Map(), new Map()];
  const runs = names.map((name, i): CountedRun => {
    const word = { tool: name, version: name, name, verdict: i < 20 ? 'denied' : 'allowed', mode: 'enforce' };
    return { ...word, count: 2, first: i, last: i } as CountedRun;
  });
  addPlaced(tools, versions, place, runs);
  expect(tools.size).toBe(20);
  expect(versions.size).toBe(20);
  for (const row of tools.values()) expect(row).toMatchObject({ events: 6, denied: 2, allowed: 4 });
  for (const row of versions.values()) expect(row.events).toBe(6);
});

it('loses no change of a contract, however many a batch has', () => {
  const changes = names.map((name) => ({
    ...{ tenant: 1, env: 'production', name, ts: 0 },
    ...{ events: 1, denied: 1, observed: 0 },
  }));
  const joined = joinChanges(changes as unknown as Parameters<typeof joinChanges>[0]);
  for (const name of new Set(names)) {
    const own = joined.filter((one) => one.name === name);
    expect(own.reduce((sum, { events }) => sum + events, 0)).toBe(3);
    expect(own.reduce((sum, { denied }) => sum + denied, 0)).toBe(3);
  }
});
