// Searches that read payloads: a person's newer one ends the older one of its kind, and holds its place.
import { beforeEach, describe, expect, it } from 'vitest';
import { Admission } from '../../src/admission/admission.ts';
import type { EventPage, EventStore } from '../../src/event/port.ts';
import type { StoredEvent } from '../../src/event/record.ts';
import { createEventScans, type EventScans } from '../../src/event/use-cases/scans.ts';
import type { Principal } from '../../src/shared/principal.ts';
import { ManualClock, settled } from '../clock.ts';

const personOf = (id: string): Principal => ({
  tenantId: 't1',
  env: null,
  roles: new Set(['viewer'] as const),
  envRoles: null,
  actor: { kind: 'user', id, email: `${id}@example.com` },
  agentId: null,
  agentPattern: null,
});
const [ada, bo, cy] = [personOf('ada'), personOf('bo'), personOf('cy')];
const filter = { env: null };
const budgetMs = 1_000;
const start = 1_700_000_000_000;

/** Pages that scans wait for, in order of the requests. */
let requests: ((page: EventPage) => void)[];
let admission: Admission;
let scans: EventScans;
beforeEach(() => {
  requests = [];
  const clock = new ManualClock(start);
  admission = new Admission(clock);
  const search = () => new Promise<EventPage>((resolve) => requests.push(resolve));
  scans = createEventScans({ search, listCountable: search } as unknown as EventStore, clock, admission);
});

const event = (timestamp: number): StoredEvent =>
  ({
    ...{ timestamp, agentId: 'a', toolName: 'x', mode: 'enforce', env: 'production', sample: false },
    ...{ verdict: 'call_denied', outcomes: [], payload: {} },
  }) as unknown as StoredEvent;
/** A full page, with more behind it. */
const fullPage = (timestamp: number): EventPage => ({ events: [event(timestamp)], next: 'more' });
/** The last page. */
const lastPage: EventPage = { events: [event(start - 9_000)], next: null };
const answer = async (request: number, page: EventPage): Promise<void> => {
  requests[request]?.(page);
  await settled();
};

const counts = {
  facets: async (who: Principal) => scans.facets(who, filter, { limit: 5, budgetMs }),
  histogram: async (who: Principal) => scans.histogram(who, filter, 60_000, budgetMs),
};

describe.each(['facets', 'histogram'] as const)('%s', (kind) => {
  it('end at the page that they read when the same person counts again', async () => {
    const older = counts[kind](ada);
    await answer(0, fullPage(start - 1_000));
    expect(requests).toHaveLength(2);
    const newer = counts[kind](ada);
    await answer(1, fullPage(start - 2_000));
    expect(requests).toHaveLength(3);
    expect(await older).toMatchObject({ searchedTo: start - 2_000 });
    await answer(2, lastPage);
    expect((await newer).searchedTo).toBeUndefined();
    expect(requests).toHaveLength(3);
    expect(admission.held('textSearches')).toBe(0);
  });

  it('go on beside those of others, and leave a third person to wait', async () => {
    const [first, second] = [counts[kind](ada), counts[kind](bo)];
    await expect(counts[kind](cy)).rejects.toMatchObject({ code: 'too_busy' });
    for (const request of [0, 1]) await answer(request, fullPage(start - 1_000));
    for (const request of [2, 3]) await answer(request, lastPage);
    for (const progress of await Promise.all([first, second])) expect(progress.searchedTo).toBeUndefined();
    expect(admission.held('textSearches')).toBe(0);
  });
});

it("a page ends when the same person searches again, while the person's counts go on", async () => {
  const older = scans.search(ada, filter, 10, null, budgetMs);
  const facets = counts.facets(ada);
  const newer = scans.search(ada, filter, 10, null, budgetMs);
  await answer(0, { events: [event(start - 1_000)], next: 'more', searchedTo: start - 1_500 });
  expect(await older).toMatchObject({ next: 'more', searchedTo: start - 1_500, events: [{}] });
  await answer(1, fullPage(start - 1_000));
  await answer(2, lastPage);
  await answer(3, lastPage);
  expect((await facets).searchedTo).toBeUndefined();
  expect((await newer).next).toBeNull();
  expect(admission.held('textSearches')).toBe(0);
});
