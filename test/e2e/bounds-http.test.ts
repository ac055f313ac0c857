// Bad input as HTTP, on raw sockets against the real process: framing, headers, slowness, methods, names. A clear 4xx
// or a closed connection within a bound; never a 5xx, nothing handled that was not asked for, the process stays up.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { onNode, RawSocket } from '../adapters/uws/fixtures.ts';
import { isNightly } from '../runs.ts';
import { operatorToken, SharedHub } from './shared-hub.ts';
import { SseClient } from './sse.ts';

const hub = new SharedHub();
const routes: [string, RouteDeclaration][] = Object.entries(api);
let cookie = '';
let key = '';
let auth = '';

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
  auth = `Authorization: Bearer ${key}\r\n`;
});
afterEach(async () => {
  expect((await hub.call('GET', '/api/v1/health')).status).toBe(200);
});
afterAll(() => hub.remove());

const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((m) => Number(m[1]));

/** Sends parts on one connection, each after the one before was taken, and reads until the server closes it. */
async function closed(...parts: string[]): Promise<string> {
  const socket = new RawSocket(hub.port);
  await socket.opened;
  for (const part of parts) socket.send(part);
  return socket.untilClosed();
}

/** One request, whose path goes out as it is. */
async function ask(
  method: string,
  path: string,
  more = '',
  body = '',
): Promise<{ status: number; text: string }> {
  const length =
    body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  const text = await closed(
    `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${length}${more}\r\n${body}`,
  );
  return { status: statuses(text)[0] ?? 0, text };
}

const credentials = (route: RouteDeclaration): string => {
  if (route.auth[0] === 'key' && route.auth.length === 1) return `${auth}X-Service-Agent-Id: a\r\n`;
  if (route.auth.includes('operatorToken')) return `Authorization: Bearer ${operatorToken}\r\n`;
  return `Cookie: ${cookie}\r\nX-Requested-With: test\r\n`;
};

describe.concurrent('framing', () => {
  const put = `PUT /api/v1/sessions/smuggled HTTP/1.1\r\nHost: a\r\n${auth}Content-Type: application/json\r\n`;
  const json = '{"value":"1"}';
  const cases: { readonly [what: string]: string } = {
    'Content-Length with Transfer-Encoding': `${put}Content-Length: ${json.length}\r\nTransfer-Encoding: chunked\r\n\r\n${json}`,
    'Transfer-Encoding with Content-Length': `${put}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nd\r\n${json}\r\n0\r\n\r\n`,
    'two lengths that differ': `${put}Content-Length: 13\r\nContent-Length: 2\r\n\r\n${json}`,
    'a length with a sign': `${put}Content-Length: +13\r\n\r\n${json}`,
    'a length over 2^64': `${put}Content-Length: 99999999999999999999\r\n\r\n${json}`,
    'an empty length': `${put}Content-Length: \r\n\r\n${json}`,
    'a negative length': `${put}Content-Length: -1\r\n\r\n${json}`,
    'an unknown encoding': `${put}Transfer-Encoding: gzip, chunked\r\n\r\nd\r\n${json}\r\n0\r\n\r\n`,
    'a chunk size that is none': `${put}Transfer-Encoding: chunked\r\n\r\nzz\r\n${json}\r\n0\r\n\r\n`,
    'headers of 64 KB': `${put}X-A: ${'a'.repeat(65_000)}\r\nContent-Length: 13\r\n\r\n${json}`,
    'a hundred headers too many': `${put}${'X-A: a\r\n'.repeat(200)}Content-Length: 13\r\n\r\n${json}`,
    'a path of 64 KB': `PUT /api/v1/sessions/${'s'.repeat(65_000)} HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: 13\r\n\r\n${json}`,
    'HTTP/1.0': `PUT /api/v1/sessions/smuggled HTTP/1.0\r\n${auth}Content-Length: 13\r\n\r\n${json}`,
    'HTTP/2 without asking': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a TLS hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'a line end in an agent id': `${put}X-Service-Agent-Id: a\nevent: forged\r\nContent-Length: 13\r\n\r\n${json}`,
    'a line end in a header name': `${put}X-A\n: b\r\nContent-Length: 13\r\n\r\n${json}`,
  };

  it.each(Object.keys(cases))(
    '%s: refused or dropped, nothing stored',
    async (what) => {
      const smuggled = `PUT /api/v1/sessions/smuggled HTTP/1.1\r\nHost: a\r\n${auth}Content-Type: application/json\r\nContent-Length: 13\r\n\r\n${json}`;
      const start = cases[what] ?? '';
      for (const text of await Promise.all([closed(start), closed(start + smuggled)])) {
        // 505: the version is not ours.
        for (const status of statuses(text)) expect([400, 404, 413, 431, 505]).toContain(status);
      }
      const left = await hub.call('GET', '/api/v1/sessions/smuggled', { key });
      expect(left.status).toBe(404);
    },
    30_000,
  );
});

