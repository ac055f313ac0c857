// Hostile WebSocket clients on real sockets: floods, half messages, values by the million, frames that are none.
import { describe, expect, it } from 'vitest';
import { createBudgets } from '../../../src/admission/byte-budgets.ts';
import { ByteBudget } from '../../../src/shared/concurrency/byte-budget.ts';
import { ManualClock } from '../../clock.ts';
import { asUser, keyText } from '../../http/fixtures.ts';
import { eventually, serve } from './fixtures.ts';
import { clientFrame, WebSocketClient } from './websocket.ts';

const mib = 1024 * 1024;
const path = '/api/v1/stream?env=production';
const headers = { Authorization: `Bearer ${keyText}`, 'X-Service-Agent-Id': 'ws1' };
type Served = Awaited<ReturnType<typeof serve>>;

async function open(hub: Served, more: { [name: string]: string } = {}, answers = true) {
  const socket = new WebSocketClient(hub.server.port, answers);
  const head = await socket.handshake(path, { ...headers, ...more });
  expect(head).toMatch(/^HTTP\/1\.1 101 /);
  return { socket, raw: socket.raw, max: Number(/x-max-message-bytes: (\d+)/i.exec(head)?.[1]) };
}

/** The code and reason that the server closed with. */
async function closing(socket: WebSocketClient): Promise<string> {
  const of = () => socket.frames().find(({ opcode }) => opcode === 8)?.payload;
  await socket.raw.until(() => of() !== undefined);
  const payload = of();
  return payload ? `${payload.readUInt16BE(0)} ${payload.subarray(2).toString()}` : 'no close frame';
}

const statusesOf = async (socket: WebSocketClient, count: number): Promise<number[]> =>
  (await socket.messages(count)).map((message) => JSON.parse(String(message)).status);

describe('a client that floods', () => {
  it('with frames of 7 bytes loses its socket after the first of them', async () => {
    await using hub = await serve();
    const { socket, raw } = await open(hub);
    const frame = clientFrame(1, Buffer.from('{"a":1}'));
    raw.send(Buffer.concat(Array.from({ length: 100_000 }, () => frame)));
    // For their number or for what they are, whichever is counted first.
    expect(await closing(socket)).toMatch(/^1008 Too many (messages|invalid messages)/);
    await raw.untilClosed();
    await eventually(() => hub.live.counts().streams === 0);
    expect((await socket.messages(0)).length).toBeLessThan(100);
    expect(hub.pipeline.budgets.received.held).toBe(0);
  });

  it('with pings, and reads none of their answers, loses its socket', async () => {
    await using hub = await serve();
    const { raw } = await open(hub);
    raw.pause();
    const pings = Buffer.concat(Array.from({ length: 1_000 }, () => clientFrame(9, Buffer.alloc(125))));
    raw.send(pings);
    raw.send(pings);
    raw.send(pings);
    await eventually(() => hub.live.counts().streams === 0);
    expect(hub.live.counts().ended).toEqual({ flood: 1 });
  });

  it('with messages that are wrong is told each time, and then loses its socket', async () => {
    await using hub = await serve();
    const { socket, raw } = await open(hub);
    for (let i = 0; i < 20; i++) socket.send('{"type":"other"}');
    expect(await closing(socket)).toBe('1008 Too many invalid messages.');
    expect(await statusesOf(socket, 9)).toEqual(Array(9).fill(422));
    raw.destroy();
  });
});

describe('MessagePack', () => {
  it('of more than 200,000 values is refused before they are made', async () => {
    await using hub = await serve();
    const socket = new WebSocketClient(hub.server.port);
    await socket.handshake(path, { ...headers, 'Sec-WebSocket-Protocol': 'reeve.v1.msgpack' });
    const nils = new Uint8Array(1_000_005).fill(0xc0);
    nils.set([0xdd, 0, 15, 66, 64]);
    socket.send(nils);
    const [result] = await socket.messages(1);
    expect(String(result)).toContain('more than 200000 values');
    socket.raw.destroy();
  });
});

