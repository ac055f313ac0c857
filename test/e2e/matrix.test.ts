// Generated from the route declarations: wrong types in every field, and another tenant's ids on every route, against
// the real process.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { bundleYaml } from '../contract/library.ts';
import { rowsOfCommit } from '../runs.ts';
import { operatorToken, SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
const entries: [string, RouteDeclaration][] = Object.entries(api);

interface Side {
  cookie: string;
  key: string;
  ids: { [param: string]: string };
}
let ours: Side;
let theirs: Side;

/** A value for each path parameter, of things that really exist in the tenant. */
async function furnish(cookie: string): Promise<Side> {
  const { key, id: keyId } = await hub.key(cookie);
  const post = async (path: string, body: unknown) => {
    const answer = await hub.call('POST', path, { cookie, body });
    expect({ path, status: answer.status }).toEqual({ path, status: 201 });
    return answer.body;
  };
  await post('/api/v1/contracts', {
    contract_id: 'theirs',
    name: 'Theirs',
    type: 'pre',
    definition: { tool: 'x', when: { 'args.a': { exists: true } }, then: { effect: 'deny', message: 'no' } },
  });
  await post('/api/v1/compositions', {
    name: 'theirs',
    contracts: [{ contract_id: 'theirs', position: 10 }],
  });
  await post('/api/v1/bundles', { yaml_content: bundleYaml('theirs') });
  const deployment = await post('/api/v1/bundles/theirs/1/deploy?force=true', { env: 'development' });
  const rule = await post('/api/v1/assignment-rules', {
    priority: 1,
    pattern: 'x*',
    bundle_name: 'theirs',
    env: 'production',
  });
  const approval = await hub.call('POST', '/api/v1/approvals', {
    key,
    agent: 'theirs',
    body: { agent_id: 'theirs', tool_name: 't', message: 'm', timeout: 3600 },
  });
  await hub.call('PUT', '/api/v1/sessions/theirs', { key, body: { value: '1' } });
  await hub.call('POST', '/api/v1/events', {
    key,
    agent: 'theirs',
    body: {
      events: [
        {
          call_id: 'theirs',
          agent_id: 'theirs',
          tool_name: 't',
          verdict: 'call_allowed',
          mode: 'enforce',
          timestamp: new Date().toISOString(),
          payload: { session_id: 'theirs' },
        },
      ],
      agent_manifest: { agent_id: 'theirs', policy_version: 'x', contracts: [] },
    },
  });
  const channel = await post('/api/v1/notifications/channels', {
    name: 'theirs',
    channel_type: 'webhook',
    config: { url: 'http://127.0.0.1:9/hook' },
  });
  // The channel's notification: nobody listens, so the delivery waits.
  await hub.call('POST', '/api/v1/approvals', {
    key,
    agent: 'theirs',
    body: { tool_name: 't', message: 'told', timeout: 3600 },
  });
  const deliveries = async () =>
    (await hub.call('GET', `/api/v1/notifications/channels/${channel.id}/deliveries`, { cookie })).body;
  const [delivery] = await vi.waitFor(async () => {
    const list = await deliveries();
    expect(list).toHaveLength(1);
    return list;
  }, 10_000);
  const events = await hub.call('GET', '/api/v1/events', { cookie });
  await hub.call('POST', '/api/v1/tool-observations', {
    key,
    body: {
      agent_id: 'theirs',
      server: 'theirs',
      tools: [{ name: 'theirs', fingerprint: `sha256:${'0'.repeat(64)}` }],
    },
  });
  const pins = await hub.call('GET', '/api/v1/tool-pins?env=production', { cookie });
  const view = await post('/api/v1/views', { page: 'explore', name: 'theirs', query: '', shared: true });
  const email = hub.emailOf('further');
  const operatorToken = await post('/api/v1/operator-tokens', { role: 'viewer', ttl_seconds: 600 });
  const [session] = (await hub.call('GET', '/api/v1/auth/sessions', { cookie })).body;
  const account = await post('/api/v1/service-accounts', {
    name: 'theirs',
    roles: [{ role: 'viewer', env: '*' }],
  });
  const user = await post('/api/v1/users', { email, password: 'correct horse battery', is_admin: true });
  return {
    cookie,
    key,
    ids: {
      key_id: keyId,
      login_id: session.id,
      account_id: account.id,
      token_id: operatorToken.id,
      contract_id: 'theirs',
      name: 'theirs',
      version: '1',
      rule_id: rule.id,
      approval_id: approval.body.id,
      event_id: events.body[0].id,
      channel_id: channel.id,
      delivery_id: delivery.id,
      key: 'theirs',
      agent_id: 'theirs',
      session_id: 'theirs',
      user_id: user.user_id,
      deployment_id: deployment.id,
      pin_id: pins.body.tools[0].id,
      view_id: view.id,
    },
  };
}

beforeAll(async () => {
  await hub.start();
  const admin = await hub.admin();
  ours = { cookie: admin, key: (await hub.key(admin)).key, ids: {} };
  const made = await hub.call('POST', '/api/v1/operator/tenants', {
    body: { name: 'Theirs', email: hub.emailOf('other'), password: 'correct horse battery' },
    headers: { Authorization: `Bearer ${operatorToken}` },
  });
  expect(made.status).toBe(201);
  theirs = await furnish(await hub.login(hub.emailOf('other')));
  const own = await hub.call('POST', '/api/v1/notifications/channels', {
    cookie: admin,
    body: { name: 'ours', channel_type: 'webhook', config: { url: 'http://127.0.0.1:9/hook' } },
  });
  for (const ids of [absent, theirs.ids]) ids.own_channel = own.body.id;
});
afterAll(async () => {
  await hub.remove();
});

const credentials = (route: RouteDeclaration) => {
  if (route.auth[0] === 'key' && route.auth.length === 1) return { key: ours.key, agent: 'ours' };
  if (route.auth.includes('operatorToken')) return { headers: { Authorization: `Bearer ${operatorToken}` } };
  return route.auth.length === 0 ? {} : { cookie: ours.cookie };
};

/** The path with each parameter's value; `{key+}` and `{key}` alike. */
const fill = (route: RouteDeclaration, values: { [param: string]: string }): string =>
  route.path.replace(/\{(\w+)\+?\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'missing'));

const absent: { [param: string]: string } = {
  tenant_id: '00000000-0000-4000-8000-000000000000',
  key_id: '00000000-0000-4000-8000-000000000000',
  account_id: '00000000-0000-4000-8000-000000000000',
  login_id: '00000000-0000-4000-8000-000000000000',
  token_id: '00000000-0000-4000-8000-000000000000',
  rule_id: '00000000-0000-4000-8000-000000000000',
  approval_id: '00000000-0000-4000-8000-000000000000',
  event_id: '00000000-0000-4000-8000-000000000000',
  channel_id: '00000000-0000-4000-8000-000000000000',
  delivery_id: '00000000-0000-4000-8000-000000000000',
  contract_id: 'absent',
  name: 'absent',
  version: '1',
  key: 'absent',
  agent_id: 'absent',
  session_id: 'absent',
  user_id: '00000000-0000-4000-8000-000000000000',
  deployment_id: '00000000-0000-4000-8000-000000000000',
  pin_id: '00000000-0000-4000-8000-000000000000',
  view_id: '00000000-0000-4000-8000-000000000000',
};

/** A body that fits, for routes whose ids are to be tried. */
const bodies: { readonly [operation: string]: unknown } = {
  updateContract: { name: 'Renamed' },
  createServiceToken: { label: 'ours' },
  updateComposition: { description: 'changed' },
  deployComposition: { env: 'production' },
  replayComposition: { env: 'production' },
  deployBundle: { env: 'production' },
  decideApproval: { approved: true },
  assignApproval: { user_id: null },
  updateView: { name: 'Renamed' },
  decideToolPin: { decision: 'accepted', envs: ['production'] },
  updateAssignmentRule: { priority: 5 },
  updateUser: { is_admin: false },
  updateRegistration: { display_name: 'changed' },
  setSession: { value: '2' },
  incrementSession: { amount: 1 },
};

describe("another tenant's ids answer exactly as absent ones", () => {
  const withIds = entries.filter(
    // The operator of the installation is of no tenant.
    ([, { path, media, auth }]) =>
      path.replace('{env}', '').includes('{') &&
      media !== 'text/event-stream' &&
      !auth.includes('operatorToken'),
  );

  const asKey = withIds.filter(([, route]) => route.auth.length === 2);
  type Case = [what: string, operation: string, route: RouteDeclaration, withKey: boolean];
  const cases: Case[] = [
    ...withIds.map(([operation, route]): Case => [operation, operation, route, false]),
    ...asKey.map(([operation, route]): Case => [`${operation}, by key`, operation, route, true]),
  ];

  it.each(cases)('%s', async (_what, operation, route, withKey) => {
    const ask = async (values: { [param: string]: string }) => {
      const answer = await hub.call(route.method, `${fill(route, values)}?env=production`, {
        ...(withKey ? { key: ours.key, agent: 'ours' } : credentials(route)),
        ...(route.body ? { body: bodies[operation] ?? {} } : {}),
      });
      let body = JSON.stringify(answer.body);
      for (const value of Object.values(values)) if (value.length > 1) body = body.replaceAll(value, '<id>');
      return { status: answer.status, body };
    };
    // Writes that create are tried with the absent id first, so that they cannot make the two differ.
    const missing = await ask(absent);
    expect(missing.status).toBeLessThan(500);
    // A refused body would say nothing about ids.
    expect(missing.status).not.toBe(422);
    expect(await ask(theirs.ids)).toEqual(missing);
  });

  /** Ids that stand in bodies and queries. */
  const elsewhere: [what: string, method: string, path: string, body?: (ids: Side['ids']) => unknown][] = [
    ['events of an agent', 'GET', '/api/v1/events?agent_id={agent_id}'],
    ['events by text', 'GET', '/api/v1/events?search={agent_id}'],
    [
      'the histogram of an agent',
      'GET',
      '/api/v1/events/histogram?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z&agent_id={agent_id}',
    ],
    ['the facets of an agent', 'GET', '/api/v1/events/facets?agent_id={agent_id}'],
    ['an export of an agent', 'GET', '/api/v1/events/export?agent_id={agent_id}'],
    ['a call', 'GET', '/api/v1/events?call_id={agent_id}'],
    ['deployments of a bundle', 'GET', '/api/v1/deployments?bundle_name={name}'],
    ['agents of a bundle', 'GET', '/api/v1/agents/status?bundle_name={name}'],
    [
      'assignment of an agent',
      'POST',
      '/api/v1/agent-registrations/bulk-assign',
      ({ agent_id }) => ({ agent_ids: [agent_id], bundle_name: null }),
    ],
    [
      'a composition of a contract',
      'POST',
      '/api/v1/compositions',
      ({ contract_id }) => ({ name: 'ours', contracts: [{ contract_id, position: 1 }] }),
    ],
    [
      'a delivery to our channel',
      'POST',
      '/api/v1/notifications/channels/{own_channel}/deliveries/{delivery_id}/replay',
    ],
    ['values in a batch', 'POST', '/api/v1/sessions/batch', ({ key }) => ({ keys: [key] })],
  ];

  it.each(elsewhere)('%s', async (_what, method, path, bodyOf) => {
    const ask = async (values: { [param: string]: string }) => {
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
      const byKey = path.startsWith('/api/v1/sessions');
      const answer = await hub.call(method, filled, {
        ...(byKey ? { key: ours.key, agent: 'ours' } : { cookie: ours.cookie }),
        ...(bodyOf ? { body: bodyOf(values) } : {}),
      });
      let body = JSON.stringify(answer.body);
      for (const value of Object.values(values)) if (value.length > 1) body = body.replaceAll(value, '<id>');
      return { status: answer.status, body };
    };
    const missing = await ask(absent);
    expect(await ask(theirs.ids)).toEqual(missing);
    expect(missing.status).toBeLessThan(500);
  });

  it('covers every route that takes an id', () => {
    expect(withIds.length).toBeGreaterThan(20);
    for (const [, route] of withIds) {
      for (const [, name = ''] of route.path.matchAll(/\{(\w+)\+?\}/g)) {
        expect(Object.keys(theirs.ids)).toContain(name);
        expect(Object.keys(absent)).toContain(name);
      }
    }
  });

  it('changed nothing of theirs', async () => {
    const value = await hub.call('GET', '/api/v1/sessions/theirs', { key: theirs.key });
    expect(value.body).toEqual({ value: '1' });
    const approval = await hub.call('GET', `/api/v1/approvals/${theirs.ids.approval_id}`, {
      cookie: theirs.cookie,
    });
    expect(approval.body.status).toBe('pending');
    const people = (await hub.call('GET', '/api/v1/users', { cookie: theirs.cookie })).body;
    expect(people.map((user: { is_admin: boolean }) => user.is_admin)).toEqual([true, true]);
    expect((await hub.call('GET', '/api/v1/keys', { cookie: theirs.cookie })).body).toHaveLength(1);
    expect((await hub.call('GET', '/api/v1/contracts', { cookie: theirs.cookie })).body).toHaveLength(1);
    expect((await hub.call('GET', '/api/v1/assignment-rules', { cookie: theirs.cookie })).body).toHaveLength(
      1,
    );
  });
});

interface JsonSchema {
  readonly type?: string;
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
}

const samples: { readonly [type: string]: unknown } = {
  string: 'text',
  number: 12.5,
  boolean: true,
  array: [[]],
  object: { a: { b: 1 } },
  null: null,
};

const { rows: samplesOfCommit, seed } = rowsOfCommit(Object.entries(samples), 2);

const typesOf = (schema: JsonSchema): string[] =>
  (schema.anyOf ?? [schema]).flatMap((part) =>
    part.type ? [part.type === 'integer' ? 'number' : part.type] : Object.keys(samples),
  );

const schemaOf = (route: RouteDeclaration): JsonSchema =>
  route.body ? (z.toJSONSchema(route.body, { io: 'input', unrepresentable: 'any' }) as JsonSchema) : {};

describe(`wrong types in every field of every route (SEED=${seed})`, () => {
  const cases = entries
    .filter(([, route]) => route.body && route.path !== '/api/v1/setup')
    .flatMap(([operation, route]) =>
      Object.entries(schemaOf(route).properties ?? {}).map(
        ([field, schema]): [string, string, RouteDeclaration, JsonSchema] => [
          operation,
          field,
          route,
          schema,
        ],
      ),
    )
    // A manifest that cannot be read is refused alone.
    .filter(([operation, field]) => operation !== 'ingestEvents' || field !== 'agent_manifest');

  it('covers routes with bodies', () => {
    expect(cases.length).toBeGreaterThan(30);
  });

  it.each(cases)('%s.%s', async (_operation, field, route, schema) => {
    const fitting = typesOf(schema);
    for (const [type, value] of samplesOfCommit) {
      const answer = await hub.call(route.method, fill(route, absent), {
        ...credentials(route),
        body: { [field]: value },
      });
      expect({ type, ok: answer.status < 500 }).toEqual({ type, ok: true });
      if (!fitting.includes(type)) {
        expect({ type, status: answer.status }).toEqual({ type, status: 422 });
        expect(JSON.stringify(answer.body.detail)).toContain(field);
      }
    }
  });

  const hostile: [string, string][] = [
    ['not JSON at all', 'hello'],
    ['depth 10,000', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['a number out of range', '{"email":1e400}'],
    ['NaN', '{"email":NaN}'],
    ['a lone surrogate', '{"email":"\\ud800","password":"\\udfff"}'],
    ['NUL', '{"email":"\\u0000","password":"\\u0000"}'],
    ['__proto__', '{"__proto__":{"email":"a@b.c"}}'],
    ['constructor', '{"constructor":{"prototype":{"x":1}}}'],
    ['65,536 elements', `[${'0,'.repeat(65_535)}0]`],
    ['an empty body', ''],
    ['a query operator', '{"email":{"$gt":""},"password":{"$gt":""}}'],
  ];
  const bodied = entries.filter(([, route]) => route.body && !route.optionalBody);
  /** All routes read a body in the same place. */
  const { rows: bodiedOfCommit } = rowsOfCommit(bodied, 20);

  it.each(hostile)('%s is a clear 4xx on every route with a body', async (_name, body) => {
    for (const [operation, route] of bodiedOfCommit) {
      const answer = await hub.call(route.method, fill(route, absent), { ...credentials(route), body });
      expect({
        operation,
        clear: answer.status >= 400 && answer.status < 500 && answer.body.detail !== undefined,
      }).toEqual({
        operation,
        clear: true,
      });
    }
    expect((await hub.call('GET', '/api/v1/health')).status).toBe(200);
  });
});
