import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../../src/event/record.ts';
import type { History } from '../../../src/http/contract/stream.ts';
import { EncodedFrame, PlacedFrame } from '../../../src/http/live/encoded.ts';
import type { Frame } from '../../../src/shared/frame.ts';
import { isAfter } from '../../../src/shared/position.ts';
import { settled } from '../../clock.ts';
import { writeFrame } from '../../frames.ts';
import { agents, bundleFrame, dashboards, decided, due, hub } from './fixtures.ts';

describe('an SSE stream that resumes nothing', () => {
  it('is sent its greeting and what is due to it in one go, and what came before it was attached', async () => {
    const { open, broadcast, seen } = hub();
    seen.catchUp = async () => [due('b', 9)];
    const { session, socket } = await open({ attach: false });
    await broadcast.publish([bundleFrame('c', 10)]);
    await settled();
    expect(socket.written).toEqual([]);
    session.attach(socket);
    expect(socket.written[0]).toMatch(/^: connected\n/);
    expect(socket.versions()).toEqual([9, 10]);
  });

  it('ends when it cannot be joined in time, and its opening with it', async () => {
    const { open, clock, live, seen } = hub();
    seen.catchUp = () => new Promise(() => {});
    const opening = open({ attach: false });
    await settled();
    await clock.advance(45_000);
    const { session, socket } = await opening;
    session.attach(socket);
    expect(socket.over).toBe('ended');
    expect(live.counts()).toMatchObject({ streams: 0, scheduled: 0, ended: { failed: 1 } });
  });
});

describe('delivery', () => {
  it('reaches every stream of the audience, in order, over more than one slice', async () => {
    const { open, broadcast } = hub();
    const all = await Promise.all(Array.from({ length: 600 }, (_, i) => open({ agent: `a${i}` })));
    await broadcast.publish([bundleFrame('b', 1), bundleFrame('b', 2)]);
    await broadcast.publish([bundleFrame('b', 3)]);
    for (let i = 0; i < 20; i++) await settled();
    for (const { socket } of all) expect(socket.versions()).toEqual([1, 2, 3]);
  });

  it('loses and repeats nothing for those who stay, when others come and go between slices', async () => {
    const { open, broadcast, live } = hub();
    const all = await Promise.all(Array.from({ length: 900 }, (_, i) => open({ agent: `a${i}` })));
    const publishing = broadcast.publish([bundleFrame('b', 1), bundleFrame('b', 2)]);
    const leaving = all.filter((_, i) => i % 3 === 0);
    const staying = all.filter((_, i) => i % 3 !== 0);
    const late = [];
    for (const [i, { session }] of leaving.entries()) {
      session.gone();
      if (i % 50 === 0) late.push(await open({ agent: `late${i}` }));
    }
    await publishing;
    for (let i = 0; i < 20; i++) await settled();
    for (const { socket } of staying) expect(socket.versions()).toEqual([1, 2]);
    expect(live.counts().streams).toBe(staying.length + late.length);
    expect(live.inspect()).toEqual([
      { audience: agents, streams: live.counts().streams, indexed: live.counts().streams },
    ]);
  });

  it('reaches streams that share an agent in slices, once each, while others of the agent come and go', async () => {
    const { open, broadcast, live } = hub();
    const all = await Promise.all(Array.from({ length: 700 }, () => open({ agent: 'default' })));
    const publishing = broadcast.publish([decided('default', 'p1'), decided('default', 'p2')]);
    const served = all.filter(({ socket }) => socket.frames().length > 0).length;
    expect(served).toBe(250);
    const leaving = all.filter((_, i) => i % 3 === 0);
    for (const { session } of leaving) session.gone();
    const late = await open({ agent: 'default' });
    await publishing;
    for (let i = 0; i < 20; i++) await settled();
    for (const [i, { socket }] of all.entries())
      if (i % 3 !== 0) expect(socket.versions()).toEqual(['p1', 'p2']);
    expect(late.socket.versions()).toEqual([]);
    const streams = all.length - leaving.length + 1;
    expect(live.inspect()).toEqual([{ audience: agents, streams, indexed: streams }]);
  });

  it('goes to the named agent alone, and to the streams of the bundle or of all bundles', async () => {
    const { open, broadcast } = hub();
    const [a, a2, b] = await Promise.all([
      open({ agent: 'a' }),
      open({ agent: 'a', bundle: 'x' }),
      open({ agent: 'b', bundle: 'y' }),
    ]);
    await broadcast.publish([decided('a', 'p1'), bundleFrame('x', 1), bundleFrame('y', 2)]);
    expect(a.socket.versions()).toEqual(['p1', 1, 2]);
    expect(a2.socket.versions()).toEqual(['p1', 1]);
    expect(b.socket.versions()).toEqual([2]);
  });

  it('follows a changed assignment, but not when the stream asked for a bundle by name', async () => {
    const { open, broadcast } = hub();
    const moved = await open({ agent: 'a' });
    const pinned = await open({ agent: 'a', bundle: 'x' });
    const change = writeFrame({
      audience: agents,
      type: 'assignment_changed',
      data: { type: 'assignment_changed', agent_id: 'a', bundle_name: 'y', source: 'explicit' },
      agent: 'a',
      assigned: 'y',
    });
    await broadcast.publish([change, bundleFrame('x', 1), bundleFrame('y', 2)]);
    expect(moved.socket.versions()).toEqual(['assignment_changed', 2]);
    expect(pinned.socket.versions()).toEqual(['assignment_changed', 1]);
    await broadcast.publish([3, 4].map((n) => bundleFrame(n === 3 ? 'x' : 'y', n, { anyAssignment: true })));
    expect(moved.socket.versions().slice(2)).toEqual([3, 4]);
    expect(pinned.socket.versions().slice(2)).toEqual([3]);
  });

  it('says the same in every codec, with the id beside', async () => {
    const { open, broadcast } = hub();
    const [sse, json, packed] = await Promise.all([
      open(),
      open({ codec: 'json' }),
      open({ codec: 'msgpack' }),
    ]);
    await broadcast.publish([bundleFrame('b', 1)]);
    const [frame] = sse.socket.frames();
    expect(frame?.type).toBe('contract_update');
    const expected = [{ id: frame?.id, ...frame?.data }];
    expect(json.socket.written.map((t) => JSON.parse(t))).toEqual(expected);
    expect(packed.socket.written.map((t) => JSON.parse(t))).toEqual(expected);
  });
});

