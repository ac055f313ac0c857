// Roles by environment, against the real process: every role on every route of both APIs, as the declarations say, and
// what people see and change who have roles in some environments alone.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPersonRole, type RouteDeclaration } from '../../src/http/contract/route.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { hostedApi } from '../../src/hub/api/hosted-routes.ts';
import { includesRole } from '../../src/shared/env-roles.ts';
import type { Env } from '../../src/shared/ids.ts';
import { type EnvRole, type OperatorRole, operatorRoles } from '../../src/shared/principal.ts';
import { bundleYaml } from '../contract/library.ts';
import { rowsOfCommit } from '../runs.ts';
import { HubProcess } from './process.ts';
import { SseClient } from './sse.ts';

// The figures of a hub are an admin's where it has one tenant.
const hub = new HubProcess({ RATE_LIMIT_MAX_ATTEMPTS: '100000', LOG_LEVEL: 'warn' });
const password = 'correct horse battery';
let admin: string;
let people = 0;

interface Person {
  readonly id: string;
  readonly cookie: string;
}

/** Adds a person with these roles, who signs in. */
async function personWith(roles: readonly EnvRole[]): Promise<Person> {
  const email = hub.emailOf(`person-${++people}`);
  const added = await hub.call('POST', '/api/v1/users', { cookie: admin, body: { email, password, roles } });
  expect(added).toMatchObject({ status: 201, body: { roles } });
  return { id: added.body.user_id, cookie: await hub.login(email, password) };
}

/** Each parameter of a path filled with something that does not exist. */
const pathOf = ({ path }: RouteDeclaration, env: Env = 'production'): string =>
  path
    .replace('{env}', env)
    .replaceAll(/\{[^}]*id\}/g, '00000000-0000-4000-8000-000000000000')
    .replaceAll('{version}', '1')
    .replaceAll(/\{[^}]*\}/g, 'absent');

const refusals = new Set(['role_required', 'forbidden']);

async function isRefused(
  declaration: RouteDeclaration,
  credentials: { readonly cookie?: string; readonly headers?: { readonly [name: string]: string } },
): Promise<boolean> {
  const body = declaration.method === 'GET' || declaration.method === 'DELETE' ? {} : { body: {} };
  const answer = await hub.call(declaration.method, pathOf(declaration), {
    ...(credentials.cookie === undefined ? {} : { cookie: credentials.cookie }),
    ...(credentials.headers ? { headers: { ...credentials.headers } } : {}),
    ...body,
  });
  expect({ path: declaration.path, answered: answer.status < 500 || answer.status === 503 }).toEqual({
    path: declaration.path,
    answered: true,
  });
  return answer.status === 403 && refusals.has(answer.body.code);
}

const isStream = ({ media, method }: RouteDeclaration): boolean =>
  media === 'text/event-stream' && method === 'GET';
/** Changes what other cells need, or answers with lines. */
const leftOut = new Set(['rotateSigningKey', 'purgeEvents', 'hostedExportAudit']);

const cells = (scheme: 'cookie' | 'operatorJwt'): [string, RouteDeclaration, OperatorRole][] =>
  [...Object.entries(api as Record<string, RouteDeclaration>), ...Object.entries(hostedApi)].flatMap(
    ([name, declaration]): [string, RouteDeclaration, OperatorRole][] =>
      (declaration.auth as readonly string[]).includes(scheme) &&
      isPersonRole(declaration.role) &&
      !isStream(declaration) &&
      !leftOut.has(name)
        ? [[name, declaration, declaration.role]]
        : [],
  );

beforeAll(async () => {
  await hub.start();
  admin = await hub.admin();
});
afterAll(() => hub.remove());

