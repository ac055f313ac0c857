// Bytes that a node holds for clients that do not read, or are slow to send: counted, bounded, and freed in time.
import { describe, expect, it } from 'vitest';
import { startNodeServer } from '../../../adapters/node-http/server.ts';
import type { Budgets } from '../../../src/admission/byte-budgets.ts';
import { ByteBudget } from '../../../src/shared/concurrency/byte-budget.ts';
import { ManualClock } from '../../clock.ts';
import { keyText } from '../../http/fixtures.ts';
import { itAtNight, rowsOfRun } from '../../runs.ts';
import { eventually, onNode, type RawSocket, serve, start } from './fixtures.ts';

const mib = 1024 * 1024;
const auth = `Authorization: Bearer ${keyText}\r\n`;
const ask = (agent = 'a', path = '/api/v1/download'): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n${auth}X-Service-Agent-Id: ${agent}\r\n\r\n`;

/** More than any socket takes at once. */
const large = 16 * mib;
const answerOf = (bytes: number) => ({ download: async () => 'x'.repeat(bytes - 2) });

const budgetsOf = (
  unsent: { total: number; share: number },
  received = { total: mib, share: mib },
): Budgets => ({
  unsent: new ByteBudget(unsent),
  received: new ByteBudget(received),
  partial: new ByteBudget({ total: 0, share: 0 }),
});

/** A connection that asks and then reads nothing. */
async function stalled(hub: Awaited<ReturnType<typeof serve>>, request: string): Promise<RawSocket> {
  const socket = await hub.connect();
  socket.pause();
  socket.send(request);
  return socket;
}

const statusOf = (text: string): string | undefined => /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];

describe('an answer that its client does not take', () => {
  it('counts until it is taken, and arrives whole', { timeout: 30_000 }, async () => {
    const budgets = budgetsOf({ total: 2 * large, share: 2 * large });
    await using hub = await serve({ serve: answerOf(large), budgets });
    const socket = await stalled(hub, ask());
    await eventually(() => budgets.unsent.held === large);
    let bytes = 0;
    socket.onData((chunk) => {
      bytes += chunk.length;
    });
    socket.resume();
    await eventually(() => bytes > large);
    expect(budgets.unsent.held).toBe(0);
    // And the connection lives on.
    bytes = 0;
    socket.send(ask('a', '/api/v1/sessions/again'));
    await eventually(() => bytes > 0);
  });

  it('leaves its caller no room over the share: 429, and the next caller is served', async () => {
    const budgets = budgetsOf({ total: 4 * large, share: large });
    await using hub = await serve({ serve: answerOf(large), budgets });
    await stalled(hub, ask('greedy'));
    await eventually(() => budgets.unsent.held === large);
    const refused = await hub.connect();
    refused.send(ask('greedy'));
    const text = await refused.until((t) => t.includes('}'));
    expect([statusOf(text), /retry-after: (\d+)/i.exec(text)?.[1]]).toEqual(['429', '5']);
    await stalled(hub, ask('other'));
    await eventually(() => budgets.unsent.held === 2 * large);
  });

  it('leaves nobody room over the total: 503', async () => {
    const budgets = budgetsOf({ total: large + mib, share: large });
    await using hub = await serve({ serve: answerOf(large), budgets });
    await stalled(hub, ask('a1'));
    await eventually(() => budgets.unsent.held === large);
    const refused = await hub.connect();
    refused.send(ask('a2'));
    expect(statusOf(await refused.until((t) => t.includes('}')))).toBe('503');
  });

  it('counts no longer when the client leaves', async () => {
    const budgets = budgetsOf({ total: large, share: large });
    await using hub = await serve({ serve: answerOf(large), budgets });
    const socket = await stalled(hub, ask());
    await eventually(() => budgets.unsent.held === large);
    socket.destroy();
    await eventually(() => budgets.unsent.held === 0);
  });

  it('is given up after 30 s and a second for each 32 KiB', async () => {
    const budgets = budgetsOf({ total: large, share: large });
    const clock = new ManualClock();
    await using hub = await serve({ serve: answerOf(large), budgets, serverClock: clock });
    const socket = await stalled(hub, ask());
    await eventually(() => budgets.unsent.held === large);
    clock.advance(30_000 + (large / 32_768) * 1000 - 10_000);
    expect(budgets.unsent.held).toBe(large);
    clock.advance(20_000);
    expect(budgets.unsent.held).toBe(0);
    socket.resume();
    await socket.untilClosed();
  });

  // Node's server takes half a minute of real time.
  const itByServer = onNode ? itAtNight : it;
  itByServer('takes the connection with it when another request comes', { timeout: 60_000 }, async () => {
    let asked = 0;
    await using hub = await serve({
      serve: {
        download: async () => {
          asked++;
          return { key: 'x'.repeat(60_000) };
        },
      },
      requestsPerMinute: 100_000,
    });
    const socket = await stalled(hub, ask());
    await eventually(() => asked === 1);
    for (let n = 1; asked === n && n < 5_000; n++) {
      socket.send(ask());
      await eventually(() => asked > n || hub.server.connections() === 0);
    }
    expect(hub.server.connections()).toBe(0);
  });
});

describe('an answer without a body', () => {
  const ofNode = ["Node's server", startNodeServer] as const;
  it.each(onNode ? [ofNode] : rowsOfRun([['native server', start] as const, ofNode], 1))(
    'is sent 2,000 times in 5 s to one network, then the connection is cut (%s)',
    { timeout: 30_000 },
    async (_server, startServer) => {
      const serverClock = new ManualClock();
      await using hub = await serve({ serverClock, startServer });
      const preflights = async (socket: RawSocket, times: number): Promise<void> => {
        for (let n = 1; n <= times; n++) {
          socket.send('OPTIONS /api/v1/keys HTTP/1.1\r\nHost: a\r\n\r\n');
          await socket.until((text) => text.endsWith('\r\n\r\n'));
          expect(statusOf(socket.text)).toBe('204');
          socket.text = '';
        }
      };
      const [socket, ...others] = await Promise.all(Array.from({ length: 20 }, () => hub.connect()));
      if (!socket) throw new Error('no connection');
      await Promise.all([socket, ...others].map((each) => preflights(each, 100)));
      socket.send('OPTIONS /api/v1/keys HTTP/1.1\r\nHost: a\r\n\r\n');
      expect(await socket.untilClosed()).toBe('');
      const broken = () => hub.once('no request\r\n\r\n');
      // The native server answers these itself.
      if (startServer === startNodeServer) expect(await broken()).toBe('');
      serverClock.advance(5_000);
      if (startServer === startNodeServer) expect(statusOf(await broken())).toBe('400');
      await preflights(await hub.connect(), 1);
    },
  );
});

describe('a request that its handler does not answer', () => {
  it('loses its connection after 120 s', async () => {
    const clock = new ManualClock();
    let started = false;
    await using hub = await serve({
      serve: {
        download: () => {
          started = true;
          return new Promise(() => undefined);
        },
      },
      serverClock: clock,
    });
    const socket = await hub.connect();
    socket.send(ask());
    await eventually(() => started);
    clock.advance(115_000);
    expect(hub.server.connections()).toBe(1);
    clock.advance(10_000);
    expect(await socket.untilClosed()).toBe('');
    expect(hub.log.lines).toMatchObject([{ level: 'warn' }]);
  });
});

describe('bodies on their way', () => {
  const post = (length: number): string =>
    `POST /api/v1/events HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: ${length}\r\n\r\n`;

  it('over the budget of all of them are refused with 503, and the others go on', async () => {
    const budgets = budgetsOf({ total: mib, share: mib }, { total: 1000, share: 900 });
    await using hub = await serve({ budgets });
    const first = await hub.connect();
    first.send(post(900) + 'x'.repeat(800));
    await eventually(() => budgets.received.held === 800);
    const second = await hub.connect();
    second.send(post(300) + 'x'.repeat(300));
    const text = await second.until((t) => t.includes('}'));
    expect([statusOf(text), /retry-after: (\d+)/i.exec(text)?.[1]]).toEqual(['503', '2']);
    first.send('x'.repeat(100));
    expect(await first.until((t) => t.includes('}'))).toContain('{"bytes":900}');
    await eventually(() => budgets.received.held === 0);
  });

  it('of callers without a key are forgotten at once', async () => {
    const budgets = budgetsOf({ total: mib, share: mib });
    await using hub = await serve({ budgets });
    const socket = await hub.connect();
    socket.send(post(500_000).replace(keyText, `${keyText}0`) + 'x'.repeat(1000));
    await eventually(() => hub.server.connections() === 1);
    expect(budgets.received.held).toBe(0);
    socket.send('x'.repeat(499_000));
    expect(statusOf(await socket.until((text) => text.includes('}')))).toBe('401');
    socket.send(ask('a', '/api/v1/sessions/k'));
    expect(await socket.until((text) => text.includes('"k"'))).toContain('{"key":"k"}');
    expect(budgets.received.held).toBe(0);
  });

  it('that are cut short count no longer', async () => {
    const budgets = budgetsOf({ total: mib, share: mib });
    await using hub = await serve({ budgets });
    const socket = await hub.connect();
    socket.send(post(1000) + 'x'.repeat(500));
    await eventually(() => budgets.received.held === 500);
    socket.destroy();
    await eventually(() => budgets.received.held === 0);
  });

  it('that do not end lose their connection after 30 s', async () => {
    const clock = new ManualClock();
    const budgets = budgetsOf({ total: mib, share: mib });
    await using hub = await serve({ budgets, serverClock: clock });
    const socket = await hub.connect();
    socket.send(post(1000) + 'x'.repeat(500));
    await eventually(() => budgets.received.held === 500);
    clock.advance(25_000);
    expect(hub.server.connections()).toBe(1);
    clock.advance(10_000);
    await socket.untilClosed();
    await eventually(() => budgets.received.held === 0);
  });
});
