// Figures that stand on one page of the console are of the same events: whichever question is asked, the sums agree.
import { describe, expect, it } from 'vitest';
import { type CountedAs, countedAs, type EventInput } from '../../src/event/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import { rowsFor } from '../runs.ts';
import { aBatch, readAll } from './events.ts';
import { anEvent, type Open, sharedStore, uuid } from './fixtures.ts';

const [hour, day] = [3_600_000, 86_400_000];
/** Of the system's clock, which a store may read: events from an agent whose clock is ahead lie after it. */
const now = Math.floor(Date.now() / 60_000) * 60_000;
const since = now - day;

/** Verdicts and modes in which calls begin; a third has a contract. */
const kinds = [
  ['call_allowed', 'enforce'],
  ['call_denied', 'enforce'],
  ['call_denied', 'observe'],
  ['call_would_deny', 'observe'],
  ['call_approval_requested', 'enforce'],
  ['call_executed', 'enforce'],
] as const;

function seeded(env: Env, i: number): EventInput {
  const [verdict, mode] = kinds[i % kinds.length] ?? kinds[0];
  return anEvent({
    callId: uuid(),
    agentId: `agent-${env}-${i % 3}`,
    toolName: `tool-${i % 4}`,
    verdict,
    mode,
    // Over the whole day, its two ends included, and one whose agent's clock is ahead.
    timestamp: i === 59 ? now + 7 * 60_000 : since + Math.round((i * day) / 59),
    payload: {
      session_id: `session-${i % 5}`,
      session_attempt_count: 1,
      ...(i % 3 === 0 ? { decision_name: `rule-${i % 2}` } : {}),
    },
  });
}

export function figuresContract(name: string, open: Open): void {
  describe(`${name}: figures of one page`, () => {
    const shared = sharedStore(open);

    it.each(rowsFor(name, [null, 'staging', 'production'] as const, 2))(
      'agree with each other and with the list, in %s',
      async (env) => {
        const store = shared.get();
        const tenantId = uuid();
        for (const place of ['production', 'staging'] as const) {
          const events = Array.from({ length: 60 }, (_, i) => seeded(place, i));
          await store.events.ingest(aBatch(tenantId, events, { env: place }));
          // Later results of tools, and an approval: reports of the same calls.
          const later = events
            .filter(({ verdict }) => verdict === 'call_approval_requested')
            .flatMap((event, i) => [
              { ...event, verdict: 'call_approval_granted', timestamp: event.timestamp + 1 },
              {
                ...event,
                verdict: i % 2 === 0 ? 'call_executed' : 'call_failed',
                timestamp: event.timestamp + 2,
              },
            ]);
          await store.events.ingest(aBatch(tenantId, later, { env: place }));
          // Before the day: in no figure.
          await store.events.ingest(aBatch(tenantId, [anEvent({ timestamp: since - 1 })], { env: place }));
        }
        const filter = { env, since };
        const listed = await readAll(store, tenantId, filter);
        const events = env === null ? 120 : 60;
        expect(listed).toHaveLength(events);
        const as = (kind: CountedAs) =>
          listed.filter(({ verdict, mode }) => countedAs(verdict, mode) === kind).length;

        const counts = await store.events.counts(tenantId, env, since, now - hour);
        const facets = await store.events.facets(tenantId, filter, 50);
        const buckets = await store.events.histogram(tenantId, { ...filter, until: now + hour }, hour);
        const contracts = await store.usage.listContracts(tenantId, env, since, now + hour);
        const fleet = await store.usage.fleet(tenantId, env, since, since);
        const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
        const bars = (kind: CountedAs): number => sum(buckets.map((bucket) => bucket[kind]));

        expect(counts).toMatchObject({
          events,
          denials: as('denied'),
          observeFindings: as('observed'),
          contractsTriggered: 2,
        });
        expect(await store.events.count(tenantId, filter)).toBe(events);
        expect(facets.events).toBe(events);
        for (const facet of ['agentId', 'toolName', 'firstVerdict', 'mode', 'env'] as const)
          expect(sum(facets.by[facet].top.map(({ count }) => count)), facet).toBe(events);
        for (const kind of ['allowed', 'denied', 'pending', 'observed'] as const)
          expect(bars(kind), kind).toBe(as(kind));
        expect(contracts.events).toBe(events);
        expect(contracts.contracts.map(({ name, calls }) => [name, calls]).sort()).toEqual(
          facets.by.decisionName.top.map(({ value, count }) => [value, count]).sort(),
        );
        expect(sum(contracts.contracts.map(({ denials }) => denials))).toBe(
          listed.filter(
            (event) => event.payload?.decision_name && countedAs(event.verdict, event.mode) === 'denied',
          ).length,
        );
        expect(sum(fleet.agents.map((agent) => agent.events))).toBe(events);
        expect(fleet.agents.map(({ agentId }) => agentId).sort()).toEqual(
          facets.by.agentId.top.map(({ value }) => value).sort(),
        );
        for (const { agentId } of fleet.agents) {
          const tools = await store.usage.listTools(tenantId, agentId, since);
          const own = facets.by.agentId.top.find(({ value }) => value === agentId)?.count;
          expect(sum(tools.map((tool) => tool.events))).toBe(own);
        }
        const time = { now, staleAfterMs: hour };
        const runs = await store.runs.list(tenantId, { env }, { limit: 100, offset: 0 }, time);
        const begun = listed.filter(({ verdict }) => verdict !== 'call_executed');
        expect(sum(runs.items.map(({ facts }) => facts?.calls ?? 0))).toBe(begun.length);
        expect(sum(runs.items.map(({ facts }) => facts?.counts.block ?? 0))).toBe(
          as('denied') +
            listed.filter(({ verdict, mode }) => verdict === 'call_denied' && mode === 'observe').length,
        );
      },
    );
  });
}
