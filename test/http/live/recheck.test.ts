// Streams whose key was revoked, or whose login ended, while this node could not be told.
import { describe, expect, it } from 'vitest';
import type { LiveCaller } from '../../../src/http/live/stream.ts';
import { adminRoles, isAdmin, memberRoles } from '../../../src/shared/env-roles.ts';
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

  it('end although another stream of their login has the roles of now', async () => {
    const h = hub();
    const user = { kind: 'user', userId: 'u1', tenantId: 't1', email: 'a@b.c', tokenHash: 'login' } as const;
    const stale = await h.open({ caller: { ...user, roles: adminRoles } });
    for (let i = 0; i < 3; i++) await h.open({ caller: { ...user, roles: memberRoles } });
    const other = await h.open({ caller: { ...user, roles: memberRoles, tokenHash: 'another' } });
    h.standing.isRefused = (caller) => caller.kind === 'user' && isAdmin(caller.roles);
    h.live.control({ kind: 'missed' });
    await settled();
    expect([stale.socket.over, other.socket.over]).toEqual(['ended', null]);
    expect(h.standing.asked.toSorted()).toEqual(['another', 'login', 'login']);
  });

  it('end with their tenant, also those by a token that ends by itself', async () => {
    const h = hub();
    const operator = (
      tenantId: string,
      subject: string,
    ): Extract<LiveCaller, { kind: 'hostedOperator' }> => ({
      kind: 'hostedOperator',
      tenantId,
      issuer: 'https://issuer.example',
      subject,
      display: subject,
      roles: memberRoles,
      loginHash: null,
      expiresAt: Number.MAX_SAFE_INTEGER,
    });
    const closed = [
      await h.open({ caller: operator('t1', 'ann') }),
      await h.open({ caller: operator('t1', 'bob') }),
    ];
    const open = await h.open({ caller: operator('t2', 'cyd') });
    h.standing.isRefused = ({ tenantId }) => tenantId === 't1';
    h.live.control({ kind: 'interruption' });
    await settled();
    expect(closed.map(({ socket }) => socket.over)).toEqual(['ended', 'ended']);
    expect(open.socket.over).toBeNull();
    expect(h.live.counts().ended).toEqual({ tenant_suspended: 2 });
    expect(h.standing.asked).toHaveLength(2);
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
