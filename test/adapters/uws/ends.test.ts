// Every reason that ends a stream, on real sockets, over SSE and over WebSocket in both subprotocols: the server ends
// the connection, tells the stream's owner once, and keeps nothing of it.
import { describe, expect, it } from 'vitest';
import type { EndReason } from '../../../src/http/live/endings.ts';
import { agentsOf, type Control, dashboardsOf, type Frame } from '../../../src/shared/frame.ts';
import { ManualClock } from '../../clock.ts';
import { writeFrame } from '../../frames.ts';
import { hashOf, keyText } from '../../http/fixtures.ts';
import { isNightly } from '../../runs.ts';
import { eventually, type RawSocket, serve } from './fixtures.ts';
import { WebSocketClient } from './websocket.ts';

type Served = Awaited<ReturnType<typeof serve>> & { readonly clock: ManualClock };
type Transport = 'sse' | 'reeve.v1.json' | 'reeve.v1.msgpack';
type Side = 'agent' | 'dashboard';

const transports: readonly Transport[] = ['sse', 'reeve.v1.json', 'reeve.v1.msgpack'];
const path: { readonly [S in Side]: string } = {
  agent: '/api/v1/stream?env=production',
  dashboard: '/api/v1/stream/dashboard',
};
const headers: { readonly [S in Side]: { [name: string]: string } } = {
  agent: { Authorization: `Bearer ${keyText}`, 'X-Service-Agent-Id': 'a1' },
  dashboard: { Cookie: 'service_session=token' },
};

/** Time stands still for the streams; the sockets run in real time. */
async function served(): Promise<Served> {
  const clock = new ManualClock();
  return { ...(await serve({ clock })), clock };
}

/** True when the last chunk of a chunked body came right behind the one before. */
const hasCleanEnd = (text: string): boolean => text.endsWith('\n\n\r\n0\r\n\r\n');

/** An open stream; `closed` resolves when the server has ended it. */
async function open(hub: Served, transport: Transport, side: Side) {
  let raw: RawSocket;
  let pass = async (ms: number): Promise<void> => hub.clock.advance(ms);
  let closing: () => boolean;
  if (transport === 'sse') {
    raw = await hub.connect();
    const lines = Object.entries(headers[side]).map(([name, value]) => `${name}: ${value}\r\n`);
    raw.send(`GET ${path[side]} HTTP/1.1\r\nHost: a\r\n${lines.join('')}\r\n`);
    await raw.until((t) => t.includes('retry:'));
    closing = () => raw.closed || hasCleanEnd(raw.text);
  } else {
    const socket = new WebSocketClient(hub.server.port);
    raw = socket.raw;
    const head = await socket.handshake(path[side], {
      ...headers[side],
      'Sec-WebSocket-Protocol': transport,
    });
    expect(head).toContain('101 Switching Protocols');
    // A turn of the wheel at a time: each asks for a pong, and the next begins when the server has read it.
    pass = async (ms) => {
      socket.echoes = true;
      for (let left = ms; left > 0 && hub.live.counts().streams > 0; left -= 15_000) {
        const { heard } = socket;
        hub.clock.advance(Math.min(left, 15_000));
        await eventually(() => socket.heard > heard || left < 15_000 || hub.live.counts().streams === 0);
      }
    };
    closing = () => raw.closed || socket.frames().some(({ opcode }) => opcode === 8);
  }
  await eventually(() => hub.live.counts().streams > 0);
  return { raw, pass, closed: () => raw.until(closing) };
}

const note = (side: Side, n: number, size = 0): Frame =>
  writeFrame({
    audience: side === 'agent' ? agentsOf('t1', 'production') : dashboardsOf('t1'),
    type: 'assignment_changed',
    data: { type: 'assignment_changed', n, filler: 'x'.repeat(size) },
  });

/** Sends to a reader that has stopped until its connection takes no more. */
async function fill(hub: Served, side: Side, enough: () => boolean, size: number): Promise<void> {
  for (let n = 0; !enough() && n < 1000; n++) {
    await hub.broadcast.publish([note(side, n, size)]);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

interface Ending {
  readonly what: string;
  readonly side: Side;
  readonly reason: EndReason;
  /** @param pass lets time go by, for a client that answers pings */
  readonly act: (hub: Served, raw: RawSocket, pass: (ms: number) => Promise<void>) => Promise<void> | void;
  /** The reader has stopped: it reads on when the server has ended the stream. */
  readonly stalled?: boolean;
}

const tell = (message: Control) => (hub: Served) => hub.broadcast.control(message);

const endings: readonly Ending[] = [
  {
    what: 'its key is revoked',
    side: 'agent',
    reason: 'revoked',
    act: tell({ kind: 'key_revoked', tenantId: 't1', keyId: 'key-1', keyHash: hashOf(keyText) }),
  },
  {
    what: 'its session is signed out',
    side: 'dashboard',
    reason: 'signed_out',
    act: tell({ kind: 'login_ended', tokenHash: hashOf('token') }),
  },
  {
    what: 'all sessions of its user end',
    side: 'dashboard',
    reason: 'signed_out',
    act: tell({ kind: 'user_logins_ended', userId: 'user-1' }),
  },
  ...(['agent', 'dashboard'] as const).map(
    (side): Ending => ({
      what: `it (of the ${side}) is an hour old, give or take a tenth`,
      side,
      reason: 'aged',
      act: async (hub, _raw, pass) => {
        await pass(54 * 60_000 - 1);
        expect(hub.live.counts().streams).toBe(1);
        await pass(12 * 60_000 + 15_000);
      },
    }),
  ),
  {
    what: 'its reader leaves more unread than the bound',
    side: 'agent',
    reason: 'slow',
    stalled: true,
    act: (hub, raw) => {
      raw.pause();
      return fill(hub, 'agent', () => hub.live.counts().streams === 0, 200_000);
    },
  },
  {
    what: 'its reader takes nothing for 30 s, however little waits',
    side: 'dashboard',
    reason: 'slow',
    stalled: true,
    act: async (hub, raw) => {
      raw.pause();
      await fill(hub, 'dashboard', () => hub.live.counts().blocked === 1, 150_000);
      hub.clock.advance(29_000);
      expect(hub.live.counts().streams).toBe(1);
      hub.clock.advance(1_500);
    },
  },
  { what: 'the hub stops', side: 'agent', reason: 'draining', act: (hub) => hub.live.close() },
];

describe.each(transports)('a stream over %s', (transport) => {
  /** An hour in steps of 15 s takes its time: per commit one transport passes it. */
  const ofRun =
    isNightly || transport === 'sse' ? endings : endings.filter(({ reason }) => reason !== 'aged');
  it.each(ofRun)('ends when $what', async ({ side, reason, act, stalled }) => {
    const hub = await served();
    await using _ = hub;
    const { raw, pass, closed } = await open(hub, transport, side);
    await act(hub, raw, pass);
    await eventually(() => hub.live.counts().streams === 0);
    expect(hub.live.counts()).toMatchObject({
      ended: { [reason]: 1 },
      audiences: 0,
      blocked: 0,
      scheduled: 0,
    });
    expect(hub.streams.seen.closed).toHaveLength(1);
    if (stalled) raw.resume();
    await closed();
    raw.destroy();
    await eventually(() => hub.server.connections() === 0);
    expect(hub.log.lines.filter((line) => /error/i.test(JSON.stringify(line)))).toEqual([]);
  });
});
