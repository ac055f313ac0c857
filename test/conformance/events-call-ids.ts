// Every store's promise about a filter by call id: all events that have the id from their sender, in either form
// (event/port).
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../src/event/record.ts';
import type { EventFilter } from '../../src/event/rules/filter.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { aBatch, everything, readAll } from './events.ts';
import { anEvent, type Open, sharedStore, t0, uuid } from './fixtures.ts';

const hour = 3_600_000;

/** An event of the hosted protocol: stored under the id of its content, not under the one from its sender. */
export const hosted = (givenCallId: string, over: Partial<EventInput> = {}): EventInput =>
  anEvent({ callId: uuid(), givenCallId, flat: true, agentId: 'a', ...over });

/** So many hosted events of other calls that a batch of them is packed. */
export const otherCalls = (timestamp: number): readonly EventInput[] =>
  Array.from({ length: 100 }, (_, i) =>
    hosted(`other-${i}`, {
      timestamp: timestamp + i,
      payload: { tool_args: { path: '/srv/data/file' }, reason: 'within the limits of the contract' },
    }),
  );

/** Batches by name, with the events that the id `call-77` or a UUID must find in them. */
const batchesOf: { readonly [name: string]: (callId: string) => readonly (readonly EventInput[])[] } = {
  'the first event in a large batch': (callId) => [
    [hosted(callId, { timestamp: t0, verdict: 'call_asked' }), ...otherCalls(t0)],
    [hosted(callId, { timestamp: t0 + 5000, verdict: 'call_approval_granted' })],
    [hosted(callId, { timestamp: t0 + 6000, verdict: 'call_executed' })],
  ],
  'the last event in a large batch': (callId) => [
    [hosted(callId, { timestamp: t0, verdict: 'call_asked' })],
    [...otherCalls(t0), hosted(callId, { timestamp: t0 + 6000, verdict: 'call_executed' })],
  ],
  'an event of either form': (callId) => [
    [anEvent({ callId, agentId: 'b', timestamp: t0 })],
    [hosted(callId, { timestamp: t0, verdict: 'call_blocked', payload: { note: 'x'.repeat(9000) } })],
  ],
  'hosted events before, beside and after the other form': (callId) => [
    [...otherCalls(t0 - 3 * hour), hosted(callId, { timestamp: t0 - 3 * hour })],
    [hosted(callId, { timestamp: t0 + 3 * hour })],
    [anEvent({ callId, agentId: 'b', timestamp: t0 }), anEvent({ agentId: 'b', timestamp: t0 - 4 * hour })],
    [hosted(callId, { timestamp: t0 - 1 }), ...otherCalls(t0)],
    [hosted(callId, { agentId: 'b', timestamp: t0 + 1 })],
  ],
};

async function readUp(store: DocumentStore, tenantId: string, filter: EventFilter, limit: number) {
  const events = [];
  for (let cursor: string | null = null; ; ) {
    const page = await store.events.search(tenantId, filter, limit, cursor, 'oldest');
    events.push(...page.events);
    cursor = page.next;
    if (cursor === null) return events;
  }
}

export function eventsCallIdsContract(name: string, open: Open): void {
  describe(`${name}: events by call id`, () => {
    const shared = sharedStore(open);

    it.each(
      Object.keys(batchesOf).flatMap((batches) => [
        [batches, 'call-77'],
        [batches, uuid()],
      ]),
    )('finds all: %s, of id %s', async (batches, callId) => {
      const store = shared.get();
      const tenantId = uuid();
      for (const events of batchesOf[batches]?.(callId) ?? [])
        await store.events.ingest(aBatch(tenantId, events));
      const all = await readAll(store, tenantId);
      const stored = await readAll(store, tenantId, { ...everything, callId, isStoredCallId: true });
      expect(stored).toEqual(all.filter((event) => event.callId === callId));
      for (const agentId of [undefined, 'a', 'b']) {
        const ids = all
          .filter((event) => (event.givenCallId ?? event.callId) === callId)
          .filter((event) => agentId === undefined || event.agentId === agentId)
          .map(({ id }) => id);
        const filter = { ...everything, callId, ...(agentId === undefined ? {} : { agentId }) };
        for (const limit of [1000, 1]) {
          expect((await readAll(store, tenantId, filter, limit)).map(({ id }) => id)).toEqual(ids);
          expect((await readUp(store, tenantId, filter, limit)).map(({ id }) => id)).toEqual(
            ids.toReversed(),
          );
        }
        expect(await store.events.count(tenantId, filter)).toBe(ids.length);
      }
    });
  });
}
