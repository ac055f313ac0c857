import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/shared/error.ts';
import { settled } from '../../clock.ts';
import { anAnnouncement, aSystem, aTell } from './counter.ts';

describe('one message at a time', () => {
  it('handles the messages of a key in order of arrival, each after the one before has ended', async () => {
    const { actors, ports, latch } = aSystem();
    const open = latch('g');
    const first = actors.ask('counter', 'a', 'add', { n: 1, hold: 'g' });
    const second = actors.ask('counter', 'a', 'add', { n: 2 });
    await settled();
    expect(ports.steps).toEqual(['a+1 begins']);
    open();
    expect(await Promise.all([first, second])).toEqual([1, 3]);
    expect(ports.steps).toEqual(['a+1 begins', 'a+1 ends', 'a+2 begins', 'a+2 ends']);
  });

  it('lets another key go on meanwhile', async () => {
    const { actors, latch } = aSystem();
    const open = latch('g');
    const held = actors.ask('counter', 'a', 'add', { n: 1, hold: 'g' });
    expect(await actors.ask('counter', 'b', 'add', { n: 5 })).toBe(5);
    open();
    await held;
  });
});

it('an envelope is handled later, never inside the call that sends it', async () => {
  const { actors, ports } = aSystem();
  await actors.ask('counter', 'a', 'read', null);
  const asked = actors.ask('counter', 'a', 'add', { n: 1 });
  expect(ports.steps).toEqual([]);
  await asked;
});

describe('activation', () => {
  it('builds the state from the store once, before the first message', async () => {
    const { actors, ports } = aSystem();
    ports.stored.set('a', 41);
    expect(await Promise.all([1, 1].map((n) => actors.ask('counter', 'a', 'add', { n })))).toEqual([42, 43]);
    expect(ports.activations).toBe(1);
  });

  it('that fails answers unavailable to those waiting, and is tried again by the next message', async () => {
    const { actors, ports, log } = aSystem();
    ports.broken = new Error('store down');
    const both = await Promise.allSettled([1, 2].map((n) => actors.ask('counter', 'a', 'add', { n })));
    const refused = { status: 'rejected', reason: { code: 'unavailable', detail: { retryAfter: 1 } } };
    expect(both).toMatchObject([refused, refused]);
    // One try for all that waited: a store that is down is not asked once per message.
    expect(ports.activations).toBe(1);
    expect(log.lines[0]).toMatchObject({ level: 'error', fields: { err: ports.broken } });
    ports.broken = null;
    expect(await actors.ask('counter', 'a', 'add', { n: 3 })).toBe(3);
  });
});