describe('joining', () => {
  it('replays what was missed, compacted to the newest per bundle, before what is live', async () => {
    const { open, broadcast } = hub();
    const first = await open({ agent: 'a' });
    await broadcast.publish([bundleFrame('b', 1)]);
    first.session.gone();
    await broadcast.publish([
      bundleFrame('b', 2),
      decided('other', 'p0'),
      decided('a', 'p1'),
      bundleFrame('b', 3),
    ]);
    const again = await open({ agent: 'a', lastEventId: first.socket.frames().at(-1)?.id ?? '' });
    await broadcast.publish([bundleFrame('b', 4)]);
    expect(again.socket.versions()).toEqual(['p1', 3, 4]);
  });

  it('holds frames that arrive meanwhile: none lost, none twice, ids rising', async () => {
    const { open, broadcast, seen } = hub();
    const before = await open({ agent: 'a' });
    await broadcast.publish([bundleFrame('b', 1)]);
    const lastEventId = before.socket.frames()[0]?.id ?? '';
    await broadcast.publish([bundleFrame('b', 2), decided('a', 'p1')]);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    seen.catchUp = async () => {
      await held;
      return [due('c', 7), due('b', 2)];
    };
    const opening = await open({ agent: 'a', lastEventId });
    await broadcast.publish([
      decided('a', 'p2'),
      bundleFrame('c', 7),
      bundleFrame('d', 1),
      bundleFrame('d', 2),
    ]);
    release();
    await settled();
    await broadcast.publish([decided('a', 'p3')]);
    expect(opening.socket.versions()).toEqual([2, 'p1', 7, 'p2', 2, 'p3']);
    const ids = opening.socket.frames().map(({ id }) => id);
    for (const [i, id] of ids.entries()) expect(isAfter(id, ids[i - 1] ?? '')).toBe(true);
  });

  it('does not send again what the log already had but this node had not been sent', async () => {
    const { open, broadcast } = hub();
    const first = await open({ agent: 'a' });
    await broadcast.publish([decided('a', 'p1')]);
    const [seen] = first.socket.frames();
    // A log that is ahead of its delivery: the next two frames are readable before they are delivered.
    const real = broadcast.since.bind(broadcast);
    const ahead = [
      { position: '1700000000000-50', frame: decided('a', 'p2') },
      { position: '1700000000000-51', frame: decided('a', 'p3') },
    ];
    broadcast.since = async () => ahead;
    const again = await open({ agent: 'a', lastEventId: seen?.id ?? '' });
    broadcast.since = real;
    const feed = again.session as unknown as { take(frame: PlacedFrame): void; seen: number };
    const take = (position: string, frame: Frame) =>
      feed.take(new PlacedFrame(position, new EncodedFrame(frame), feed.seen + 1));
    for (const { position, frame } of ahead) take(position, frame);
    take('1700000000000-52', decided('a', 'p4'));
    expect(again.socket.versions()).toEqual(['p2', 'p3', 'p4']);
  });

  it('says resync when it cannot replay, and then catches up', async () => {
    const { open, seen } = hub();
    seen.catchUp = async () => [due('b', 9)];
    for (const [lastEventId, reason] of [
      ['nonsense', 'position_unknown'],
      ['1-1', 'position_gone'],
    ] as const) {
      const { socket } = await open({ lastEventId });
      expect(socket.frames().map(({ type }) => type)).toEqual(['resync', 'contract_update']);
      expect(socket.frames()[0]?.data).toEqual({ type: 'resync', reason });
    }
  });

  it('says resync instead of replaying more than a slow reader may have waiting', async () => {
    const { open, broadcast } = hub();
    const first = await open({ agent: 'a' });
    await broadcast.publish([decided('a', 'p')]);
    first.session.gone();
    await broadcast.publish(Array.from({ length: 40 }, (_, i) => decided('a', `p${i}`, 10_000)));
    const { socket } = await open({ agent: 'a', lastEventId: first.socket.frames()[0]?.id ?? '' });
    expect(socket.frames()[0]?.data.reason).toBe('too_far_behind');
  });

  it('says resync where the hub lost frames, and goes on after it', async () => {
    const { open, broadcast } = hub();
    const follow = broadcast.follow.bind(broadcast);
    let lose: (position: string) => void = () => {};
    broadcast.follow = (audience, deliver, lost) => {
      lose = lost ?? lose;
      return follow(audience, deliver, lost);
    };
    const { socket } = await open({ agent: 'a' });
    lose('1700000000000-7');
    await broadcast.publish([decided('a', 'p1')]);
    expect(socket.frames()[0]).toEqual({ id: '1700000000000-7', type: 'resync', data: { type: 'resync' } });
    expect(socket.versions()).toEqual(['resync', 'p1']);
  });

  it('that fails ends the stream', async () => {
    const { open, seen } = hub();
    seen.catchUp = () => Promise.reject(new Error('no actor'));
    const { socket, id } = await open();
    expect([socket.over, seen.closed]).toEqual(['ended', [id]]);
  });

  it('gives a client that saw the third frame of its own the fourth', async () => {
    const { open, seen, broadcast } = hub();
    seen.catchUp = async () => [due('a', 1), due('b', 1), due('c', 1)];
    const first = await open();
    const last = first.socket.frames().at(-1)?.id ?? '';
    expect(last).toMatch(/\.3$/);
    const second = await open({ lastEventId: last });
    expect(second.socket.frames()[0]?.id).toBe(last.replace('.3', '.4'));
    await broadcast.close();
  });
});

