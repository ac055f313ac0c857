// Messages from WebSocket clients: how much of it is taken, and when a sender loses its socket.
import { describe, expect, it } from 'vitest';
import type { Session } from '../../../src/http/live/session.ts';
import { settled } from '../../clock.ts';
import { itAtNight } from '../../runs.ts';
import { type FakeSocket, hub } from './fixtures.ts';

const text = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const event = (ref: number): Uint8Array => text({ type: 'events', ref, body: {} });
const wrong = new TextEncoder().encode('{');
const results = (socket: FakeSocket) => socket.written.map((t) => JSON.parse(t));

/** Lets the event loop turn until nothing waits for a turn any more. */
async function turns(count = 100): Promise<void> {
  for (let i = 0; i < count; i++) await settled();
}

describe('messages on a WebSocket', () => {
  it('are handled 32 at a time; others wait for their turn', async () => {
    const { open, seen, budgets } = hub();
    const answers: ((value: unknown) => void)[] = [];
    seen.message = () => new Promise((resolve) => answers.push(resolve));
    const { session, socket } = await open({ codec: 'json' });
    for (let i = 0; i < 40; i++) session.received(event(i), false);
    await turns();
    expect([answers.length, budgets.received.held]).toEqual([32, 40 * event(0).length + 30]);
    answers.shift()?.({});
    await turns();
    expect([answers.length, results(socket)]).toMatchObject([32, [{ ref: 0, status: 200 }]]);
    while (answers.length > 0) {
      answers.shift()?.({});
      await settled();
    }
    await turns();
    expect([results(socket).length, budgets.received.held]).toEqual([40, 0]);
  });

  it('are read a few in a turn of the event loop', async () => {
    const { open, seen } = hub();
    let handled = 0;
    seen.message = async () => ++handled;
    const { session } = await open({ codec: 'json' });
    for (let i = 0; i < 900; i++) session.received(event(i), false);
    let highest = 0;
    for (let before = -1; before < handled; ) {
      before = handled;
      await new Promise((resolve) => setImmediate(resolve));
      highest = Math.max(highest, handled - before);
    }
    expect(handled).toBe(900);
    expect(highest).toBeLessThan(100);
  });

  it('end the socket when more than 1,000 of them, or more than 4 MiB, wait', async () => {
    const { open, seen, live, budgets } = hub();
    seen.message = () => new Promise(() => undefined);
    const many = await open({ codec: 'json' });
    for (let i = 0; i < 1_002; i++) many.session.received(event(i), false);
    expect([many.socket.over, many.socket.fault]).toEqual(['ended', 'Too many messages, or too large ones.']);
    const large = await open({ codec: 'json' });
    for (let i = 0; i < 4; i++) large.session.received(new Uint8Array(1024 * 1024), false);
    expect(large.socket.over).toBe(null);
    for (let i = 0; i < 2; i++) large.session.received(new Uint8Array(1024 * 1024), false);
    expect(large.socket.over).toBe('ended');
    expect(live.counts().ended).toEqual({ flood: 2 });
    await turns();
    expect(budgets.received.held).toBe(0);
  });

  it('may be 2,000 at once and 200 a second on a socket', async () => {
    const { open, clock } = hub();
    const { session, socket } = await open({ codec: 'json' });
    const send = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        session.received(event(i), false);
        if (i % 500 === 499) await turns(40);
      }
      await turns(40);
    };
    await send(2_000);
    clock.advance(1_000);
    await send(200);
    expect([socket.over, socket.written.length]).toEqual([null, 2_200]);
    await send(1);
    expect(socket.over).toBe('ended');
  });

  itAtNight(
    'are counted for the caller over all its sockets',
    async () => {
      const { open } = hub();
      const sockets: { session: Session; socket: FakeSocket }[] = [];
      for (let i = 0; i < 11; i++) sockets.push(await open({ codec: 'json', agent: 'same' }));
      for (const { session } of sockets.slice(0, 10)) {
        for (let i = 0; i < 4; i++) {
          for (let j = 0; j < 500; j++) session.received(event(j), false);
          await turns(40);
        }
      }
      const other = await open({ codec: 'json', agent: 'other' });
      other.session.received(event(1), false);
      sockets[10]?.session.received(event(1), false);
      await turns();
      expect(sockets.map(({ socket }) => socket.over)).toEqual([...Array(10).fill(null), 'ended']);
      expect(other.socket.over).toBe(null);
    },
    30_000,
  );

  it('find no room when others fill it: the socket ends', async () => {
    const { open, budgets } = hub();
    const { session, socket } = await open({ codec: 'json' });
    budgets.received.take('elsewhere', 256 * 1024 * 1024);
    session.received(event(1), false);
    expect(socket.over).toBe('ended');
  });
});

