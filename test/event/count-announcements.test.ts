// Counts of stored events on the dashboard stream: sums, at most once a second.
import { expect, it } from 'vitest';
import { createCountAnnouncements } from '../../src/event/use-cases/count-announcements.ts';
import type { Announcement, AnnouncementOf } from '../../src/shared/announcement.ts';
import { pause } from '../../src/shared/ports/clock.ts';
import type { AppPorts } from '../../src/shared/use-case-ports.ts';
import { ManualClock, settled } from '../clock.ts';
import { makeHub } from '../harness.ts';

const counts = (allowed: number, denied = 0) => ({ allowed, denied, pending: 0, observed: 0 });

/** A bus that can be slow to refuse a publication. */
function stage() {
  const clock = new ManualClock();
  const attempts: AnnouncementOf<'callsCounted'>[] = [];
  const bus = { refusesAfterMs: 0 };
  const announcer = {
    async announce(list: readonly Announcement[]) {
      for (const one of list) if (one.kind === 'callsCounted') attempts.push(one);
      const { refusesAfterMs } = bus;
      if (refusesAfterMs === 0) return;
      await pause(clock, refusesAfterMs);
      throw new Error('away');
    },
  };
  let ids = 0;
  const secrets = { uuid: () => `id ${++ids}` } as AppPorts['secrets'];
  const count = createCountAnnouncements({ announcer, clock, secrets });
  const taken = () => attempts.splice(0);
  return { clock, bus, count, taken, pass: (ms: number) => clock.advanceAsync(ms, 50) };
}

const rowsOf = (announcements: readonly AnnouncementOf<'callsCounted'>[]) =>
  announcements.map((one) => [one.env, one.counts]);

it('are summed for a second by environment', async () => {
  const { count, taken, pass } = stage();
  count('t', 'staging', counts(0), 0);
  await pass(5_000);
  expect(taken()).toEqual([]);
  count('t', 'production', counts(1), 0);
  count('t', 'production', counts(2, 5), 0);
  count('t', 'staging', counts(7), 0);
  expect(taken()).toEqual([]);
  await pass(1_000);
  expect(rowsOf(taken())).toEqual([
    ['production', counts(3, 5)],
    ['staging', counts(7)],
  ]);
  count('t', 'production', counts(1), 0);
  await pass(950);
  expect(taken()).toEqual([]);
  await pass(50);
  expect(rowsOf(taken())).toEqual([['production', counts(1)]]);
});

it('follow again after a failure, however late it came, under the id of the failed announcement', async () => {
  const { bus, count, taken, pass } = stage();
  bus.refusesAfterMs = 2_000;
  count('t', 'production', counts(1), 0);
  await pass(1_500);
  const [failed] = taken();
  bus.refusesAfterMs = 0;
  count('t', 'production', counts(4), 0);
  await pass(2_500);
  expect(taken()).toEqual([failed]);
  await pass(1_000);
  expect(rowsOf(taken())).toEqual([['production', counts(4)]]);
  await pass(5_000);
  expect(taken()).toEqual([]);
});

it('are zero when only outcomes came, and sent at most once a second as others are', async () => {
  const { count, taken, pass } = stage();
  count('t', 'production', counts(0), 3);
  count('t', 'production', counts(0), 1);
  await pass(1_000);
  expect(rowsOf(taken())).toEqual([['production', counts(0)]]);
  count('t', 'production', counts(0), 1);
  count('t', 'production', counts(2), 0);
  await pass(1_000);
  expect(rowsOf(taken())).toEqual([['production', counts(2)]]);
  await pass(5_000);
  expect(taken()).toEqual([]);
});

it('name the minute of receipt: one frame a second also where a minute ends', async () => {
  const t = await makeHub();
  const user = await t.tenant();
  const event = { agent_id: 'a', tool_name: 'x', timestamp: new Date(t.clock.now()).toISOString() };
  const ingest = (...verdicts: string[]) =>
    t.call(
      'ingestEvents',
      {
        body: {
          events: verdicts.map((verdict, i) => ({ ...event, verdict, call_id: `${t.clock.now()}${i}` })),
        },
      },
      t.key(user),
    );
  await t.clock.advance(60_000 - (t.clock.now() % 60_000) - 300);
  t.newFrames();
  const minute = Math.floor(t.clock.now() / 60_000) * 60_000;
  await ingest('call_allowed', 'call_denied', 'call_would_deny');
  await t.clock.advance(500);
  await ingest('call_asked');
  const frames = () =>
    t.newFrames().flatMap(({ type, part, data }) => (type === 'stats_changed' ? [[part, data]] : []));
  await t.clock.advance(500);
  const none = { type: 'stats_changed', env: 'production', allowed: 0, denied: 0, would_deny: 0, asked: 0 };
  const iso = (at: number) => new Date(at).toISOString();
  expect(frames()).toEqual([
    ['stats', { ...none, minute: iso(minute), allowed: 1, denied: 1, would_deny: 1 }],
  ]);
  await settled();
  await t.clock.advance(1_000);
  expect(frames()).toEqual([['stats', { ...none, minute: iso(minute + 60_000), asked: 1 }]]);
  await t.clock.advance(5_000);
  expect(frames()).toEqual([]);
  const callId = 'a call that ends later';
  const report = (verdict: string) =>
    t.call('ingestEvents', { body: { events: [{ ...event, verdict, call_id: callId }] } }, t.key(user));
  await report('call_asked');
  await t.clock.advanceAsync(1_000);
  t.newFrames();
  await report('call_approved');
  await report('call_approved');
  await t.clock.advanceAsync(5_000, 500);
  expect(frames()).toMatchObject([['stats', none]]);
  await t.close();
});
