// The log of a real hub: one schema (docs/logs.md), the id of a request, probes, and a level for a while.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLog } from '../../adapters/node/log.ts';
import { snake } from '../../src/shared/snake-keys.ts';
import { HubProcess } from './process.ts';

const operatorToken = 'an-operator-token-of-the-installation';
const hub = new HubProcess({ OPERATOR_TOKEN: operatorToken, METRICS_TOKEN: 'scrapes-of-sixteen' });
let cookie: string;
beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
});
afterAll(() => hub.remove());

interface Line {
  readonly [field: string]: unknown;
}

const logLines = (): readonly Line[] =>
  hub.printed
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

/** The line of the request with this id; waits until it is written. */
async function lineOf(requestId: string): Promise<Line> {
  const find = () => logLines().find((line) => line.request_id === requestId);
  await expect.poll(find).toBeDefined();
  return find() as Line;
}

/** The fields in the first column of the tables of docs/logs.md. */
const documented = new Set(
  [
    ...readFileSync(new URL('../../docs/logs.md', import.meta.url), 'utf8').matchAll(/^\| (`.*?) \|/gm),
  ].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, field = '']) => field)),
);

it('takes the id of a request from its header, where it fits', async () => {
  const call = (id: string) =>
    hub.call('GET', '/api/v1/contracts', { cookie, headers: { 'X-Request-Id': id } });
  const answer = await call('my-request.1_A');
  expect(answer.headers.get('x-request-id')).toBe('my-request.1_A');
  const line = await lineOf('my-request.1_A');
  expect(line).toMatchObject({ level: 'info', msg: 'request', status: 200 });
  expect(line.client).toMatch(/^user:[0-9a-f-]{36}$/);
  for (const bad of ['with blank', 'x'.repeat(65), 'a/b', 'ä']) {
    const { headers } = await call(encodeURI(bad));
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{12}$/);
  }
});

it('names the key, its workspace, its environment, the agent and the trace', async () => {
  const { id, key } = await hub.key(cookie);
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const ask = (requestId: string, traceparent: string) =>
    hub.call('GET', '/api/v1/approvals/00000000-0000-4000-8000-000000000000', {
      key,
      agent: 'agent-1',
      headers: { 'X-Request-Id': requestId, traceparent },
    });
  await ask('traced', `00-${trace}-00f067aa0ba902b7-01`);
  const line = await lineOf('traced');
  expect(line).toMatchObject({
    client: `key:${id}`,
    env: 'production',
    agent_id: 'agent-1',
    trace_id: trace,
  });
  expect(line.tenant_id).toMatch(/^[0-9a-f-]{36}$/);
  expect(typeof line.ms).toBe('number');
  expect(JSON.stringify(line)).not.toContain(key);
  await ask('not-traced', '00-nothing-01');
  expect(await lineOf('not-traced')).not.toHaveProperty('trace_id');
});

it('logs probes at debug, which the operator turns on for a while', async () => {
  const probe = (id: string) => hub.call('GET', '/api/v1/health/ready', { headers: { 'X-Request-Id': id } });
  await probe('quiet');
  const level = (body: object, token = operatorToken) =>
    hub.call('PUT', '/api/v1/operator/log-level', { body, headers: { Authorization: `Bearer ${token}` } });
  expect((await level({ level: 'debug', minutes: 5 }, 'wrong')).status).toBe(401);
  for (const minutes of [0, 61, 1.5]) expect((await level({ level: 'debug', minutes })).status).toBe(422);
  expect((await level({ level: 'silent', minutes: 5 })).status).toBe(422);
  const changed = await level({ level: 'debug', minutes: 5 });
  expect([changed.status, changed.body.level]).toEqual([200, 'debug']);
  expect(Date.parse(changed.body.until) - Date.now()).toBeGreaterThan(4 * 60_000);
  await probe('loud');
  expect(await lineOf('loud')).toMatchObject({ level: 'debug', route: 'GET /api/v1/health/ready' });
  expect(logLines().some((line) => line.request_id === 'quiet')).toBe(false);
});

it('writes lines of one schema', () => {
  for (const line of logLines()) {
    expect(new Date(String(line.time)).toISOString()).toBe(line.time);
    expect(['debug', 'info', 'warn', 'error']).toContain(line.level);
    expect(typeof line.msg).toBe('string');
    for (const field of Object.keys(line)) expect(documented.has(field), field).toBe(true);
  }
});

it('hides none of the documented fields', () => {
  const written: string[] = [];
  const log = createLog({ destination: { write: (text) => void written.push(text) } });
  log.info(Object.fromEntries([...documented].map((field) => [field, 'x'])), 'fields');
  const line = JSON.parse(written.join('')) as Line;
  const hidden = Object.entries(line).filter(([, value]) => value === '[redacted]');
  expect(hidden).toEqual([]);
});

/** The names of the fields that stand in the source where a line is logged. */
function loggedFields(source: string): readonly string[] {
  const fields: string[] = [];
  for (const { index, 0: call } of source.matchAll(/\b(?:log|to)\??\.(?:debug|info|warn|error)\(\s*\{/g)) {
    let depth = 1;
    let name = '';
    let isName = true;
    for (let i = index + call.length; depth > 0 && i < source.length; i++) {
      const char = source[i] ?? '';
      if ('{[('.includes(char)) depth++;
      if ('}])'.includes(char)) depth--;
      if (depth === 0 || (depth === 1 && char === ',')) {
        if (/^\w+$/.test(name.trim())) fields.push(name.trim());
        name = '';
        isName = true;
      } else if (depth === 1 && char === ':') isName = false;
      else if (isName) name += char;
    }
  }
  return fields;
}

it('documents every field that the code logs', () => {
  const root = new URL('../../', import.meta.url).pathname;
  const files = ['src', 'actors', 'adapters'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `${root}${folder}/${file}`),
  );
  // The log writes their names in snake_case.
  const fields = new Set(files.flatMap((file) => loggedFields(readFileSync(file, 'utf8')).map(snake)));
  expect(fields.size).toBeGreaterThan(30);
  expect([...fields].filter((field) => !documented.has(field))).toEqual([]);
});
