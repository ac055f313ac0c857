// Streams of the past: what the environment's actor stores of them, when, and what a crash leaves.
import { expect, it } from 'vitest';
import { settled } from '../clock.ts';
import { t0 } from '../conformance/fixtures.ts';
import { aHub, openedBy } from './hub.ts';

type Hub = Awaited<ReturnType<typeof aHub>>;

const hour = 3_600_000;
const day = 24 * hour;
const passed = async (hub: Hub, ms: number) => {
  await settled();
  hub.clock.advance(ms);
  await settled();
};
const leave = (hub: Hub, agentId: string, connectionId = `c-${agentId}`) =>
  hub.actors.ask('environment', hub.keyOf(), 'leave', { agentId, connectionId });
const streamsOf = async (hub: Hub, agentId: string) =>
  (
    await hub.store.agentStreams.list(hub.tenantId, 'production', agentId, {
      since: 0,
      until: t0 + 999 * hour,
    })
  ).map(({ startedAt, endedAt, isEndNoticed }) => [startedAt - t0, (endedAt ?? 0) - t0, isEndNoticed]);

it('are stored in slices after they ended, and not when thousands open or close', async () => {
  let writes = 0;
  const hub = await aHub({
    wrap: (store) => ({
      ...store,
      agentStreams: {
        ...store.agentStreams,
        record(streams) {
          writes++;
          return store.agentStreams.record(streams);
        },
      },
    }),
  });
  for (let i = 0; i < 450; i++) await hub.join({ agentId: `a${i}` });
  await passed(hub, 30_000);
  for (let i = 0; i < 450; i++) await leave(hub, `a${i}`);
  await passed(hub, 9_999);
  expect(writes).toBe(0);
  await passed(hub, 1);
  for (let i = 0; i < 4; i++) await passed(hub, 0);
  expect(writes).toBe(3);
  expect(await streamsOf(hub, 'a0')).toEqual([[0, 30_000, true]]);
  expect(await streamsOf(hub, 'a449')).toEqual([[0, 30_000, true]]);
});

it('are one where the next begins within ten seconds, whichever of the two came first', async () => {
  const hub = await aHub();
  await hub.join({ agentId: 'a', connectionId: '1' });
  await passed(hub, hour);
  await leave(hub, 'a', '1');
  await passed(hub, 8_000);
  await hub.join({ agentId: 'a', connectionId: '2' });
  await passed(hub, hour);
  await hub.join({ agentId: 'a', connectionId: '3' });
  await passed(hub, 5_000);
  await leave(hub, 'a', '2');
  const { streams } = await hub.actors.ask('environment', hub.keyOf(), 'streamsOf', {
    agentId: 'a',
    limit: 9,
  });
  expect(streams).toMatchObject([{ id: '3', startedAt: t0 }]);
  await passed(hub, hour);
  await leave(hub, 'a', '3');
  await passed(hub, 20_000);
  await hub.join({ agentId: 'a', connectionId: '4' });
  await leave(hub, 'a', '4');
  await passed(hub, 20_000);
  const end = 3 * hour + 13_000;
  expect(await streamsOf(hub, 'a')).toEqual([
    [end + 20_000, end + 20_000, true],
    [0, end, true],
  ]);
});

it('that were open when the hub died end when the next one takes over, unless their nodes announce them', async () => {
  const hub = await aHub();
  await hub.join({ agentId: 'lost' });
  await hub.join({ agentId: 'kept' });
  // The sweep stores what has been open for a while.
  await passed(hub, 600_000);
  await passed(hub, 0);
  expect(await hub.store.agentStreams.listOpen(hub.tenantId, 'production', 9, null)).toHaveLength(2);
  await hub.actors.stop();
  await passed(hub, 60_000);
  const next = hub.start();
  const tookOverAt = hub.clock.now();
  const notice = {
    ...{ agentId: 'kept', connectionId: 'c-kept', node: 'n1', bundleName: null, pinned: false },
    ...{ connectedAt: t0, policyVersion: null, ...openedBy },
  };
  await next.ask('environment', hub.keyOf(), 'join', notice);
  await passed(hub, 60_000);
  await passed(hub, 0);
  expect(await streamsOf(hub, 'lost')).toEqual([[0, tookOverAt - t0, false]]);
  expect(await streamsOf(hub, 'kept')).toEqual([]);
  await next.ask('environment', hub.keyOf(), 'leave', { agentId: 'kept', connectionId: 'c-kept' });
  await passed(hub, 10_000);
  expect(await streamsOf(hub, 'kept')).toEqual([[0, 60_000 + tookOverAt - t0, true]]);
  await next.stop();
});

it('of a node that has been gone for ten minutes end, and those of one that came back sooner go on', async () => {
  const gone = new Set<string>();
  const hub = await aHub({ ports: { isGone: (node) => gone.has(node) } });
  await hub.join({ agentId: 'dead', node: 'n2' });
  await hub.join({ agentId: 'back', node: 'n3' });
  await passed(hub, 590_000);
  for (const node of ['n2', 'n3']) gone.add(node);
  await passed(hub, 10_000);
  gone.delete('n3');
  await passed(hub, 600_000);
  await passed(hub, 600_000);
  expect(await streamsOf(hub, 'dead')).toEqual([[0, 1_200_000, false]]);
  await leave(hub, 'back');
  await passed(hub, 10_000);
  expect(await streamsOf(hub, 'back')).toEqual([[0, 1_800_000, true]]);
  for (let slice = 0; slice < 9; slice++) await passed(hub, 600_000);
  expect(await streamsOf(hub, 'dead')).toHaveLength(1);
  expect(hub.actors.size).toBe(0);
});

