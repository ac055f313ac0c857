// A batch is stored in parts that each take the store a short time.

import { expect, it } from 'vitest';
import type { EventBatch } from '../../src/event/port.ts';
import { countVerdicts, type EventInput } from '../../src/event/record.ts';
import { createEventIntake } from '../../src/event/use-cases/intake.ts';
import { createMeters } from '../../src/hub/metrics/meters.ts';
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

/** How many events each call of the store had. */
async function stored(events: readonly EventInput[]): Promise<number[]> {
  const sizes: number[] = [];
  const ports = {
    store: {
      events: {
        async ingest({ events: part }: EventBatch) {
          sizes.push(part.length);
          return { accepted: part.length, duplicates: 0, verdicts: countVerdicts(part) };
        },
      },
    },
    announcer: { announce: async () => {} },
    actors: { tell: async () => {} },
    clock: { now: () => t0, monotonic: () => 0, after: () => ({ cancel: () => {} }) },
    meters: createMeters(),
    lastSeen: { unregistered: () => [], touchLater: () => {} },
  } as unknown as AppPorts & Parameters<typeof createEventIntake>[0];
  const intake = createEventIntake(ports);
  const batch = { events, places: events.map((_, i) => i), manifest: null };
  const taken = await intake.ingest(principal, batch, async () => {});
  expect(taken).toMatchObject({ accepted: events.length, duplicates: 0 });
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
