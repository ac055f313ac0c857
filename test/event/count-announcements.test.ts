// Counts of stored events on the dashboard stream: sums, at most once a second.
import { expect, it } from 'vitest';
import { createCountAnnouncements } from '../../src/event/use-cases/count-announcements.ts';
import type { Announcement } from '../../src/shared/announcement.ts';
import { ManualClock, settled } from '../clock.ts';
import { makeHub } from '../harness.ts';

const counts = (allowed: number, denied = 0) => ({ allowed, denied, pending: 0, observed: 0 });

it('are summed for a second by environment, and follow again after a failure', async () => {
  const clock = new ManualClock();
  const announced: Announcement[] = [];
  let isAway = false;
  const announcer = {
    async announce(list: readonly Announcement[]) {
      if (isAway) throw new Error('away');
      announced.push(...list);
    },
  };
  const count = createCountAnnouncements({ announcer, clock });
  const taken = () => announced.splice(0).map((one) => one.kind === 'callsCounted' && [one.env, one.counts]);
  count('t', 'staging', counts(0));
  await clock.advance(5_000);
  expect(taken()).toEqual([]);
  count('t', 'production', counts(1));
  count('t', 'production', counts(2, 5));
  count('t', 'staging', counts(7));
  expect(taken()).toEqual([]);
  await clock.advance(1_000);
  expect(taken()).toEqual([
    ['production', counts(3, 5)],
    ['staging', counts(7)],
  ]);
  count('t', 'production', counts(1));
  await clock.advance(999);
  expect(taken()).toEqual([]);
  isAway = true;
  await clock.advance(1);
  await settled();
  isAway = false;
  count('t', 'production', counts(1));
  await clock.advance(1_000);
  expect(taken()).toEqual([['production', counts(2)]]);
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
  await t.clock.advance(1_000);
  expect(frames()).toEqual([['stats', { ...none, minute: iso(minute + 60_000), asked: 1 }]]);
  await t.clock.advance(5_000);
  expect(frames()).toEqual([]);
  await t.close();
});