describe('a stream that reads its history', () => {
  const page = (frames: readonly Frame[] = [], more = false) => ({
    frames: frames.map((frame, i) => ({ position: `${i + 1}-0`, frame })),
    more,
  });
  const stored = (id: string): Frame =>
    writeFrame({
      audience: agents,
      type: 'event',
      data: { version: id, filler: 'x'.repeat(10_000) },
      event: { id } as StoredEvent,
    });
  const inBetween = Array.from({ length: 40 }, (_, i) => stored(`p${i}`));

  it('ends with its key at once, as its feed does not know it yet', async () => {
    const { open, broadcast, live } = hub();
    const history: History = { next: () => new Promise(() => {}), again: async () => {} };
    const { socket } = await open({ history, lastEventId: '7', keyHash: 'gone' });
    const kept = await open({ history, lastEventId: '7' });
    await broadcast.control({ kind: 'key_revoked', tenantId: 't1', keyId: 'k', keyHash: 'gone' });
    expect([socket.over, kept.socket.over]).toEqual(['ended', null]);
    expect(live.counts().ended).toEqual({ revoked: 1 });
  });

  it('ends soon after a revocation that this node missed', async () => {
    const { open, live, standing } = hub();
    const history: History = { next: () => new Promise(() => {}), again: async () => {} };
    const { socket } = await open({ history, lastEventId: '7', keyHash: 'gone' });
    standing.gone.add('gone');
    live.control({ kind: 'missed' });
    for (let i = 0; i < 20; i++) await settled();
    expect(socket.over).toBe('ended');
  });

  it('ends when its key does, however slowly it reads', async () => {
    const { open, clock } = hub();
    let give = (): void => {};
    const history: History = {
      next: () =>
        new Promise((resolve) => {
          give = () => resolve(page([], true));
        }),
      again: async () => {},
    };
    const { socket } = await open({ history, lastEventId: '7', expiresAt: clock.now() + 60_000 });
    for (let i = 0; i < 5; i++) {
      expect(socket.over).toBe(i < 4 ? null : 'ended');
      await clock.advance(20_000);
      give();
      await settled();
    }
  });

  it('reads again when more arrives during its last page than may wait, and gets each frame', async () => {
    const { open, broadcast } = hub();
    const pages: (() => Promise<ReturnType<typeof page>>)[] = [
      async () => page(),
      async () => {
        await broadcast.publish(inBetween);
        return page();
      },
      async () => page(inBetween),
    ];
    let again = 0;
    const history: History = {
      next: async () => (await pages.shift()?.()) ?? page(),
      again: async () => {
        again++;
      },
    };
    const { socket } = await open({ history, lastEventId: '7' });
    for (let i = 0; i < 20; i++) await settled();
    expect([socket.over, again]).toEqual([null, 2]);
    await broadcast.publish([stored('later')]);
    expect(socket.versions()).toEqual([...inBetween.map((_, i) => `p${i}`), 'later']);
  });
});