describe('messages that are wrong', () => {
  it('are answered eight times, then the socket ends; one is forgiven every 10 s', async () => {
    const { open, clock, live } = hub();
    const { session, socket } = await open({ codec: 'json' });
    for (let i = 0; i < 8; i++) session.received(wrong, false);
    await turns();
    expect(results(socket)).toHaveLength(8);
    clock.advance(10_000);
    session.received(wrong, false);
    await turns();
    expect(socket.over).toBe(null);
    session.received(wrong, false);
    await turns();
    expect([socket.over, socket.fault]).toEqual(['ended', 'Too many invalid messages.']);
    expect(results(socket)).toHaveLength(10);
    expect(live.counts().ended).toEqual({ mistakes: 1 });
  });

  it.each([
    ['JSON that is none', wrong, false],
    ['an unknown type', text({ type: 'other' }), false],
    ['another codec', event(1), true],
    ['no object', text([1]), false],
  ])('count when they are %s', async (_, bytes, binary) => {
    const { open } = hub();
    const { session, socket } = await open({ codec: 'json' });
    for (let i = 0; i < 9; i++) session.received(bytes, binary);
    await turns();
    expect(socket.over).toBe('ended');
  });

  it('count when a dashboard sends anything', async () => {
    const { open } = hub();
    const { session, socket } = await open({ codec: 'json', dashboard: true });
    for (let i = 0; i < 9; i++) session.received(event(i), false);
    await turns();
    expect(results(socket)[0]).toMatchObject({ status: 400 });
    expect(socket.over).toBe('ended');
  });

  it('do not count when the hub is at fault', async () => {
    const { open, seen } = hub();
    seen.message = () => Promise.reject(new TypeError('broken'));
    const { session, socket } = await open({ codec: 'json' });
    for (let i = 0; i < 20; i++) session.received(event(i), false);
    await turns();
    expect([socket.over, results(socket)[19]]).toMatchObject([null, { status: 500 }]);
  });

  it('keep their sender from opening sockets after 64 of them, one more for each second that passes', async () => {
    const { open, live, clock } = hub();
    const callerOf = (agentId: string) => ({
      kind: 'key' as const,
      keyId: 'k1',
      keyPrefix: 'svk_',
      keyHash: 'key',
      tenantId: 't1',
      env: 'production' as const,
      agentId,
      agentPattern: null,
      expiresAt: null,
      network: '203.0.113.9',
    });
    for (let i = 0; i < 8; i++) {
      const { session } = await open({ codec: 'json', agent: 'bad' });
      for (let j = 0; j < 9; j++) session.received(wrong, false);
      await turns(20);
    }
    expect(() => live.admit(callerOf('bad'))).toThrow('too many invalid messages');
    live.admit(callerOf('good'));
    clock.advance(1_000);
    live.admit(callerOf('bad'));
  });
});

describe('pings of a client', () => {
  it('count as messages, and as mistakes while their answers wait to be read', async () => {
    const { open } = hub();
    const quick = await open({ codec: 'json' });
    for (let i = 0; i < 2_000; i++) quick.session.pinged(false);
    expect(quick.socket.over).toBe(null);
    quick.session.pinged(false);
    expect(quick.socket.over).toBe('ended');
    const unread = await open({ codec: 'json' });
    for (let i = 0; i < 9; i++) unread.session.pinged(true);
    expect(unread.socket.over).toBe('ended');
  });
});

describe('a WebSocket', () => {
  it('that leaves two pings without an answer is cut; SSE is asked for none', async () => {
    const { open, clock, live } = hub();
    const sse = await open({ codec: 'sse' });
    const { socket } = await open({ codec: 'json' });
    let asked = 0;
    Object.assign(socket, { ping: () => ++asked <= 2 });
    clock.advance(30_000);
    expect([asked, socket.over]).toEqual([2, null]);
    clock.advance(15_000);
    expect([socket.over, sse.socket.over]).toEqual(['cut', null]);
    expect(live.counts().ended).toEqual({ silent: 1 });
  });
});