// Each commit takes two roles, at night all; role-cells.test.ts tries every role, each on a third of the routes.
describe.each(rowsOfCommit(operatorRoles, 2).rows)('a person who is %s everywhere', (role) => {
  it('is let in by the cookie exactly where the declaration says so', async () => {
    const { cookie } = await personWith([{ role, env: '*' }]);
    const wrong: string[] = [];
    for (const [name, declaration, needed] of cells('cookie')) {
      if ((await isRefused(declaration, { cookie })) === includesRole(role, needed)) wrong.push(name);
    }
    expect(cells('cookie').length).toBeGreaterThan(80);
    expect(wrong).toEqual([]);
  });

  it('is let in by a token of the login exactly where the declaration says so', async () => {
    const { cookie } = await personWith([{ role, env: '*' }]);
    const given = await hub.call('POST', '/api/v1/auth/operator-token', { cookie });
    const headers = { Authorization: `Bearer ${given.body.token}` };
    const wrong: string[] = [];
    for (const [name, declaration, needed] of cells('operatorJwt')) {
      if ((await isRefused(declaration, { headers })) === includesRole(role, needed)) wrong.push(name);
    }
    expect(cells('operatorJwt').length).toBeGreaterThan(25);
    expect(wrong).toEqual([]);
  });
});

describe('roles', () => {
  it.each([
    [[{ role: 'owner', env: '*' }]],
    [[{ role: 'viewer', env: 'moon' }]],
    [[{ role: 'admin', env: 'staging' }]],
    [[]],
    [Array.from({ length: 9 }, () => ({ role: 'viewer', env: 'staging' }))],
    [
      [
        { role: 'viewer', env: 'staging' },
        { role: 'viewer', env: 'staging' },
      ],
    ],
  ])('%j are refused by field', async (roles) => {
    const body = { email: hub.emailOf('refused'), password, roles };
    const answer = await hub.call('POST', '/api/v1/users', { cookie: admin, body });
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0].loc.slice(0, 2)).toEqual(['body', 'roles']);
  });

  it('and is_admin are not sent together', async () => {
    const body = {
      email: hub.emailOf('both'),
      password,
      is_admin: true,
      roles: [{ role: 'viewer', env: '*' }],
    };
    expect((await hub.call('POST', '/api/v1/users', { cookie: admin, body })).status).toBe(422);
  });

  it('become operator on every environment when is_admin goes, and stay when it was not there', async () => {
    const other = await personWith([{ role: 'admin', env: '*' }]);
    const viewer = await personWith([{ role: 'viewer', env: 'staging' }]);
    const demote = (id: string) =>
      hub.call('PATCH', `/api/v1/users/${id}`, { cookie: admin, body: { is_admin: false } });
    expect((await demote(other.id)).body.roles).toEqual([{ role: 'operator', env: '*' }]);
    expect((await demote(viewer.id)).body.roles).toEqual([{ role: 'viewer', env: 'staging' }]);
  });

  it('that change hold at once, end open streams, and sign nobody out', async () => {
    const person = await personWith([{ role: 'operator', env: '*' }]);
    const stream = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, { Cookie: person.cookie });
    expect(stream.status).toBe(200);
    const changed = await hub.call('PATCH', `/api/v1/users/${person.id}`, {
      cookie: admin,
      body: { roles: [{ role: 'viewer', env: 'staging' }] },
    });
    expect(changed.body).toMatchObject({ is_admin: false, roles: [{ role: 'viewer', env: 'staging' }] });
    await stream.end();
    const me = await hub.call('GET', '/api/v1/auth/me', { cookie: person.cookie });
    expect(me).toMatchObject({ status: 200, body: { roles: [{ role: 'viewer', env: 'staging' }] } });
    const refused = await hub.call('POST', '/api/v1/bundles', {
      cookie: person.cookie,
      body: { yaml_content: bundleYaml('refused') },
    });
    expect(refused).toMatchObject({ status: 403, body: { code: 'role_required' } });
  });
});