describe('a slow reader', () => {
  it('keeps only the newest frame per bundle, and gets it when it drains', async () => {
    const { open, broadcast, live } = hub();
    const { session, socket } = await open({ agent: 'a' });
    socket.full = true;
    await broadcast.publish([bundleFrame('b', 1)]);
    await broadcast.publish([
      bundleFrame('b', 2),
      decided('a', 'p'),
      bundleFrame('c', 1),
      bundleFrame('b', 3),
    ]);
    expect([socket.versions(), live.counts().blocked]).toEqual([[1], 1]);
    socket.full = false;
    expect(session.writable()).toBe(true);
    expect([socket.versions(), live.counts().blocked]).toEqual([[1, 'p', 1, 3], 0]);
  });

  it('is written to when it drains although nothing waits, because it would never drain again', async () => {
    const { open, broadcast } = hub();
    const { session, socket } = await open();
    socket.full = true;
    await broadcast.publish([bundleFrame('b', 1)]);
    expect(session.writable()).toBe(false);
    socket.full = false;
    expect(session.writable()).toBe(true);
    expect(socket.written.slice(-2)).toEqual([':\n\n', ':\n\n']);
  });

  it('is cut when more waits than its bound, and others are not', async () => {
    const { open, broadcast, seen } = hub();
    const slow = await open({ agent: 'a' });
    const other = await open({ agent: 'a' });
    slow.socket.full = true;
    await broadcast.publish(Array.from({ length: 40 }, (_, i) => decided('a', `p${i}`, 10_000)));
    expect([slow.socket.over, other.socket.over]).toEqual(['cut', null]);
    expect(other.socket.frames()).toHaveLength(40);
    expect(seen.closed).toEqual([slow.id]);
  });

  it('is cut after 30 s without draining, and is sent no keepalive until then', async () => {
    const { open, broadcast, clock } = hub();
    const { socket } = await open();
    socket.full = true;
    await broadcast.publish([bundleFrame('b', 1)]);
    const before = socket.written.length;
    clock.advance(29_750);
    expect([socket.over, socket.written.length]).toEqual([null, before]);
    clock.advance(500);
    expect(socket.over).toBe('cut');
  });
});