describe('half a message', () => {
  it('is cut with its socket when no pong comes, and a client that answers stays', async () => {
    const clock = new ManualClock();
    await using hub = await serve({ clock });
    const half = await open(hub);
    half.raw.send(clientFrame(1, Buffer.alloc(mib, 'a')).subarray(0, 900_000));
    const whole = await open(hub);
    await eventually(() => hub.live.counts().streams === 2);
    for (let turn = 1; turn <= 3; turn++) {
      clock.advance(15_000);
      await eventually(() => whole.socket.pongs === turn);
      whole.socket.send(JSON.stringify({ type: 'events', ref: turn, body: {} }));
      await whole.socket.messages(turn);
    }
    await half.raw.untilClosed();
    expect(hub.live.counts()).toMatchObject({ streams: 1, ended: { silent: 1 } });
    whole.raw.destroy();
  });

  it('may be of 1 MiB on as many sockets of a key as have room, and of 64 KiB on others', async () => {
    const budgets = { ...createBudgets(), partial: new ByteBudget({ total: 3 * mib, share: 2 * mib }) };
    await using hub = await serve({ budgets });
    const first = await open(hub);
    const second = await open(hub);
    const third = await open(hub);
    expect([first.max, second.max, third.max]).toEqual([mib, mib, 65_536]);
    const message = (size: number): string => {
      const text = JSON.stringify({ type: 'events', ref: 1, body: '' });
      return text.replace('""', `"${'x'.repeat(size - text.length)}"`);
    };
    first.socket.send(message(mib));
    expect(await statusesOf(first.socket, 1)).toEqual([200]);
    third.socket.send(message(65_536));
    expect(await statusesOf(third.socket, 1)).toEqual([200]);
    third.socket.send(message(65_537));
    await third.raw.untilClosed();
    first.raw.destroy();
    await eventually(() => budgets.partial.held === mib);
    const fourth = await open(hub);
    expect(fourth.max).toBe(mib);
    for (const { raw } of [second, fourth]) raw.destroy();
    await eventually(() => budgets.partial.held === 0);
  });

  it('on the stream of a dashboard has 1 KiB', async () => {
    await using hub = await serve();
    const socket = new WebSocketClient(hub.server.port);
    const head = await socket.handshake('/api/v1/stream/dashboard', {
      Cookie: asUser.cookie,
      Origin: 'http://localhost:8000',
    });
    expect(head).toMatch(/^HTTP\/1\.1 101 /);
    expect(head).not.toMatch(/x-max-message-bytes/i);
    socket.send('x'.repeat(1_025));
    await socket.raw.untilClosed();
    expect(hub.pipeline.budgets.partial.held).toBe(0);
  });

  it('that comes as fragments is put together', async () => {
    await using hub = await serve();
    const { socket, raw } = await open(hub);
    const bytes = Buffer.from(JSON.stringify({ type: 'events', ref: 'parts', body: {} }));
    raw.send(clientFrame(1, bytes.subarray(0, 10), true));
    raw.send(clientFrame(9, Buffer.from('between')));
    raw.send(clientFrame(0, bytes.subarray(10)));
    expect(await statusesOf(socket, 1)).toEqual([200]);
    raw.destroy();
  });
});

describe('a frame without a mask', () => {
  it('is read as one with a mask: it is wrong, and nothing is done', async () => {
    await using hub = await serve();
    let handled = 0;
    hub.streams.seen.message = async () => ++handled;
    const { socket, raw } = await open(hub);
    const text = Buffer.from(JSON.stringify({ type: 'events', ref: 1, body: {} }));
    raw.send(Buffer.concat([Buffer.from([0x81, text.length]), text, Buffer.alloc(4)]));
    await raw.until(() => socket.frames().length > 0);
    expect(handled).toBe(0);
    raw.destroy();
  });
});
