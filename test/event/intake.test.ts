// A batch is stored in parts that each take the store a short time. Stored parts are announced, whatever fails later.

import { expect, it } from 'vitest';
import type { FirstSeenAgent } from '../../src/agent/port.ts';
import type { EventBatch, IngestResult } from '../../src/event/port.ts';
import { countVerdicts, type EventInput } from '../../src/event/record.ts';
import { createEventIntake } from '../../src/event/use-cases/intake.ts';
import { createMeters } from '../../src/hub/metrics/meters.ts';
import type { Announcement } from '../../src/shared/announcement.ts';
import { HubError } from '../../src/shared/error.ts';
import type { KeyPrincipal } from '../../src/shared/principal.ts';
import type { AppPorts } from '../../src/shared/use-case-ports.ts';
import { anEvent, t0 } from '../conformance/fixtures.ts';

const principal = {
  kind: 'key',
  tenantId: 't',
  env: 'production',
  keyId: 'k',
  actor: { kind: 'key', id: 'k', prefix: 'svk_k' },
  agentId: 'a',
  agentPattern: null,
} as unknown as KeyPrincipal;

type Part = Pick<EventBatch, 'events' | 'agents'>;

/** An intake whose store answers as it is told. */
function stage(answer: (part: Part, call: number) => Partial<IngestResult> = () => ({})) {
  const sizes: number[] = [];
  const announced: Announcement[] = [];
  const bus = { isAway: false };
  const registered: string[] = [];
  const ports = {
    store: {
      events: {
        async ingest({ events: part, agents = [] }: EventBatch) {
          sizes.push(part.length);
          const counts = { accepted: part.length, duplicates: 0, verdicts: countVerdicts(part), outcomes: 0 };
          return { ...counts, ...answer({ events: part, agents }, sizes.length) };
        },
      },
    },
    announcer: {
      async announce(list: readonly Announcement[]) {
        if (bus.isAway) throw new HubError('unavailable', 'away');
        announced.push(...list);
      },
    },
    actors: { tell: async () => {} },
    clock: { now: () => t0, monotonic: () => 0, after: () => ({ cancel: () => {} }) },
    meters: createMeters(),
    secrets: { uuid: () => 'id' },
    lastSeen: {
      unregistered: (_principal: KeyPrincipal, ids: string[]) => ids.filter((id) => id === 'new'),
      touchLater: () => {},
      async registerWith(
        _principal: KeyPrincipal,
        ids: readonly string[],
        write: (agents: readonly FirstSeenAgent[]) => Promise<unknown>,
      ) {
        await write(ids.map((agentId) => ({ agentId, newId: null })));
        registered.push(...ids);
      },
    },
  } as unknown as AppPorts & Parameters<typeof createEventIntake>[0];
  const intake = createEventIntake(ports);
  const take = (events: readonly EventInput[]) =>
    intake.ingest(principal, { events, places: events.map((_, i) => i), manifest: null }, async () => {});
  const totals = () =>
    announced.splice(0).flatMap((one) => (one.kind === 'eventsAccepted' ? [one.accepted] : []));
  return { sizes, bus, registered, take, totals };
}

/** How many events each call of the store had. */
async function stored(events: readonly EventInput[]): Promise<number[]> {
  const { sizes, take } = stage();
  expect(await take(events)).toMatchObject({ accepted: events.length, duplicates: 0 });
  return sizes;
}

const many = (count: number, over: (i: number) => Partial<EventInput>) =>
  Array.from({ length: count }, (_, i) => anEvent({ timestamp: t0, ...over(i) }));

it('stores a thousand events of one session at once, and a hundred of as many agents, sessions or hours', async () => {
  expect(await stored(many(2500, () => ({})))).toEqual([1000, 1000, 500]);
  expect(await stored(many(250, (i) => ({ agentId: `a${i}` })))).toEqual([100, 100, 50]);
  expect(await stored(many(250, (i) => ({ payload: { session_id: `s${i}` } })))).toEqual([100, 100, 50]);
  expect(await stored(many(250, (i) => ({ timestamp: t0 - i * 3_600_000 })))).toEqual([100, 100, 50]);
  expect(await stored(many(400, (i) => ({ agentId: `a${i % 100}` })))).toEqual([400]);
});

it('announces at once what it stored of a batch that failed after its first part', async () => {
  const { take, totals } = stage((_part, call) => {
    if (call === 2) throw new HubError('overloaded', 'full');
    return {};
  });
  await expect(take(many(1_500, () => ({})))).rejects.toThrow('full');
  expect(totals()).toEqual([1_000]);
});

it('owes what it stored of such a batch while the bus is away, and announces it with the repeat', async () => {
  const { take, totals, bus } = stage(({ events: { length } }, call) => {
    if (call === 2) throw new HubError('overloaded', 'full');
    return call === 3 ? { accepted: 0, duplicates: length } : {};
  });
  const events = many(1_500, () => ({}));
  bus.isAway = true;
  await expect(take(events)).rejects.toThrow('full');
  bus.isAway = false;
  expect(await take(events)).toMatchObject({ accepted: 500, duplicates: 1_000 });
  expect(totals()).toEqual([1_000, 500]);
});

it('announces events that are stored although their agents could not be noted, and notes those again', async () => {
  const { take, totals, registered } = stage((_part, call) =>
    call === 1 ? { agentsError: new HubError('unavailable', 'away') } : {},
  );
  const events = many(3, () => ({ agentId: 'new' }));
  await expect(take(events)).rejects.toThrow('away');
  expect({ totals: totals(), registered }).toEqual({ totals: [3], registered: [] });
  await take(events);
  expect(registered).toEqual(['new']);
});