describe('effects', () => {
  const all = {
    jobs: [{ id: 'j', queue: 'q', payload: null, runAt: 0, maxAttempts: 1 }],
    control: [{ kind: 'login_ended' as const, tokenHash: 'h' }],
    announcements: [anAnnouncement(1), anAnnouncement(2)],
    tells: [aTell('b', 7)],
  };

  it('leave in order, and before the reply', async () => {
    const { actors, left } = aSystem();
    await actors.ask('counter', 'a', 'emit', all);
    expect(left).toEqual([...all.announcements, ...all.control, ...all.jobs]);
    expect(await actors.ask('counter', 'b', 'read', null)).toBe(7);
  });

  it('that have left are noted before a stop ends; a hand-over does not wait for that', async () => {
    const { actors } = aSystem();
    let note = () => {};
    const left = () => new Promise<void>((resolve) => (note = resolve));
    await actors.ask('counter', 'a', 'emit', { announcements: [anAnnouncement(1)], onSent: left });
    await actors.quiet(() => true, 1000);
    let stopped = false;
    const stopping = actors.stop().then(() => (stopped = true));
    await settled();
    expect(stopped).toBe(false);
    note();
    await stopping;
  });

  it('do not leave before the handler has resolved, and never when it throws', async () => {
    const { actors, left, latch } = aSystem();
    const open = latch('g');
    const held = actors.ask('counter', 'a', 'add', { n: 1, hold: 'g' });
    const emitted = actors.ask('counter', 'a', 'emit', { announcements: [anAnnouncement(1)] });
    await settled();
    expect(left).toEqual([]);
    open();
    await Promise.all([held, emitted]);
    expect(left).toHaveLength(1);
    await expect(actors.ask('counter', 'a', 'fail', { how: 'conflict' })).rejects.toThrow('no');
    expect(left).toHaveLength(1);
  });

  it('that cannot leave answer unavailable; the rest leaves, and the state is built again', async () => {
    const { actors, ports, log, left } = aSystem({
      announcer: { announce: () => Promise.reject(new Error('bus down')) },
      broadcast: { control: async () => {} },
    });
    await expect(actors.ask('counter', 'a', 'emit', all)).rejects.toMatchObject({ code: 'unavailable' });
    expect(left).toEqual(all.jobs);
    expect(log.lines[0]?.fields).toMatchObject({ err: new Error('bus down') });
    await actors.ask('counter', 'a', 'read', null);
    expect(ports.activations).toBe(3);
  });

  it('tells never make the teller wait, not even for itself', async () => {
    const { actors, latch, ports } = aSystem();
    const open = latch('g');
    const held = actors.ask('counter', 'b', 'add', { n: 1, hold: 'g' });
    await actors.ask('counter', 'a', 'emit', { tells: [aTell('b', 1), aTell('a', 5)] });
    expect(await actors.ask('counter', 'a', 'read', null)).toBe(5);
    expect(ports.steps).not.toContain('b+1 ends');
    open();
    await held;
    expect(await actors.ask('counter', 'b', 'read', null)).toBe(2);
  });

  it('a tell that finds a full mailbox is tried again', async () => {
    const { actors, clock, latch } = aSystem({ mailboxCap: 1 });
    const open = latch('g');
    const held = actors.ask('counter', 'b', 'add', { n: 1, hold: 'g' });
    await settled();
    const queued = actors.ask('counter', 'b', 'add', { n: 1 });
    await actors.ask('counter', 'a', 'emit', { tells: [aTell('b', 40)] });
    open();
    await Promise.all([held, queued]);
    expect(await actors.ask('counter', 'b', 'read', null)).toBe(2);
    await clock.advanceAsync(100);
    expect(await actors.ask('counter', 'b', 'read', null)).toBe(42);
  });

  it('a tell that finds a full mailbox for 5 s is given up, and logged', async () => {
    const { actors, clock, latch, log } = aSystem({ mailboxCap: 1 });
    const open = latch('g');
    const held = actors.ask('counter', 'b', 'add', { n: 1, hold: 'g' }).catch(() => null);
    await settled();
    const queued = actors.ask('counter', 'b', 'add', { n: 1 }).catch(() => null);
    await actors.ask('counter', 'a', 'emit', { tells: [aTell('b', 40)] });
    clock.advance(6000);
    expect(log.lines).toMatchObject([{ level: 'error', fields: { actor: 'b', why: 'mailbox full' } }]);
    open();
    await Promise.all([held, queued]);
  });
});

describe('failures', () => {
  it("give a handler's HubError to the asker and keep the activation", async () => {
    const { actors, ports } = aSystem();
    await expect(actors.ask('counter', 'a', 'fail', { how: 'conflict' })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await actors.ask('counter', 'a', 'read', null)).toBe(-1);
    expect(ports.activations).toBe(1);
  });

  it('of any other kind answer internal without the cause, are logged, and the state is built again', async () => {
    const { actors, ports, log } = aSystem();
    ports.stored.set('a', 9);
    const failed = actors.ask('counter', 'a', 'fail', { how: 'bug' });
    const next = actors.ask('counter', 'a', 'read', null);
    await expect(failed).rejects.toMatchObject({ code: 'internal', message: 'Internal error.' });
    expect(await next).toBe(9);
    expect(ports.activations).toBe(2);
    expect(log.lines).toMatchObject([{ level: 'error', fields: { err: { message: 'a bug' }, actor: 'a' } }]);
  });

  it('of a store that may have stored a part go to the asker, and the state is built again', async () => {
    const { actors, ports } = aSystem();
    ports.stored.set('a', 9);
    await expect(actors.ask('counter', 'a', 'fail', { how: 'full' })).rejects.toMatchObject({
      code: 'disk_full',
    });
    expect(await actors.ask('counter', 'a', 'read', null)).toBe(9);
    expect(ports.activations).toBe(2);
  });

  it('drop the timers of the activation that failed', async () => {
    const { actors, clock, ports } = aSystem();
    const before = clock.pending;
    await actors.ask('counter', 'a', 'timer', { name: 'x', at: 100 });
    await actors.ask('counter', 'a', 'fail', { how: 'bug' }).catch(() => null);
    // The timer of the asks' time limit stands.
    expect(clock.pending).toBe(before + 1);
    await clock.advanceAsync(200);
    expect(ports.steps).toEqual([]);
  });

  it('a message that no actor takes is an internal error', async () => {
    const { actors } = aSystem();
    await expect(actors.receive({ kind: 'counter', key: 'a', type: 'toString', body: null })).rejects.toThrow(
      'No actor takes counter.toString.',
    );
    expect(actors.size).toBe(0);
  });
});