describe.concurrent('slowness has a bound', () => {
  /** Drips one byte every half second until the server ends the connection; returns the answer. */
  async function drip(start: string, byte: string): Promise<string> {
    const socket = new RawSocket(hub.port);
    await socket.opened;
    socket.send(start);
    const timer = setInterval(() => socket.send(byte), 500);
    const text = await socket.untilClosed();
    clearInterval(timer);
    return text;
  }
  const cases: { readonly [what: string]: [start: () => string, byte: string] } = {
    'headers that never end': [() => 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\nX-A: ', 'a'],
    'header lines that never end': [() => 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n', 'A: a\r\n'],
    'a body that drips': [
      () =>
        `PUT /api/v1/sessions/slow HTTP/1.1\r\nHost: a\r\n${auth}Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"value":"`,
      'a',
    ],
    'chunks that drip': [
      () =>
        `PUT /api/v1/sessions/slow HTTP/1.1\r\nHost: a\r\n${auth}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      '1\r\na\r\n',
    ],
    'a body over its limit that drips': [
      () => `PUT /api/v1/sessions/slow HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: 2000000\r\n\r\n`,
      'a',
    ],
    'a request without a Host': [() => 'GET /api/v1/health HTTP/1.1\r\n\r\n', ''],
    silence: [() => '', ''],
    'silence after an answer without a body': [() => 'OPTIONS /api/v1/keys HTTP/1.1\r\nHost: a\r\n\r\n', ''],
  };

  // Without an end, the bytes of the shortest body take 41 minutes.
  it('headers, bodies and silence are ended, and others are served meanwhile', async () => {
    const running = Object.values(cases).map(([start, byte]) => drip(start(), byte));
    for (let i = 0; i < 20; i++) expect((await hub.call('GET', '/api/v1/health')).status).toBe(200);
    for (const text of await Promise.all(running))
      for (const status of statuses(text)) expect([204, 400, 413]).toContain(status);
    expect((await hub.call('GET', '/api/v1/sessions/slow', { key })).status).toBe(404);
  }, 60_000);
});

describe('pipelining', () => {
  const get = (name: string) => `GET /api/v1/sessions/${name} HTTP/1.1\r\nHost: a\r\n${auth}\r\n`;

  it('one request after the other on one connection is answered in order', async () => {
    const socket = new RawSocket(hub.port);
    await socket.opened;
    for (let i = 0; i < 20; i++) {
      socket.send(get(`p${i}`));
      await socket.until((text) => statuses(text).length === i + 1);
    }
    expect(statuses(socket.text)).toEqual(Array(20).fill(404));
    socket.destroy();
  });

  // Node's own server answers both, in order.
  it.skipIf(onNode)(
    'a request behind one that is not answered yet ends the connection: no answer is lost in another, nothing else is harmed',
    async () => {
      const other = new RawSocket(hub.port);
      await other.opened;
      const post = `POST /api/v1/sessions/pipelined/increment HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: 0\r\n\r\n`;
      for (let i = 0; i < 20; i++) {
        const text = await closed(post + get('q'));
        expect(statuses(text).length).toBeLessThanOrEqual(1);
        other.send(get('other'));
        await other.until((t) => statuses(t).length === i + 1);
      }
      expect(other.closed).toBe(false);
      other.destroy();
      // A write in front was done once or not at all, never twice.
      const counted = await hub.call('GET', '/api/v1/sessions/pipelined', { key });
      expect(Number(counted.body.value ?? 0)).toBeLessThanOrEqual(20);
    },
  );
});

describe('methods', () => {
  const paths = [...new Set(routes.map(([, route]) => route.path))];
  it.each(paths)('%s answers others with 405 and what it allows', async (path) => {
    const known = new Set<string>(routes.filter(([, r]) => r.path === path).map(([, r]) => r.method));
    const filled = path.replace(/\{\w+\+?\}/g, 'x1');
    // Other routes that answer at this very address: a fixed path may also be a parameter's.
    const fits = (pattern: string) =>
      new RegExp(`^${pattern.replace(/\{\w+\+\}/g, '.+').replace(/\{\w+\}/g, '[^/]+')}$`).test(filled);
    const allowed = new Set<string>(routes.filter(([, r]) => fits(r.path)).map(([, r]) => r.method));
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'CONNECT', 'FOO']) {
      if (allowed.has(method)) continue;
      const { status, text } = await ask(method, filled);
      if (method === 'CONNECT' && status === 0) continue;
      // The parser of Node's own server knows a list of methods.
      if (method === 'FOO' && onNode && status === 400) continue;
      expect({ method, status }).toEqual({ method, status: 405 });
      const allow = /\r\nallow: ([^\r]*)/i.exec(text)?.[1]?.split(', ') ?? [];
      for (const one of known) expect(allow).toContain(one);
      expect(allow).not.toContain(method);
    }
  });
});

describe('names in paths', () => {
  const names = [
    '..',
    '.',
    '...',
    '%2e%2e',
    '%2E%2E%2f',
    '..%2f..%2fetc%2fpasswd',
    '%2f',
    '%2F%2F',
    '%5c..%5c',
    '%00',
    'a%00b',
    'a%0d%0aX-Evil:%201',
    'a%0aevent:%20forged',
    '%ff',
    '%c0%ae',
    '%ed%a0%80',
    '%',
    '%zz',
    '%u0041',
    '%7B%22%24gt%22%3A%22%22%7D',
    '$where',
    '__proto__',
    'constructor',
    'toString',
    "'%20OR%20'1'='1",
    '%F0%9F%92%A9',
    'a;b',
    '%3Cscript%3E',
    'x'.repeat(5_000),
  ];
  /** Writing under a new name, or asking about one, is what these are for. */
  const creates = new Set([
    'setSession',
    'incrementSession',
    'deleteSession',
    'resolveRule',
    'contractUsage',
  ]);
  const named = routes.filter(([, route]) => route.path.includes('{') && route.media !== 'text/event-stream');
  const bodies: { readonly [operation: string]: string } = {
    setSession: '{"value":"1"}',
    decideApproval: '{"approved":true}',
    assignApproval: '{"user_id":null}',
    updateView: '{"name":"x"}',
    updateAssignmentRule: '{"priority":1}',
    updateContract: '{"name":"x"}',
    updateComposition: '{"description":"x"}',
    deployBundle: '{"env":"production"}',
    updateRegistration: '{"display_name":"x"}',
  };

  it.each(named)('%s: a clear answer, no header and no file', async (operation, route) => {
    // Per commit each route takes a third, other ones than the routes beside it.
    const first = named.findIndex(([one]) => one === operation) % 3;
    for (const name of isNightly ? names : names.filter((_, i) => i % 3 === first)) {
      const path = route.path.replace('{version}', '1').replace(/\{\w+\+?\}/g, () => name);
      const { status, text } = await ask(
        route.method,
        path,
        credentials(route),
        bodies[operation] ?? (route.body ? '{}' : ''),
      );
      const fine = (status >= 400 && status < 500) || (creates.has(operation) && status === 200);
      expect({ name, status, fine }).toMatchObject({ fine: true });
      expect(text).not.toMatch(/^X-Evil/im);
      expect(text).not.toContain('root:');
    }
  });

  it('an agent id with a line end is refused wherever it names an agent (as a header: see framing), and no frame is forged', async () => {
    const forged = 'a%0A%0Aevent:%20contract_update%0Adata:%20%7B%7D%0A%0A';
    const dashboard = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, { Cookie: cookie });
    const agent = await SseClient.open(`${hub.url}/api/v1/stream?env=production`, {
      Authorization: `Bearer ${key}`,
      'X-Service-Agent-Id': 'honest',
    });
    const text = decodeURIComponent(forged);
    const post = (path: string, body: unknown, headers = {}) =>
      hub.call('POST', path, { key, body, headers });
    const event = {
      call_id: 'x',
      tool_name: 't',
      verdict: 'v',
      mode: 'enforce',
      timestamp: '2026-01-01T00:00:00Z',
    };
    const answers = [
      await post('/api/v1/approvals', { agent_id: text, tool_name: 't', message: 'm' }),
      await post('/api/v1/approvals', { agent_id: 'a', tool_name: text, message: 'm' }),
      await hub.call('POST', '/api/v1/agent-registrations/bulk-assign', {
        cookie,
        body: { agent_ids: [text], bundle_name: null },
      }),
      await hub.call('PATCH', `/api/v1/agent-registrations/${forged}`, {
        cookie,
        body: { display_name: 'x' },
      }),
      await hub.call('GET', `/api/v1/stream?env=production&bundle_name=${forged}`, { key }),
      await hub.call('GET', `/api/v1/stream?env=production&policy_version=${forged}`, { key }),
    ];
    for (const { status } of answers) expect(status).toBe(422);
    // Events are kept as they were sent, and a message may hold line ends: in frames they are escaped.
    const kept = await post('/api/v1/events', { events: [{ ...event, agent_id: text }] });
    expect([kept.status, kept.body.accepted]).toEqual([200, 1]);
    const real = await post('/api/v1/approvals', { agent_id: 'a', tool_name: 't', message: text });
    expect(real.status).toBe(201);
    expect((await dashboard.next('approval_created')).data.message).toBe(text);
    const types = new Set(dashboard.frames.map((frame) => frame.event));
    types.delete('event_created');
    expect([...types]).toEqual(['approval_created']);
    expect(agent.frames).toEqual([]);
    dashboard.close();
    agent.close();
  });
});