describe('the wheel', () => {
  it('sends a keepalive every 15 s', async () => {
    const { open, clock } = hub();
    const { socket } = await open();
    clock.advance(60_000);
    expect(socket.written.filter((text) => text === ': keepalive\n\n')).toHaveLength(4);
  });

  it.each(['json', 'msgpack'] as const)(
    'sends a keepalive message on a %s WebSocket whose client asks for one, and on no other',
    async (codec) => {
      const { open, clock } = hub();
      const keepalive = { type: 'keepalive' };
      const { socket } = await open({ dashboard: true, codec, keepalive });
      const { socket: other } = await open({ codec });
      const { socket: events } = await open({ dashboard: true, keepalive });
      clock.advance(30_000);
      expect(socket.written.map((text) => JSON.parse(text))).toEqual([keepalive, keepalive]);
      expect(other.written).toEqual([]);
      expect(events.written.filter((text) => text.includes('keepalive'))).toHaveLength(2);
      expect(events.written.join('')).not.toContain('data: {"type":"keepalive"');
    },
  );

  it('ends the streams of a key within 15 s of its expiry', async () => {
    const { open, clock } = hub();
    const { socket } = await open({ expiresAt: clock.now() + 60_000 });
    const { socket: other } = await open();
    clock.advance(59_999);
    expect(socket.over).toBeNull();
    clock.advance(15_001);
    expect([socket.over, other.over]).toEqual(['ended', null]);
  });

  it('ends streams at the age of an hour, give or take a tenth', async () => {
    const { open, clock } = hub();
    const { socket } = await open();
    clock.advance(0.89 * 3_600_000);
    expect(socket.over).toBeNull();
    clock.advance(0.22 * 3_600_000);
    expect(socket.over).toBe('ended');
  });
});

describe('endings', () => {
  it('come at once with a revoked key, a sign-out, or all sign-outs of a user', async () => {
    const { open, broadcast, live } = hub();
    const revoked = await open({ keyHash: 'gone' });
    const kept = await open();
    const board = await open({ dashboard: true });
    await broadcast.control({ kind: 'key_revoked', tenantId: 't1', keyId: 'k', keyHash: 'gone' });
    expect([revoked.socket.over, kept.socket.over]).toEqual(['ended', null]);
    await broadcast.control({ kind: 'login_ended', tokenHash: 'other' });
    expect(board.socket.over).toBeNull();
    await broadcast.control({ kind: 'login_ended', tokenHash: 'login' });
    expect(board.socket.over).toBe('ended');
    const again = await open({ dashboard: true });
    await broadcast.control({ kind: 'user_logins_ended', userId: 'u1' });
    expect(again.socket.over).toBe('ended');
    expect(live.counts()).toMatchObject({ streams: 1, audiences: 1, ended: { revoked: 1, signed_out: 2 } });
  });

  it('of all logins of a user but one leave that one', async () => {
    const { open, broadcast } = hub();
    const board = await open({ dashboard: true });
    await broadcast.control({ kind: 'user_logins_ended', userId: 'u1', except: 'login' });
    expect(board.socket.over).toBeNull();
    await broadcast.control({ kind: 'user_logins_ended', userId: 'u1', except: 'another' });
    expect(board.socket.over).toBe('ended');
  });

  it('reach a stream whose caller was identified just before the revocation', async () => {
    const { open, broadcast, live } = hub();
    const revocationSequence = live.revocationSequence();
    await broadcast.control({ kind: 'key_revoked', tenantId: 't1', keyId: 'k', keyHash: 'key' });
    const late = await open({ revocationSequence });
    expect(late.socket.over).toBe('ended');
    const fresh = await open();
    expect(fresh.socket.over).toBeNull();
  });

  it('are told exactly once, however a stream ends', async () => {
    const { open, seen, live } = hub();
    const one = await open();
    one.session.gone();
    one.session.gone();
    const never = await open({ attach: false });
    never.session.gone();
    never.session.attach(one.socket);
    const last = await open();
    live.close();
    last.session.gone();
    expect(seen.closed).toEqual([one.id, never.id, last.id]);
    expect(live.inspect()).toEqual([]);
  });

  it('are spread over the time a drain takes, and new streams are refused meanwhile', async () => {
    const { open, live, clock } = hub();
    const all = await Promise.all(Array.from({ length: 100 }, () => open()));
    let drained = false;
    const draining = live.drain(10_000).then(() => {
      drained = true;
    });
    clock.advance(5_000);
    const over = all.filter(({ socket }) => socket.over).length;
    expect(over).toBeGreaterThan(30);
    expect(over).toBeLessThan(70);
    await expect(open()).rejects.toMatchObject({ code: 'shutting_down' });
    expect(drained).toBe(false);
    clock.advance(5_000);
    await draining;
    expect(live.counts().streams).toBe(0);
  });

  it('reach a stream whose audience refused another while it drains', async () => {
    const { open, live, broadcast } = hub();
    const { socket } = await open({ keyHash: 'gone' });
    const draining = live.drain(10_000);
    await expect(open()).rejects.toMatchObject({ code: 'shutting_down' });
    expect(live.counts().streams).toBe(1);
    await broadcast.control({ kind: 'key_revoked', tenantId: 't1', keyId: 'k', keyHash: 'gone' });
    expect(socket.over).toBe('ended');
    await draining;
  });

  it('let the audience go when its last stream left, and follow it anew', async () => {
    const { open, broadcast, live } = hub();
    const first = await open({ dashboard: true });
    expect(live.inspect()).toMatchObject([{ audience: dashboards, streams: 1 }]);
    first.session.gone();
    expect(live.inspect()).toEqual([]);
    const second = await open({ dashboard: true });
    await broadcast.publish([
      writeFrame({ audience: dashboards, type: 'event_created', data: { type: 'event_created' } }),
    ]);
    expect(second.socket.frames()).toHaveLength(1);
    expect(first.socket.frames()).toHaveLength(0);
  });
});

