// Exports of events from the real process: whole, larger than any other answer, two at once of a tenant, and never
// another tenant's.
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { operatorToken, SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
let cookie = '';
let key = '';
const count = 3000;

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
  for (let from = 0; from < count; from += 500) {
    const events = Array.from({ length: 500 }, (_, i) => ({
      call_id: `call-${from + i}`,
      agent_id: `agent-${i % 3}`,
      tool_name: i === 0 ? '=HYPERLINK("http://evil")' : 'read',
      verdict: 'call_allowed',
      mode: 'enforce',
      timestamp: new Date(Date.now() - from - i).toISOString(),
      payload: { tool_args: { text: 'x'.repeat(4000) }, decision_name: 'rule' },
    }));
    const answer = await hub.call('POST', '/api/v1/events', { key, body: { events } });
    expect(answer.body.accepted).toBe(500);
  }
}, 60_000);
afterAll(() => hub.remove());

const fetchExport = (query: string, headers: { [name: string]: string } = { cookie }) =>
  fetch(`${hub.url}/api/v1/events/export?${query}`, { headers });

it('holds every event once, newest first, in more than 4 MiB', async () => {
  const answer = await fetchExport('');
  expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
  expect(answer.headers.get('content-disposition')).toMatch(
    /^attachment; filename="events-[\dT-]+\.ndjson"$/,
  );
  const text = await answer.text();
  expect(text.length).toBeGreaterThan(8_000_000);
  const events = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { call_id: string; timestamp: string });
  expect(new Set(events.map(({ call_id }) => call_id)).size).toBe(count);
  const times = events.map(({ timestamp }) => timestamp);
  expect(times).toEqual([...times].sort().reverse());
});

it('holds what the filters fit, as CSV without formulas', async () => {
  const answer = await fetchExport(`format=csv&tool_name=${encodeURIComponent('=HYPERLINK("http://evil")')}`);
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  const [, ...rows] = (await answer.text()).trimEnd().split('\r\n');
  expect(rows).toHaveLength(count / 500);
  for (const row of rows) expect(row).toContain(`,"'=HYPERLINK(""http://evil"")",`);
});

it("is the tenant's own, for those who are signed in", async () => {
  expect((await fetchExport('', {})).status).toBe(401);
  expect((await fetchExport('', { Authorization: `Bearer ${key}` })).status).toBe(401);
  expect((await fetchExport('format=xml')).status).toBe(422);
  expect((await fetchExport('since=yesterday')).status).toBe(422);
  await hub.call('POST', '/api/v1/operator/tenants', {
    body: { name: 'Other', email: hub.emailOf('other'), password: 'correct horse battery' },
    headers: { Authorization: `Bearer ${operatorToken}` },
  });
  const other = await fetchExport('', { cookie: await hub.login(hub.emailOf('other')) });
  expect([other.status, await other.text()]).toEqual([200, '']);
  const head = await fetch(`${hub.url}/api/v1/events/export`, { method: 'HEAD', headers: { cookie } });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

/** Asks for an export and reads nothing of it beyond its first bytes. */
function stalled(
  as = cookie,
): Promise<{ status: string; leave(): void; rest(): Promise<{ bytes: number; last: string }> }> {
  return new Promise((resolve, reject) => {
    const socket = connect(hub.port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('data', (chunk) => {
      socket.pause();
      /** Reads on, to the end of the connection. */
      const rest = async () => {
        let bytes = chunk.length;
        let last = '';
        socket.on('error', () => {});
        for await (const piece of socket as AsyncIterable<Buffer>) {
          bytes += piece.length;
          last = piece.toString('latin1').slice(-5);
        }
        return { bytes, last };
      };
      resolve({ status: String(chunk).slice(9, 12), leave: () => socket.destroy(), rest });
    });
    socket.write(
      `GET /api/v1/events/export HTTP/1.1\r\nHost: hub\r\nConnection: close\r\nCookie: ${as}\r\n\r\n`,
    );
  });
}

it('runs twice at once; a third waits for one that ended, also by its client leaving', async () => {
  const [first, second] = [await stalled(), await stalled()];
  expect([first.status, second.status]).toEqual(['200', '200']);
  const refused = await fetchExport('');
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(await refused.json()).toMatchObject({ code: 'rate_limited' });
  first.leave();
  await expect.poll(async () => (await fetchExport('agent_id=nobody')).status).toBe(200);
  second.leave();
});

it.each(['sign-out', 'change of roles', 'suspension of the tenant'])(
  'is cut off within a second of a %s, without its terminator',
  async (what) => {
    const email = hub.emailOf(what.split(' ', 1)[0] ?? '');
    const password = 'correct horse battery';
    const added = await hub.call('POST', '/api/v1/users', {
      cookie,
      body: { email, password, is_admin: false },
    });
    const own = await hub.login(email);
    const { rest } = await stalled(own);
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const { tenant_id } = (await hub.call('GET', '/api/v1/auth/me', { cookie })).body;
    const suspend = (suspended: boolean) =>
      hub.call('PATCH', `/api/v1/operator/tenants/${tenant_id}`, { headers, body: { suspended } });
    if (what === 'sign-out') await hub.call('POST', '/api/v1/auth/logout', { cookie: own });
    else if (what === 'suspension of the tenant') expect((await suspend(true)).status).toBe(200);
    else {
      const roles = [{ role: 'viewer', env: 'staging' }];
      const path = `/api/v1/users/${added.body.user_id}`;
      expect((await hub.call('PATCH', path, { cookie, body: { roles } })).status).toBe(200);
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const { bytes, last } = await rest();
    if (what === 'suspension of the tenant') await suspend(false);
    expect(last).not.toBe('0\r\n\r\n');
    expect(bytes).toBeLessThan(10_000_000);
  },
);

it('is no stream for a WebSocket', async () => {
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(hub.port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('data', (chunk) => {
      socket.destroy();
      resolve(String(chunk).slice(9, 12));
    });
    socket.write(
      `GET /api/v1/events/export HTTP/1.1\r\nHost: hub\r\nCookie: ${cookie}\r\nConnection: Upgrade\r\n` +
        'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
  });
  expect(answer).toBe('400');
});