it('that continued another one go on under the next owner, beside streams of the agent with rows of their own', async () => {
  const hub = await aHub();
  // The row of the first stream precedes the second one's. Only the first stream is continued.
  await hub.join({ agentId: 'a', connectionId: '1' });
  await hub.join({ agentId: 'a', connectionId: '5' });
  await passed(hub, 600_000);
  await leave(hub, 'a', '1');
  await passed(hub, 2_000);
  const connectedAt = hub.clock.now();
  await hub.join({ agentId: 'a', connectionId: '2' });
  await passed(hub, 600_000);
  await hub.actors.stop();
  const next = hub.start();
  const notice = { agentId: 'a', node: 'n1', bundleName: null, pinned: false, policyVersion: null };
  const join = (connectionId: string, at: number) =>
    next.ask('environment', hub.keyOf(), 'join', { ...notice, ...openedBy, connectionId, connectedAt: at });
  await join('5', t0);
  await join('2', connectedAt);
  await passed(hub, 60_000);
  await passed(hub, 0);
  expect(await streamsOf(hub, 'a')).toEqual([]);
  const open = () => hub.store.agentStreams.listOpen(hub.tenantId, 'production', 9, null);
  expect((await open()).map(({ id }) => id)).toEqual(['1', '5']);
  const { streams } = await next.ask('environment', hub.keyOf(), 'streamsOf', { agentId: 'a', limit: 9 });
  expect(streams.map(({ id, startedAt }) => [id, startedAt])).toEqual([
    ['2', t0],
    ['5', t0],
  ]);
  await passed(hub, 600_000);
  await passed(hub, 0);
  expect(await open()).toHaveLength(2);
  await next.ask('environment', hub.keyOf(), 'leave', { agentId: 'a', connectionId: '2' });
  await passed(hub, 10_000);
  expect(await streamsOf(hub, 'a')).toEqual([[0, hub.clock.now() - 10_000 - t0, true]]);
  await next.stop();
});

it('end with the take-over where the next stream of the agent begins it', async () => {
  const hub = await aHub();
  await hub.join({ agentId: 'a', connectionId: '1' });
  await passed(hub, 600_000);
  await passed(hub, 0);
  await hub.actors.stop();
  const next = hub.start();
  const tookOverAt = hub.clock.now();
  const notice = { agentId: 'a', node: 'n1', bundleName: null, pinned: false, policyVersion: null };
  const started = { connectionId: '2', connectedAt: hub.clock.now() - 5 };
  await next.ask('environment', hub.keyOf(), 'join', { ...notice, ...openedBy, ...started });
  await passed(hub, 60_000);
  await passed(hub, 0);
  expect(await streamsOf(hub, 'a')).toEqual([[0, tookOverAt - t0, false]]);
  await next.stop();
});

it('are tried again after the store failed', async () => {
  let failures = 1;
  const hub = await aHub({
    wrap: (store) => ({
      ...store,
      agentStreams: {
        ...store.agentStreams,
        record: (streams) =>
          failures-- > 0 ? Promise.reject(new Error('away')) : store.agentStreams.record(streams),
      },
    }),
  });
  await hub.join({ agentId: 'a' });
  await leave(hub, 'a');
  await passed(hub, 10_000);
  expect(await streamsOf(hub, 'a')).toEqual([]);
  await passed(hub, 10_000);
  expect(await streamsOf(hub, 'a')).toEqual([[0, 0, true]]);
});

it('of an agent that was connected for more than a week are there after the next start', async () => {
  const hub = await aHub();
  await hub.join({ agentId: 'a', connectionId: '0' });
  for (let n = 1; n <= 8 * 24; n++) {
    for (let slice = 0; slice < 6; slice++) await passed(hub, 600_000);
    await leave(hub, 'a', `${n - 1}`);
    await passed(hub, 2_000);
    await hub.join({ agentId: 'a', connectionId: `${n}` });
    await hub.store.agentStreams.removeBefore(hub.clock.now() - 7 * day, 1000);
  }
  await hub.actors.stop();
  const next = hub.start();
  const tookOverAt = hub.clock.now();
  await next.ask('environment', hub.keyOf(), 'fleet', null);
  await passed(hub, 60_000);
  await passed(hub, 0);
  expect(await streamsOf(hub, 'a')).toEqual([[0, tookOverAt - t0, false]]);
  const period = { since: tookOverAt - day, awayBefore: hub.clock.now(), leastMs: 6 * hour };
  const away = await hub.store.agentStreams.listAway(hub.tenantId, 'production', period, 9);
  expect(away.map(({ agentId }) => agentId)).toEqual(['a']);
  await next.stop();
});

it('are stored while another agent of the environment reconnects every few seconds', async () => {
  const hub = await aHub();
  await hub.join({ agentId: 'a' });
  await hub.join({ agentId: 'unsteady', connectionId: '0' });
  for (let n = 1; n <= 450; n++) {
    await leave(hub, 'unsteady', `${n - 1}`);
    await passed(hub, 2_000);
    await hub.join({ agentId: 'unsteady', connectionId: `${n}` });
    await passed(hub, 6_000);
  }
  const open = await hub.store.agentStreams.listOpen(hub.tenantId, 'production', 9, null);
  expect(open.map(({ agentId }) => agentId)).toContain('a');
});