describe('somebody with roles in some environments', () => {
  const keys = new Map<Env, string>();
  const approvals = new Map<Env, string>();
  const envs = ['production', 'staging', 'development'] as const;
  let staging: Person;
  let two: Person;

  const get = (path: string, { cookie }: { readonly cookie: string }) => hub.call('GET', path, { cookie });

  beforeAll(async () => {
    const uploaded = await hub.call('POST', '/api/v1/bundles', {
      cookie: admin,
      body: { yaml_content: bundleYaml('shared') },
    });
    expect(uploaded.status).toBe(201);
    for (const env of envs) {
      const { key } = await hub.key(admin, env);
      keys.set(env, key);
      const deployed = await hub.call('POST', '/api/v1/bundles/shared/1/deploy', {
        cookie: admin,
        body: { env },
      });
      expect(deployed.status).toBe(201);
      const event = {
        call_id: `call-${env}`,
        agent_id: `agent-${env}`,
        tool_name: 'transfer',
        verdict: 'call_denied',
        mode: 'enforce',
        timestamp: new Date().toISOString(),
        payload: { session_id: `session-${env}` },
      };
      const ingested = await hub.call('POST', '/api/v1/events', {
        key,
        agent: `agent-${env}`,
        body: { events: [event] },
      });
      expect(ingested.body).toMatchObject({ accepted: 1 });
      const requested = await hub.call('POST', '/api/v1/approvals', {
        key,
        agent: `agent-${env}`,
        body: { agent_id: `agent-${env}`, tool_name: 'transfer', message: 'm', timeout: 3600 },
      });
      approvals.set(env, requested.body.id);
      const rule = { priority: 10 + envs.indexOf(env), pattern: `agent-${env}`, bundle_name: 'shared', env };
      expect((await hub.call('POST', '/api/v1/assignment-rules', { cookie: admin, body: rule })).status).toBe(
        201,
      );
    }
    staging = await personWith([{ role: 'operator', env: 'staging' }]);
    two = await personWith([
      { role: 'viewer', env: 'staging' },
      { role: 'approver', env: 'development' },
    ]);
  }, 60_000);

  it('is refused where the request names another environment', async () => {
    const refused = {
      status: 403,
      body: { code: 'role_required', detail: expect.stringContaining('production') },
    };
    for (const [, { path, method, params, query }] of cells('cookie')) {
      if (method !== 'GET' || params || !query || !('env' in query.shape)) continue;
      expect([
        path,
        await get(
          `${path}?env=production&since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z&bucket_seconds=3600`,
          staging,
        ),
      ]).toMatchObject([path, refused]);
    }
    for (const path of ['/api/v1/bundles/shared/current', '/api/v1/assignment-rules/resolve/agent-staging']) {
      expect((await get(`${path}?env=production`, staging)).status).toBe(403);
      expect((await get(`${path}?env=staging`, staging)).status).toBe(200);
    }
    const deploy = (env: Env, by: Person) =>
      hub.call('POST', '/api/v1/bundles/shared/1/deploy', { cookie: by.cookie, body: { env } });
    expect(await deploy('production', staging)).toMatchObject(refused);
    expect((await deploy('staging', staging)).status).toBe(201);
    expect((await deploy('staging', two)).status).toBe(403);
  });

  it('finds lists and counts of these environments alone', async () => {
    const only = async (by: Person, seen: readonly Env[]) => {
      const events = (await get('/api/v1/events', by)).body as { env: Env }[];
      expect(events.map(({ env }) => env).sort()).toEqual([...seen].sort());
      const pending = (await get('/api/v1/approvals?status=pending', by)).body as { env: Env }[];
      expect(pending.map(({ env }) => env).sort()).toEqual([...seen].sort());
      const { facets } = (await get('/api/v1/events/facets', by)).body;
      const facetEnvs = facets.env.top as { value: Env }[];
      expect(facetEnvs.map(({ value }) => value).sort()).toEqual([...seen].sort());
      const deployments = (await get('/api/v1/deployments', by)).body as { env: Env }[];
      expect([...new Set(deployments.map(({ env }) => env))].sort()).toEqual([...seen].sort());
      const [bundle] = (await get('/api/v1/bundles', by)).body as { deployed_envs: Env[] }[];
      expect([...(bundle?.deployed_envs ?? [])].sort()).toEqual([...seen].sort());
      const [version] = (await get('/api/v1/bundles/shared', by)).body as { deployed_envs: Env[] }[];
      expect([...(version?.deployed_envs ?? [])].sort()).toEqual([...seen].sort());
      const rules = (await get('/api/v1/assignment-rules', by)).body as { env: Env }[];
      expect(rules.map(({ env }) => env).sort()).toEqual([...seen].sort());
      const agents = (await get('/api/v1/agents', by)).body as { agent_id: string }[];
      expect(agents.map(({ agent_id }) => agent_id).sort()).toEqual(seen.map((env) => `agent-${env}`).sort());
      const registrations = (await get('/api/v1/agent-registrations', by)).body as { agent_id: string }[];
      expect(registrations.map(({ agent_id }) => agent_id).sort()).toEqual(
        seen.map((env) => `agent-${env}`).sort(),
      );
      const overview = (await get('/api/v1/stats/overview', by)).body;
      expect(overview).toMatchObject({
        pending_approvals: seen.length,
        total_agents: seen.length,
        events_24h: seen.length,
        denials_24h: seen.length,
      });
      const fleet = (await get('/api/v1/agents/fleet-coverage', by)).body.agents as { agent_id: string }[];
      expect(fleet).toHaveLength(seen.length);
      const table = (await get('/api/v1/events/export?format=csv', by)).body as string;
      expect(envs.filter((env) => table.includes(`agent-${env}`))).toEqual(
        envs.filter((env) => seen.includes(env)),
      );
      const environments = (await get('/api/v1/environments', by)).body.environments as { env: Env }[];
      expect(environments.map(({ env }) => env).sort()).toEqual([...seen].sort());
    };
    await only(staging, ['staging']);
    await only(two, ['staging', 'development']);
    await only({ id: '', cookie: admin }, envs);
  });

  it('finds no record of another environment', async () => {
    const events = (await get('/api/v1/events', { cookie: admin })).body as { id: string; env: Env }[];
    const idIn = (env: Env) => events.find((event) => event.env === env)?.id;
    expect((await get(`/api/v1/events/${idIn('production')}`, staging)).status).toBe(404);
    expect((await get(`/api/v1/events/${idIn('staging')}`, staging)).status).toBe(200);
    expect((await get(`/api/v1/approvals/${approvals.get('production')}`, staging)).status).toBe(404);
    expect((await get('/api/v1/agent-registrations/agent-production', staging)).status).toBe(404);
    expect((await get('/api/v1/agents/agent-production/coverage', staging)).status).toBe(404);
    expect((await get('/api/v1/agents/agent-production/history', staging)).status).toBe(404);
    const all = (await get('/api/v1/deployments?env=production', { cookie: admin })).body as { id: string }[];
    expect((await get(`/api/v1/deployments/${all[0]?.id}/rollout`, staging)).status).toBe(404);
  });

  it('decides approvals where a role allows it', async () => {
    const decide = (env: Env, { cookie }: { readonly cookie: string }) =>
      hub.call('PUT', `/api/v1/approvals/${approvals.get(env)}`, { cookie, body: { approved: true } });
    expect((await decide('production', two)).status).toBe(404);
    expect(await decide('staging', two)).toMatchObject({ status: 403, body: { code: 'role_required' } });
    expect((await decide('development', two)).status).toBe(200);
  });

  it('hears on the dashboard stream of these environments alone', async () => {
    const stream = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, { Cookie: staging.cookie });
    expect(stream.status).toBe(200);
    for (const env of envs) {
      await hub.call('POST', '/api/v1/approvals', {
        key: keys.get(env) ?? '',
        agent: `agent-${env}`,
        body: { agent_id: `agent-${env}`, tool_name: 'second', message: 'm', timeout: 3600 },
      });
    }
    // Everybody hears of a contract.
    await hub.call('POST', '/api/v1/contracts', {
      cookie: admin,
      body: {
        contract_id: 'shared',
        name: 'Shared',
        type: 'pre',
        definition: {
          tool: 'x',
          when: { 'args.a': { exists: true } },
          then: { effect: 'deny', message: 'no' },
        },
      },
    });
    const event = (env: Env) => ({
      call_id: `second-${env}`,
      agent_id: `agent-${env}`,
      tool_name: 'transfer',
      verdict: 'call_allowed',
      mode: 'enforce',
      timestamp: new Date().toISOString(),
    });
    await hub.call('POST', '/api/v1/events', {
      key: keys.get('production') ?? '',
      agent: 'agent-production',
      body: { events: [event('production')] },
    });
    await hub.call('POST', '/api/v1/events', {
      key: keys.get('staging') ?? '',
      agent: 'agent-staging',
      body: { events: [event('staging')] },
    });
    await stream.next('contract_created');
    await stream.next('event_created');
    const heard = stream.frames.filter(({ event }) => event === 'approval_created');
    expect(heard.map(({ data }) => data.agent_id)).toEqual(['agent-staging']);
    expect(stream.frames.filter(({ event: type }) => type === 'event_created')).toHaveLength(1);
    stream.close();
  });

  it('receives the decision events of these environments alone', async () => {
    const stream = await SseClient.open(`${hub.url}/v1/events/stream`, { Cookie: two.cookie });
    expect(stream.status).toBe(200);
    for (const env of envs) {
      await hub.call('POST', '/api/v1/events', {
        key: keys.get(env) ?? '',
        agent: `agent-${env}`,
        body: {
          events: [
            {
              call_id: `live-${env}`,
              agent_id: `agent-${env}`,
              tool_name: 'transfer',
              verdict: 'call_allowed',
              mode: 'enforce',
              timestamp: new Date().toISOString(),
            },
          ],
        },
      });
    }
    await stream.next('message', 1);
    expect(stream.frames.map(({ data }) => data.call_id)).toEqual(['live-staging', 'live-development']);
    stream.close();
  });

  it('changes no assignment or rule that reaches further', async () => {
    const rule = (env: Env) =>
      hub.call('POST', '/api/v1/assignment-rules', {
        cookie: staging.cookie,
        body: { priority: 5, pattern: 'y*', bundle_name: 'shared', env },
      });
    expect((await rule('production')).body).toMatchObject({ code: 'role_required' });
    expect((await rule('staging')).status).toBe(201);
    const assign = (agentIds: string[]) =>
      hub.call('POST', '/api/v1/agent-registrations/bulk-assign', {
        cookie: staging.cookie,
        body: { agent_ids: agentIds, bundle_name: 'shared' },
      });
    expect((await assign(['agent-staging', 'agent-production'])).body).toMatchObject({
      code: 'role_required',
    });
    expect((await assign(['agent-staging'])).body).toEqual({ updated: 1 });
  });

  it('sees the operator token hold what the roles hold', async () => {
    const { token } = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie: staging.cookie }))
      .body;
    const call = (path: string) => hub.call('GET', path, { headers: { Authorization: `Bearer ${token}` } });
    const { events } = (await call('/v1/events')).body as { events: { environment: Env }[] };
    expect(new Set(events.map(({ environment }) => environment))).toEqual(new Set(['staging']));
    expect(await call('/v1/events?environment=production')).toMatchObject({
      status: 403,
      body: { code: 'role_required' },
    });
    const { runs } = (await call('/v1/runs')).body as { runs: { environment: Env }[] };
    expect(new Set(runs.map(({ environment }) => environment))).toEqual(new Set(['staging']));
    const agents = JSON.stringify((await call('/v1/agents')).body);
    expect(envs.filter((env) => agents.includes(`agent-${env}`))).toEqual(['staging']);
    expect((await call('/v1/runs/agent-production/session-production/bundle')).status).toBe(404);
    expect((await call('/v1/rulesets/shared/current')).status).toBe(403);
    expect((await call('/v1/rulesets/shared/current?env=staging')).status).toBe(200);
    const rule =
      '{id: r, type: pre, tool: x, when: {args.a: {exists: true}}, then: {action: block, message: m}}';
    const put = (query: string) =>
      hub.call('PUT', `/v1/rulesets/saved${query}`, {
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-yaml' },
        body: `apiVersion: service/v1\nkind: Ruleset\nmetadata: {name: saved}\nrules:\n  - ${rule}\n`,
      });
    expect(await put('')).toMatchObject({ status: 403, body: { code: 'role_required' } });
    expect(await put('?deploy=false')).toMatchObject({ status: 201, body: { deployed_envs: [] } });
  });
});