describe('bounds', () => {
  it('a full mailbox answers overloaded at once', async () => {
    const { actors, latch } = aSystem();
    const open = latch('g');
    const held = actors.ask('counter', 'a', 'add', { n: 1, hold: 'g' });
    await settled();
    const waiting = Array.from({ length: 1000 }, () => actors.ask('counter', 'a', 'add', { n: 1 }));
    const over = { code: 'overloaded', detail: { retryAfter: 1 } };
    await expect(actors.ask('counter', 'a', 'add', { n: 1 })).rejects.toMatchObject(over);
    await expect(actors.tell('counter', 'a', 'add', { n: 1 })).rejects.toMatchObject(over);
    open();
    await Promise.all([held, ...waiting]);
    expect(await actors.ask('counter', 'a', 'read', null)).toBe(1001);
  });

  it('an asker is told unavailable after 5 s; an envelope not begun by then is not handled any more', async () => {
    const { actors, clock, latch, ports } = aSystem();
    const open = latch('g');
    const asked = Promise.allSettled([
      actors.ask('counter', 'a', 'add', { n: 1, hold: 'g' }),
      actors.ask('counter', 'a', 'add', { n: 10 }),
    ]);
    await settled();
    clock.advance(4999);
    const later = actors.ask('counter', 'a', 'add', { n: 100 });
    clock.advance(1);
    const refused = { status: 'rejected', reason: { code: 'unavailable', detail: { retryAfter: 1 } } };
    expect(await asked).toMatchObject([refused, refused]);
    open();
    expect(await later).toBe(101);
    expect(ports.steps).not.toContain('a+10 begins');
  });
});

it('who asks with many others waits for its turn: for 30 s, where others wait for 5', async () => {
  const { actors, clock, latch } = aSystem();
  const open = latch('g');
  const first = actors.ask('counter', 'a', 'arrive', { n: 1, hold: 'g' });
  const hurried = actors.ask('counter', 'a', 'add', { n: 100 }).catch((error: unknown) => error);
  await settled();
  await clock.advanceAsync(29_999);
  expect(await hurried).toMatchObject({ code: 'unavailable', detail: { retryAfter: 1 } });
  open();
  expect(await first).toBe(1);
  latch('never');
  const late = actors.ask('counter', 'a', 'arrive', { n: 1, hold: 'never' }).catch((error: unknown) => error);
  await clock.advanceAsync(30_000);
  expect(await late).toMatchObject({ code: 'unavailable', detail: { retryAfter: 1 } });
});

describe('timers', () => {
  it('ring as messages, not before their time, once', async () => {
    const { actors, clock, ports } = aSystem();
    await actors.ask('counter', 'a', 'timer', { name: 'x', at: 1000 });
    await clock.advanceAsync(999);
    expect(ports.steps).toEqual([]);
    await clock.advanceAsync(1);
    await clock.advanceAsync(5000);
    expect(ports.steps).toEqual(['a rang x@1000']);
  });

  it('wait for the message being handled, and are forgotten when it clears or moves them', async () => {
    const { actors, clock, ports, latch } = aSystem();
    for (const name of ['x', 'y', 'z']) await actors.ask('counter', 'a', 'timer', { name, at: 100 });
    const open = latch('g');
    const held = actors.ask('counter', 'a', 'add', { n: 1, hold: 'g' });
    const moved = [
      actors.ask('counter', 'a', 'timer', { name: 'x', at: null }),
      actors.ask('counter', 'a', 'timer', { name: 'y', at: 300 }),
    ];
    await settled();
    clock.advance(100);
    open();
    await Promise.all([held, ...moved]);
    await settled();
    await clock.advanceAsync(200, 100);
    expect(ports.steps).toEqual(['a+1 begins', 'a+1 ends', 'a rang z@100', 'a rang y@300']);
  });

  it('that the clock fires too early are set again', async () => {
    const { actors, clock, ports } = aSystem();
    const { after } = clock;
    clock.after = (ms, task) => after.call(clock, ms > 10 ? ms - 5 : ms, task);
    await actors.ask('counter', 'a', 'timer', { name: 'x', at: 1000 });
    await clock.advanceAsync(999);
    expect(ports.steps).toEqual([]);
    await clock.advanceAsync(1);
    expect(ports.steps).toEqual(['a rang x@1000']);
  });
});