describe('an actor that asks for its roster', () => {
  it('has every stream of its environment announced again', async () => {
    const { open, broadcast, seen } = hub();
    const all = await Promise.all(Array.from({ length: 300 }, () => open()));
    await open({ dashboard: true });
    await broadcast.control({ kind: 'roster_wanted', tenantId: 't1', env: 'production' });
    await settled();
    expect([...seen.announced].sort()).toEqual(all.map(({ id }) => id).sort());
    await broadcast.control({ kind: 'roster_wanted', tenantId: 't1', env: 'staging' });
    await settled();
    expect(seen.announced).toHaveLength(300);
  });

  it('while this node could not hear it has the streams of every environment announced again', async () => {
    const { open, live, seen } = hub();
    const all = await Promise.all(
      Array.from({ length: 300 }, (_, i) => open({ env: i % 2 === 0 ? 'production' : 'staging' })),
    );
    await open({ dashboard: true });
    live.control({ kind: 'missed' });
    await settled();
    expect([...seen.announced].sort()).toEqual(all.map(({ id }) => id).sort());
  });

  it('has a few environments at a time announced when all are, so that their owners keep up', async () => {
    const { open, live, seen } = hub();
    const tenants = Array.from({ length: 20 }, (_, i) => `t${i}`);
    const all = await Promise.all(tenants.map((tenant) => open({ tenant })));
    const ends: (() => void)[] = [];
    seen.announce = () => new Promise((resolve) => ends.push(resolve));
    live.control({ kind: 'missed' });
    await settled();
    expect(ends.length).toBeLessThan(10);
    while (ends.length > 0) {
      ends.shift()?.();
      await settled();
    }
    expect([...seen.announced].sort()).toEqual(all.map(({ id }) => id).sort());
  });
});

describe('an announcement that fails', () => {
  it('is tried again while an outage lasts, and a stream that cannot be announced for 45 s ends', async () => {
    const { open, broadcast, seen, clock } = hub();
    const once = await open({ agent: 'once' });
    const never = await open({ agent: 'never' });
    let failures = 0;
    seen.announce = async (id) => {
      if (id === never.id || failures++ === 0) throw new Error('no owner');
    };
    await broadcast.control({ kind: 'roster_wanted', tenantId: 't1', env: 'production' });
    await clock.advanceAsync(30_000, 250);
    expect([once.socket.over, never.socket.over]).toEqual([null, null]);
    await clock.advanceAsync(30_000, 250);
    expect([once.socket.over, never.socket.over]).toEqual([null, 'ended']);
    expect(seen.announced).toContain(once.id);
  });
});

describe('messages of an agent', () => {
  const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

  it('are answered with their ref, or with the error of the same HTTP route', async () => {
    const { open, seen } = hub();
    const { session, socket } = await open({ codec: 'json' });
    session.received(text({ type: 'events', ref: 7, body: {} }), false);
    session.received(text({ type: 'other', ref: 'x' }), false);
    session.received(new TextEncoder().encode('{'), false);
    await settled();
    seen.message = () => Promise.reject(new TypeError('secret'));
    session.received(text({ type: 'report', body: {} }), false);
    await settled();
    expect(socket.written.map((t) => JSON.parse(t))).toEqual(
      expect.arrayContaining([
        { type: 'result', ref: 7, status: 200, body: { got: 'events' } },
        { type: 'result', ref: 'x', status: 422, code: 'validation_failed', detail: expect.any(Array) },
        { type: 'result', ref: null, status: 400, code: 'invalid_json', detail: expect.any(String) },
        { type: 'result', ref: null, status: 500, code: 'internal', detail: 'Internal server error.' },
      ]),
    );
  });
});
