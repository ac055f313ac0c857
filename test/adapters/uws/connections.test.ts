// How many connections the server holds, and whom it refuses when they get scarce.
import { describe, expect, it } from 'vitest';
import { maxConnections } from '../../../adapters/node/descriptors.ts';
import { Connections } from '../../../src/http/connections.ts';
import { ManualClock } from '../../clock.ts';
import { keyText } from '../../http/fixtures.ts';
import { eventually, serve } from './fixtures.ts';

const ask = `GET /api/v1/sessions/k HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${keyText}\r\n\r\n`;

describe('connections', () => {
  const from = (address: string) => () => ({ address, network: address });

  /** As many as there are, each of a network of its own. */
  function filled(max: number, count: number, isProxy = (_: string) => false): Connections {
    const connections = new Connections(max, isProxy);
    for (let i = 0; i < count; i++) expect(connections.opened(from(`10.0.${i >> 8}.${i & 255}`))).toBe(true);
    return connections;
  }

  /** Tries so many of one network, each closed again when it may not stay; returns how many stay. */
  function tried(connections: Connections, address: string, count: number): number {
    let stayed = 0;
    for (let i = 0; i < count; i++) {
      if (connections.opened(from(address))) stayed++;
      else connections.closed();
    }
    return stayed;
  }

  it('are held up to the most, and again when one has ended', () => {
    const connections = filled(1000, 1000);
    expect(tried(connections, '192.0.2.1', 3)).toBe(0);
    connections.closed();
    expect(tried(connections, '192.0.2.1', 3)).toBe(1);
    expect(connections.count).toBe(1000);
  });

  it('of one network are not bounded while there are enough', () => {
    expect(tried(new Connections(1000, () => false), '192.0.2.1', 900)).toBe(900);
  });

  it('of one network that opens many are refused while they are scarce, others are not', () => {
    const connections = filled(1000, 800);
    expect(tried(connections, '192.0.2.1', 300)).toBe(100);
    expect(tried(connections, '192.0.2.2', 1)).toBe(1);
    expect(connections.count).toBe(901);
  });

  it('are counted anew after two spans', () => {
    const connections = filled(1000, 901);
    expect(tried(connections, '192.0.2.1', 101)).toBe(99);
    expect(connections.turn()).toBe(2);
    for (let i = 0; i < 20; i++) connections.closed();
    expect(tried(connections, '192.0.2.1', 1)).toBe(0);
    connections.turn();
    connections.turn();
    expect(tried(connections, '192.0.2.1', 1)).toBe(1);
  });

  it('of a proxy are bounded by the most alone', () => {
    const connections = filled(1000, 800, (address) => address === '192.0.2.9');
    expect(tried(connections, '192.0.2.9', 300)).toBe(200);
  });
});

describe('a server that holds as many as it may', () => {
  it('closes a new connection at once, serves the others, says so in the log, and takes new ones when some have ended', async () => {
    const clock = new ManualClock();
    await using hub = await serve({ maxConnections: 3, serverClock: clock });
    const held = [await hub.connect(), await hub.connect(), await hub.connect()];
    const refused = await hub.connect();
    await refused.untilClosed();
    expect(refused.text).toBe('');
    expect(hub.server.connections()).toBe(3);
    for (const socket of held) {
      socket.send(ask);
      await socket.until((text) => text.includes('}'));
    }
    clock.advance(5_000);
    expect(JSON.stringify(hub.log.lines)).toContain('refused connections');
    held[0]?.destroy();
    await eventually(() => hub.server.connections() === 2);
    const next = await hub.connect();
    next.send(ask);
    expect(await next.until((text) => text.includes('}'))).toContain('200 OK');
  });
});

describe('descriptors', () => {
  const limits = (soft: string) =>
    `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                20000                files\n`;

  it('leave some for everything else', () => {
    expect(maxConnections(limits('20000'))).toBe(19_488);
    expect(maxConnections(limits('400'))).toBe(300);
    expect(maxConnections(limits('unlimited'))).toBe(Number.POSITIVE_INFINITY);
    expect(maxConnections('')).toBe(Number.POSITIVE_INFINITY);
  });
});
