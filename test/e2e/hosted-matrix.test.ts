// Generated from the hosted API's declarations, against the real process: another workspace's ids answer exactly as
// absent ones, hostile bodies are refused in a problem document, and no credential is no answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { hostedApi } from '../../src/hub/api/hosted-routes.ts';
import { operatorToken, SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
const routes = Object.entries(hostedApi as { readonly [name: string]: RouteDeclaration }).filter(
  ([, { media }]) => media !== 'text/event-stream',
);

interface Side {
  readonly operator: string;
  readonly key: string;
}
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
let ours: Side;
let theirs: { readonly [parameter: string]: string };

async function sideOf(cookie: string): Promise<Side & { readonly keyId: string }> {
  const operator = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie })).body.token;
  const made = await hub.call('POST', '/v1/keys', { headers: bearer(operator), body: { name: 'k' } });
  expect(made.status).toBe(201);
  return { operator, key: made.body.key, keyId: made.body.id };
}

const absentId = '00000000-0000-4000-8000-000000000000';
const absent: { readonly [parameter: string]: string } = {
  key_id: absentId,
  approval_id: absentId,
  channel_id: absentId,
  name: 'absent',
  version: '1',
  agent_id: 'absent',
  session_id: 'absent',
  key: 'absent',
};

beforeAll(async () => {
  await hub.start();
  ours = await sideOf(await hub.admin());
  const made = await hub.call('POST', '/api/v1/operator/tenants', {
    body: { name: 'Theirs', email: hub.emailOf('other'), password: 'correct horse battery' },
    headers: bearer(operatorToken),
  });
  expect(made.status).toBe(201);
  const other = await sideOf(await hub.login(hub.emailOf('other')));
  const rules =
    '  - {id: r, type: pre, tool: x, when: {args.a: {exists: true}}, then: {action: block, message: "no"}}\n';
  const saved = await hub.call('PUT', '/v1/rulesets/theirs', {
    headers: { ...bearer(other.operator), 'Content-Type': 'application/x-yaml' },
    body: `apiVersion: service/v1\nkind: Ruleset\nmetadata: {name: theirs}\nrules:\n${rules}`,
  });
  expect(saved.status).toBe(201);
  const asked = await hub.call('POST', '/v1/approvals', {
    headers: bearer(other.key),
    body: { agent_id: 'theirs', session_id: 'theirs', tool_name: 't', message: 'm', timeout: 3600 },
  });
  expect(asked.status).toBe(201);
  theirs = {
    ...absent,
    key_id: other.keyId,
    approval_id: asked.body.id,
    name: 'theirs',
    agent_id: 'theirs',
    session_id: 'theirs',
    key: 'theirs',
  };
});
afterAll(() => hub.remove());

/** The headers of a caller whom the route admits. */
const callerOf = ({ auth }: RouteDeclaration): { [name: string]: string } =>
  auth.length === 0 ? {} : bearer(auth.includes('operatorJwt') ? ours.operator : ours.key);

const fill = ({ path }: RouteDeclaration, values: { readonly [parameter: string]: string }): string =>
  path.replace(/\{(\w+)\+?\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'missing'));

const bodies: { readonly [operation: string]: unknown } = {
  hostedDecideApproval: { decision: 'approved' },
};

describe("another workspace's ids answer exactly as absent ones", () => {
  const withIds = routes.filter(([, { path, parse }]) => path.includes('{') && parse !== 'bytes');

  it.each(withIds)('%s', async (operation, route) => {
    const ask = async (values: { readonly [parameter: string]: string }) => {
      const query = `env=production&session_id=${encodeURIComponent(values.session_id ?? '')}`;
      const answer = await hub.call(route.method, `${fill(route, values)}?${query}`, {
        headers: callerOf(route),
        ...(route.body ? { body: bodies[operation] ?? {} } : {}),
      });
      let body = JSON.stringify(answer.body).replace(/"request_id":"\w+"/, '');
      for (const value of Object.values(values)) if (value.length > 1) body = body.replaceAll(value, '<id>');
      return { status: answer.status, body };
    };
    const missing = await ask(absent);
    expect(missing.status).toBeLessThan(500);
    expect(await ask(theirs)).toEqual(missing);
  });
});

it.each(routes.filter(([, { auth }]) => auth.length > 0))(
  '%s answers nobody without a credential',
  async (_name, route) => {
    const answer = await hub.call(route.method, fill(route, absent), route.body ? { body: {} } : {});
    expect(answer.status).toBe(401);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  },
);

describe('hostile bodies', () => {
  const bodied = routes.filter(([, { body, optionalBody }]) => body && !optionalBody);
  const hostile: [string, string][] = [
    ['no JSON', '{'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a text', '"x"'],
    ['deep nesting', `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`],
    ['a prototype', '{"__proto__":{"name":"x"}}'],
    ['half a surrogate pair', '{"name":"\\ud800"}'],
    ['an empty body', ''],
  ];

  it.each(hostile)('%s is a clear problem document on every route with a body', async (_what, body) => {
    for (const [operation, route] of bodied) {
      const headers = { ...callerOf(route), 'Content-Type': 'application/json' };
      const answer = await hub.call(route.method, fill(route, absent), { headers, body });
      const type = answer.headers.get('content-type');
      const isClear = answer.status >= 400 && answer.status < 500 && typeof answer.body.detail === 'string';
      expect({ operation, status: answer.status, type, isClear }).toMatchObject({
        operation,
        type: 'application/problem+json',
        isClear: true,
      });
    }
  });
});
