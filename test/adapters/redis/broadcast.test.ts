// Control messages that cannot be sent while Redis is away.
import { describe, expect, it } from 'vitest';
import { openBroadcast } from '../../../adapters/redis/broadcast.ts';
import { readControl } from '../../../adapters/redis/entry.ts';
import { unavailable } from '../../../adapters/redis/link.ts';
import type { Logs } from '../../../adapters/redis/log.ts';
import type { Followed, Reader } from '../../../adapters/redis/reader.ts';
import type { Control } from '../../../src/shared/frame.ts';
import { ManualClock } from '../../clock.ts';
import { silentLog } from '../../log.ts';

async function withoutRedis() {
  const clock = new ManualClock();
  const state = { isAway: true };
  const sent: (Control | null)[] = [];
  const here: Control[] = [];
  const logs = {
    bounds: async () => ({ floor: '0-0', end: '0-0' }),
    async append(entries: readonly { readonly body: Buffer }[]) {
      if (state.isAway) throw unavailable();
      sent.push(...entries.map(({ body }) => readControl(body)));
    },
  } as unknown as Logs;
  const followed: Followed[] = [];
  const add = (one: Followed) => void followed.push(one);
  const reader = { add, remove() {}, close: async () => {} } as unknown as Reader;
  const broadcast = await openBroadcast(logs, reader, clock, silentLog);
  broadcast.onControl((message) => void here.push(message));
  return { broadcast, clock, state, sent, here, followed };
}

const refusal = { name: 'HubError', code: 'unavailable' };

describe('control messages while Redis is away', () => {
  it('are refused, reach this node at once, and are one `missed` for every node when Redis is back', async () => {
    const { broadcast, clock, state, sent, here } = await withoutRedis();
    const revoked: Control = { kind: 'key_revoked', tenantId: 't', keyId: 'k', keyHash: 'h' };
    const ended: Control = { kind: 'login_ended', tokenHash: 'l' };
    await expect(broadcast.control(revoked)).rejects.toMatchObject(refusal);
    await expect(broadcast.control(ended)).rejects.toMatchObject(refusal);
    expect(here).toEqual([revoked, ended]);
    await clock.advanceAsync(5000, 250);
    expect(sent).toEqual([]);
    state.isAway = false;
    await clock.advanceAsync(5000, 250);
    expect(sent.length).toBeGreaterThanOrEqual(1);
    expect(sent.length).toBeLessThanOrEqual(2);
    expect(new Set(sent.map((message) => message?.kind))).toEqual(new Set(['missed']));
  });

  it('of a node that ended with them are an interruption for the others', async () => {
    const { here, followed } = await withoutRedis();
    followed[0]?.resumed?.();
    expect(here).toEqual([{ kind: 'interruption' }]);
  });

  it('that follow no change are refused only', async () => {
    const { broadcast, clock, state, sent, here } = await withoutRedis();
    const moved: Control = { kind: 'shards_moved', shards: [1] };
    await expect(broadcast.control(moved)).rejects.toMatchObject(refusal);
    state.isAway = false;
    await clock.advanceAsync(5000, 250);
    expect(sent).toEqual([]);
    expect(here).toEqual([]);
  });

  it('are given up when the node closes', async () => {
    const { broadcast, clock, state, sent } = await withoutRedis();
    await expect(broadcast.control({ kind: 'login_ended', tokenHash: 'l' })).rejects.toMatchObject(refusal);
    await broadcast.close();
    state.isAway = false;
    await clock.advanceAsync(5000, 250);
    expect(sent).toEqual([]);
  });
});