describe('a protected environment', () => {
  const protect = (env: Env, isProtected: boolean, cookie = admin) =>
    hub.call('PUT', `/api/v1/environments/${env}/policy`, { cookie, body: { protected: isProtected } });

  it('is changed by admins, and by operators whose role names it', async () => {
    const everywhere = await personWith([{ role: 'operator', env: '*' }]);
    const named = await personWith([{ role: 'operator', env: 'production' }]);
    expect((await protect('production', true, everywhere.cookie)).status).toBe(403);
    expect((await protect('production', true)).body).toEqual({
      env: 'production',
      protected: true,
      role: 'admin',
      can_change: true,
    });
    const canChange = async ({ cookie }: { cookie: string }) =>
      (await hub.call('GET', '/api/v1/environments', { cookie })).body.environments.find(
        ({ env }: { env: Env }) => env === 'production',
      ).can_change;
    expect([await canChange(everywhere), await canChange(named)]).toEqual([false, true]);
    await hub.call('POST', '/api/v1/bundles', {
      cookie: admin,
      body: { yaml_content: bundleYaml('guarded') },
    });
    const deploy = ({ cookie }: { readonly cookie: string }, env: Env = 'production') =>
      hub.call('POST', '/api/v1/bundles/guarded/1/deploy', { cookie, body: { env } });
    const refused = { status: 403, body: { code: 'environment_protected' } };
    expect(await deploy(everywhere)).toMatchObject(refused);
    expect((await deploy(everywhere, 'staging')).status).toBe(201);
    expect((await deploy(named)).status).toBe(201);
    expect((await deploy({ cookie: admin })).status).toBe(201);
    const rule = { priority: 99, pattern: 'z*', bundle_name: 'guarded', env: 'production' };
    expect(
      await hub.call('POST', '/api/v1/assignment-rules', { cookie: everywhere.cookie, body: rule }),
    ).toMatchObject(refused);
    const { token } = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie: everywhere.cookie }))
      .body;
    const hosted = await hub.call('POST', '/v1/rulesets/guarded/versions/1/deploy?env=production', {
      headers: { Authorization: `Bearer ${token}` },
      body: {},
    });
    expect(hosted).toMatchObject(refused);
    await protect('production', false);
    expect((await deploy(everywhere)).status).toBe(201);
  });

  it('holds a composition that would deploy itself there', async () => {
    const definition = {
      tool: 'x',
      when: { 'args.a': { exists: true } },
      then: { effect: 'deny', message: 'no' },
    };
    await hub.call('POST', '/api/v1/contracts', {
      cookie: admin,
      body: { contract_id: 'held', name: 'Held', type: 'pre', definition },
    });
    await hub.call('POST', '/api/v1/compositions', {
      cookie: admin,
      body: {
        name: 'held',
        update_strategy: 'auto_deploy',
        contracts: [{ contract_id: 'held', position: 1 }],
      },
    });
    for (const env of ['production', 'staging']) {
      const deployed = await hub.call('POST', '/api/v1/compositions/held/deploy', {
        cookie: admin,
        body: { env },
      });
      expect(deployed.status).toBe(201);
    }
    await protect('production', true);
    const author = await personWith([{ role: 'operator', env: '*' }]);
    const update = (cookie: string, message: string) =>
      hub.call('PUT', '/api/v1/contracts/held', {
        cookie,
        body: { definition: { ...definition, then: { effect: 'deny', message } } },
      });
    const versionIn = async (env: Env) =>
      (await hub.call('GET', `/api/v1/bundles/held/current?env=${env}`, { cookie: admin })).body.version;
    expect((await update(author.cookie, 'second')).body).toMatchObject({ version: 2, auto_deploy: 'held' });
    expect([await versionIn('production'), await versionIn('staging')]).toEqual([1, 3]);
    const updated = (await update(admin, 'third')).body;
    expect(updated).not.toHaveProperty('auto_deploy');
    expect([await versionIn('production'), await versionIn('staging')]).toEqual([4, 4]);
    await protect('production', false);
  });
});
