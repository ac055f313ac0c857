// Streams whose key was revoked, or whose login ended, while this node could not be told.
import { describe, expect, it } from 'vitest';
import { settled } from '../../clock.ts';
import { hub } from './fixtures.ts';

describe('streams whose revocation was missed', () => {
  it.each(['missed', 'interruption'] as const)('end as soon as the store is asked (%s)', async (kind) => {
    const h = hub();
    const revoked = await Promise.all([1, 2, 3].map((i) => h.open({ agent: `a${i}`, keyHash: 'gone' })));
    const kept = await h.open({ agent: 'b', keyHash: 'kept' });
    const person = await h.open({ dashboard: true });
    h.standing.gone.add('gone').add('login');
    h.seen.announced.length = 0;
    h.live.control({ kind });
    await settled();
    if (kind === 'interruption') expect(h.seen.announced).toEqual([]);
    expect([...revoked, person].map(({ socket }) => socket.over)).toEqual(Array(4).fill('ended'));
    expect(kept.socket.over).toBeNull();
    expect(h.live.counts().ended).toEqual({ revoked: 3, signed_out: 1 });
  });

  it('cost one question a key, not one a stream', async () => {
    const h = hub();
    for (let i = 0; i < 500; i++) await h.open({ agent: `a${i}`, keyHash: `key ${i % 120}` });
    h.live.control({ kind: 'missed' });
    await settled();
    expect(h.standing.asked).toHaveLength(120);
    expect(new Set(h.standing.asked).size).toBe(120);
  });

  it('stay while the store has no answer, and are asked about until it has', async () => {
    const h = hub();
    const one = await h.open({ keyHash: 'gone' });
    const other = await h.open({ agent: 'b', keyHash: 'kept' });
    h.standing.gone.add('gone');
    h.standing.away = true;
    h.live.control({ kind: 'missed' });
    await h.clock.advanceAsync(8000, 500);
    expect(one.socket.over).toBeNull();
    h.standing.away = false;
    await h.clock.advanceAsync(1500, 500);
    expect(one.socket.over).toBe('ended');
    expect(other.socket.over).toBeNull();
    const asked = h.standing.asked.length;
    await h.clock.advanceAsync(60_000, 1000);
    expect(h.standing.asked).toHaveLength(asked);
  });

  it('are found within 5 minutes although nothing seemed to be missed', async () => {
    const h = hub();
    const one = await h.open({ keyHash: 'gone' });
    h.standing.gone.add('gone');
    await h.clock.advanceAsync(300_000, 10_000);
    expect(one.socket.over).toBe('ended');
  });

  it('are asked about no more once the registry is closed', async () => {
    const h = hub();
    await h.open();
    h.live.close();
    h.live.control({ kind: 'missed' });
    await h.clock.advanceAsync(600_000, 60_000);
    expect(h.standing.asked).toEqual([]);
  });
});