describe('passivation', () => {
  it('forgets the idle after a minute, and nothing stays of many keys', async () => {
    const { actors, clock, ports } = aSystem();
    const timersBefore = clock.pending;
    await Promise.all(
      Array.from({ length: 5000 }, (_, i) => actors.tell('counter', `k${i}`, 'add', { n: i })),
    );
    await settled();
    expect(actors.size).toBe(5000);
    clock.advance(59_000);
    expect(actors.size).toBe(5000);
    clock.advance(16_000);
    expect(actors.size).toBe(0);
    expect(clock.pending).toBe(timersBefore);
    expect(await actors.ask('counter', 'k7', 'read', null)).toBe(7);
    expect(ports.activations).toBe(5001);
  });

  it('keeps those that are busy, have a timer, or were used of late', async () => {
    const { actors, clock } = aSystem();
    await actors.ask('counter', 'busy', 'hold', { busy: true });
    await actors.ask('counter', 'timer', 'timer', { name: 'x', at: 200_000 });
    await actors.ask('counter', 'used', 'read', null);
    await clock.advanceAsync(50_000);
    await actors.ask('counter', 'used', 'read', null);
    await clock.advanceAsync(50_000);
    expect(actors.size).toBe(3);
    await actors.ask('counter', 'busy', 'hold', { busy: false });
    await clock.advanceAsync(300_000, 10_000);
    expect(actors.size).toBe(0);
  });
});

it('an actor at work is not forgotten, however long it works: the next message still waits its turn', async () => {
  const { actors, clock, latch, ports } = aSystem();
  const open = latch('g');
  await actors.tell('counter', 'a', 'add', { n: 1, hold: 'g' });
  await settled();
  await clock.advanceAsync(300_000, 10_000);
  expect(actors.size).toBe(1);
  const next = actors.ask('counter', 'a', 'add', { n: 2 });
  await settled();
  expect(ports.steps).toEqual(['a+1 begins']);
  open();
  expect(await next).toBe(3);
});

describe('leaving', () => {
  it('stop finishes what is in the mailboxes and what that tells, refuses what comes, and leaves no timer', async () => {
    const { actors, clock, latch, ports } = aSystem();
    const open = latch('g');
    const held = actors.ask('counter', 'a', 'add', { n: 1, hold: 'g' });
    const emitted = actors.ask('counter', 'a', 'emit', { tells: [aTell('b', 3)] });
    await actors.ask('counter', 'c', 'timer', { name: 'x', at: 1000 });
    const stopped = actors.stop();
    await expect(actors.ask('counter', 'a', 'read', null)).rejects.toMatchObject({ code: 'shutting_down' });
    await expect(actors.tell('counter', 'a', 'read', null)).rejects.toMatchObject({ code: 'shutting_down' });
    open();
    await stopped;
    expect(await held).toBe(1);
    expect(await emitted).toBeNull();
    expect(ports.stored.get('b')).toBe(3);
    expect(actors.size).toBe(0);
    clock.advance(10_000);
    expect(ports.steps).not.toContain('c rang x@1000');
    expect(clock.pending).toBe(0);
  });

  it('stop does not wait longer than its grace', async () => {
    const { actors, clock, latch } = aSystem();
    latch('never');
    const held = actors.ask('counter', 'a', 'add', { n: 1, hold: 'never' });
    const waiting = actors.ask('counter', 'a', 'read', null);
    await settled();
    const stopped = actors.stop(3000);
    clock.advance(3000);
    await stopped;
    await expect(waiting).rejects.toMatchObject({ code: 'shutting_down' });
    clock.advance(2000);
    await expect(held).rejects.toBeInstanceOf(HubError);
  });

  it('a handler that outlives its activation leaves no timer behind', async () => {
    const { actors, latch, clock, ports } = aSystem();
    const open = latch('g');
    const held = actors.ask('counter', 'a', 'timer', { name: 'x', at: 1000, hold: 'g' });
    await settled();
    actors.release(() => false);
    const before = clock.pending;
    open();
    await expect(held).rejects.toMatchObject({ code: 'unavailable' });
    expect(clock.pending).toBe(before);
    await clock.advanceAsync(2000);
    expect(ports.steps).toEqual([]);
  });

  it('release forgets the keys that went elsewhere', async () => {
    const lost: string[] = [];
    const { actors, latch, clock, ports } = aSystem({ lost: (_kind, key) => lost.push(key) });
    const open = latch('g');
    await actors.ask('counter', 'a', 'timer', { name: 'x', at: 1000 });
    const held = actors.ask('counter', 'a', 'add', { n: 1, hold: 'g' });
    const waiting = actors.ask('counter', 'a', 'read', null);
    await actors.ask('counter', 'b', 'add', { n: 1 });
    actors.release((_kind, key) => key !== 'a');
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
    open();
    // The present owner of the key does not know this handler's write.
    await expect(held).rejects.toMatchObject({ code: 'unavailable' });
    expect(lost).toEqual(['a']);
    expect(actors.size).toBe(1);
    await clock.advanceAsync(2000);
    expect(ports.steps).not.toContain('a rang x@1000');
  });
});
