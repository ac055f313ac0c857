// Streams that come and go by the thousand leave nothing: no session, no place on the wheel, no followed audience, no
// entry in a roster, no actor awake, no timer. Real stream handlers, actors and store; connections without sockets.
import { expect, it } from 'vitest';
import { environmentKey } from '../../actors/protocol.ts';
import { oneApi } from '../../src/http/live/announcer.ts';
import { consoleFrames } from '../../src/http/live/console-frames.ts';
import { createLive, type Live } from '../../src/http/live/live.ts';
import type { Sink } from '../../src/http/live/session.ts';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { settled } from '../clock.ts';
import { makeHub } from '../harness.ts';
import { silentLog } from '../log.ts';
import { runsOf } from '../runs.ts';

const cycles = runsOf(2000, 700);

it('streams, ended in every way, leave nothing behind', async () => {
  const t = await makeHub();
  const user = await t.tenant();
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  const timers = t.clock.pending;
  const live: Live = createLive({
    broadcast: t.broadcast,
    api: oneApi(consoleFrames('hex')),
    handlers: streams,
    clock: t.clock,
    log: silentLog,
    isStillValid: async () => true,
  });
  t.broadcast.onControl((message) => live.control(message));
  const withWheel = t.clock.pending;

  const open = async (i: number) => {
    const isAgent = i % 5 !== 0;
    const caller = t.key(user, i % 2 === 0 ? 'production' : 'staging', `agent-${i % 700}`);
    const admitted = isAgent
      ? await streams.admitAgent(
          caller,
          { env: caller.env, ...(i % 3 === 0 ? { bundle_name: 'b' } : {}) },
          `c${i}`,
        )
      : await streams.admitDashboard(user, {}, `c${i}`);
    const session = await live.open({
      admitted,
      caller: isAgent ? { ...caller, keyHash: `key-${i}` } : user,
      codec: i % 4 === 0 ? 'json' : 'sse',
      protocol: null,
      lastEventId: i % 7 === 0 ? '1-1' : null,
      revocationSequence: live.revocationSequence(),
    });
    const full = i % 11 === 0;
    const sink: Sink = { write: () => !full, end: () => undefined, cut: () => undefined };
    return { session, sink, keyHash: `key-${i}` };
  };

  for (let i = 0; i < cycles; i += 50) {
    const opened = await Promise.all(Array.from({ length: 50 }, (_, n) => open(i + n)));
    for (const [n, { session, sink }] of opened.entries()) {
      // Some clients leave before their stream is attached, some while it joins, the rest after.
      if (n % 10 === 0) session.gone();
      session.attach(sink);
      if (n % 10 === 1) session.gone();
    }
    if (i % 100 === 0) await settled();
    for (const [n, { session, keyHash }] of opened.entries()) {
      if (n % 2 === 0) session.gone();
      else
        await t.hub.broadcast.control({ kind: 'key_revoked', tenantId: user.tenantId, keyId: '', keyHash });
      session.gone();
    }
  }
  // Dashboards of the last way out: their user's sign-out.
  await t.hub.broadcast.control({ kind: 'user_logins_ended', userId: user.userId });
  await settled();

  expect(live.counts()).toMatchObject({ streams: 0, blocked: 0, audiences: 0, scheduled: 0 });
  expect(live.inspect()).toEqual([]);
  expect(Object.values(live.counts().ended).reduce((a, b) => a + b, 0)).toBe(cycles);
  expect(live.connectedAgents()).toBe(0);
  for (const env of ['production', 'staging'] as const) {
    const key = environmentKey(user.tenantId, env);
    const request = { bundleName: null, limit: 9, after: null };
    expect((await t.hub.actors.ask('environment', key, 'status', request)).entries).toEqual([]);
  }
  await t.clock.advanceAsync(10 * 60_000, 15_000);
  expect((t.hub.actors as unknown as { readonly size: number }).size).toBe(0);
  expect(t.clock.pending).toBe(withWheel);
  live.close();
  expect(t.clock.pending).toBe(timers);
  await t.close();
}, 30_000);
