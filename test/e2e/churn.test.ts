// Streams that come and go, against the real process: revocation and sign-out end them within a second on every
// transport; 2,000 that connect and leave, politely or not, leave nothing: no agent online, no descriptor open, no
// memory kept.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RawSocket } from '../adapters/uws/fixtures.ts';
import { WebSocketClient } from '../adapters/uws/websocket.ts';
import { runsOf } from '../runs.ts';
import { HubProcess } from './process.ts';
import { SocketClient, type Subprotocol } from './socket.ts';
import { SseClient } from './sse.ts';

const hub = new HubProcess({ LOG_LEVEL: 'warn' });
const protocols: readonly Subprotocol[] = ['reeve.v1.json', 'reeve.v1.msgpack'];
const agentPath = '/api/v1/stream?env=production';
let cookie = '';

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
});
afterAll(async () => {
  await hub.remove();
});

const everyWay = async (path: string, headers: { [name: string]: string }) => [
  await SseClient.open(hub.url + path, headers),
  ...(await Promise.all(protocols.map((protocol) => SocketClient.open(hub.port, path, headers, protocol)))),
];

/** Runs the call, then waits until all have ended; answers how many milliseconds that took. */
async function ended(
  clients: readonly { end(): Promise<void> }[],
  act: () => Promise<{ status: number }>,
): Promise<number> {
  const { status } = await act();
  expect(status).toBeLessThan(300);
  const started = performance.now();
  await Promise.all(clients.map((client) => client.end()));
  return performance.now() - started;
}

it('a revoked key loses its streams within a second, and no other key does', async () => {
  const { key, id } = await hub.key(cookie);
  const kept = (await hub.key(cookie)).key;
  const clients = await everyWay(agentPath, { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'a' });
  const other = await SseClient.open(hub.url + agentPath, {
    Authorization: `Bearer ${kept}`,
    'X-Service-Agent-Id': 'b',
  });
  expect(await ended(clients, () => hub.call('DELETE', `/api/v1/keys/${id}`, { cookie }))).toBeLessThan(1000);
  expect(other.ended).toBe(false);
  const agents = (await hub.call('GET', '/api/v1/agents/status', { cookie })).body.agents;
  expect(agents.map(({ agent_id }: { agent_id: string }) => agent_id)).toEqual(['b']);
  other.close();
});

it('a sign-out ends the streams of its session within a second, and not those of another', async () => {
  const second = await hub.login();
  const headers = { Cookie: second, Origin: `http://localhost:${hub.port}` };
  const clients = await everyWay('/api/v1/stream/dashboard', headers);
  const other = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, { Cookie: cookie });
  expect(
    await ended(clients, () => hub.call('POST', '/api/v1/auth/logout', { cookie: second })),
  ).toBeLessThan(1000);
  expect(other.ended).toBe(false);
  other.close();
});

it('thousands of streams that connect and leave, in every way, leave nothing', async () => {
  const { key } = await hub.key(cookie);
  const pid = hub.child?.pid ?? 0;
  const descriptors = () => readdirSync(`/proc/${pid}/fd`).length;
  const rssMb = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  const online = async () => (await hub.call('GET', '/api/v1/agents/status', { cookie })).body.agents;
  const connected = async () =>
    (await hub.call('GET', '/api/v1/health/details', { cookie })).body.connected_agents;
  const auth = { Authorization: `Bearer ${key}` };

  const one = async (i: number): Promise<void> => {
    const agent = `agent-${i}`;
    if (i % 4 === 3) {
      const client = new WebSocketClient(hub.port);
      await client.handshake(agentPath, { ...auth, 'X-Service-Agent-Id': agent });
      client.raw.destroy();
      return;
    }
    const socket = new RawSocket(hub.port);
    await socket.opened;
    socket.send(
      `GET ${agentPath} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nX-Service-Agent-Id: ${agent}\r\n\r\n`,
    );
    // Some leave before they are admitted.
    if (i % 4 !== 2) await socket.until((text) => text.includes('retry:'));
    socket.destroy();
  };
  const round = async (from: number, count: number): Promise<void> => {
    for (let i = from; i < from + count; i += 50)
      await Promise.all(Array.from({ length: 50 }, (_, n) => one(i + n)));
  };
  const quiet = async (): Promise<void> => {
    while ((await connected()) > 0 || (await online()).length > 0)
      await new Promise((resolve) => setTimeout(resolve, 20));
  };

  await round(0, 200);
  await quiet();
  const before = { descriptors: descriptors(), rss: rssMb() };
  await round(200, runsOf(1800, 600));
  await quiet();
  // Kept-alive connections of this test's own calls come and go.
  expect(descriptors()).toBeLessThanOrEqual(before.descriptors + 5);
  expect(rssMb() - before.rss).toBeLessThan(40);
  expect(await online()).toEqual([]);
}, 60_000);
