// Role × environment × route, generated from the declarations, against real processes. A person or a service account
// with one role in one environment sends a request of every route about each environment, and opens every stream over
// both transports. A route without a request fails. Keeps promise P62.
import { expect, it } from 'vitest';
import { isPersonRole, type RouteDeclaration } from '../../src/http/contract/route.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { hostedApi } from '../../src/hub/api/hosted-routes.ts';
import { includesRole, roleIn } from '../../src/shared/env-roles.ts';
import { type Env, environments } from '../../src/shared/ids.ts';
import { type EnvRole, type OperatorRole, operatorRoles } from '../../src/shared/principal.ts';
import type { HubProcess } from '../e2e/process.ts';
import { SocketClient } from '../e2e/socket.ts';
import { SseClient } from '../e2e/sse.ts';
import { isNightly, shareOfCommit } from '../runs.ts';
import { agentIn, type CellRequest, type CellRequests, CellTenant, cellRequests } from './requests.ts';

type Route = readonly [name: string, declaration: RouteDeclaration];
type Headers = { [name: string]: string };

const isForPeople = ({ auth, role }: RouteDeclaration): boolean =>
  isPersonRole(role) && auth.some((scheme) => scheme === 'cookie' || scheme === 'operatorJwt');
const personRoutes: readonly Route[] = Object.entries({ ...api, ...hostedApi }).filter(([, route]) =>
  isForPeople(route),
);
/** Routes whose requests are about environments, or about things with deployments in environments. */
const scopedRoutes = personRoutes.filter(([, { envs }]) => envs !== 'none');
const isStream = ({ media, method }: RouteDeclaration): boolean =>
  media === 'text/event-stream' && method === 'GET';
/** Requests that would change what other cells need. */
const destructive = new Set(['rotateSigningKey', 'purgeEvents']);

interface Case {
  readonly kind: 'person' | 'service account';
  readonly role: OperatorRole;
  readonly env: Env | '*';
}

/**
 * Per commit, each role once, of a person or of an account in another environment; all at full count.
 * @param isSlow the store needs so long that a commit tests an operator alone
 */
function casesOf(isSlow: boolean): readonly Case[] {
  if (isSlow && !isNightly) return [{ kind: 'person', role: 'operator', env: 'staging' }];
  if (!isNightly)
    return [
      { kind: 'person', role: 'viewer', env: 'staging' },
      { kind: 'service account', role: 'approver', env: 'development' },
      { kind: 'person', role: 'operator', env: 'staging' },
      { kind: 'service account', role: 'admin', env: '*' },
    ];
  return (['person', 'service account'] as const).flatMap((kind) =>
    operatorRoles.flatMap((role): Case[] => {
      if (role === 'admin') return [{ kind, role, env: '*' }];
      return environments.map((env) => ({ kind, role, env }));
    }),
  );
}

/** Credentials for a route: of a person the cookie, or a token of that login; of an account its token. */
type Credentials = (route: RouteDeclaration) => Headers;

async function credentialsOf(
  tenant: CellTenant,
  { kind, ...role }: Case,
  extra: readonly EnvRole[] = [],
): Promise<Credentials> {
  const roles = [role, ...extra];
  const name = `cells-${tenant.next()}`;
  if (kind === 'service account') {
    const { id } = await tenant.asAdmin('POST', '/api/v1/service-accounts', { name, roles });
    const body = { label: 'cells' };
    const { token } = await tenant.asAdmin('POST', `/api/v1/service-accounts/${id}/tokens`, body);
    return () => ({ Authorization: `Bearer ${token}` });
  }
  const [email, password] = [`${name}@example.com`, 'correct horse battery'];
  await tenant.asAdmin('POST', '/api/v1/users', { email, password, roles });
  const cookie = await tenant.hub.login(email, password);
  const { token } = await tenant.must('POST', '/api/v1/auth/operator-token', { cookie });
  return ({ auth }) =>
    auth.includes('operatorJwt') ? { Authorization: `Bearer ${token}` } : { Cookie: cookie };
}

/** The status, and the text of an answer that ends by itself. */
async function send(
  url: string,
  { method, media }: RouteDeclaration,
  { path, body }: CellRequest,
  credentials: Headers,
): Promise<{ readonly status: number; readonly text: string }> {
  const ending = new AbortController();
  const hasBody = method !== 'GET' && method !== 'DELETE';
  const answer = await fetch(url + path, {
    method,
    signal: ending.signal,
    headers: { ...credentials, 'X-Requested-With': 'test', 'Content-Type': 'application/json' },
    ...(hasBody ? { body: JSON.stringify(body ?? {}) } : {}),
  });
  if (media === 'text/event-stream' && answer.status === 200) {
    ending.abort();
    return { status: 200, text: '' };
  }
  return { status: answer.status, text: await answer.text() };
}

/** Each parameter of a path is an id that does not exist. */
const absentPathOf = (path: string): string =>
  path
    .replace('{env}', 'production')
    .replaceAll(/\{[^}]*id\}/g, '00000000-0000-4000-8000-000000000000')
    .replaceAll('{version}', '1')
    .replaceAll(/\{[^}]*\}/g, 'absent');

/** The part of a route's answer that its declaration does not allow; null: nothing. */
async function faultOf(
  url: string,
  requests: CellRequests,
  [name, route]: Route,
  { kind, role, env, requestEnv }: Case & { readonly requestEnv: Env },
  credentials: Headers,
): Promise<string | null> {
  const request = await requests.of(name, route)?.(requestEnv);
  if (!request) return `${name} has no request`;
  const { status, text } = await send(url, route, request, credentials);
  const roles = [{ role, env }];
  const isAllowed =
    (kind === 'person' || !route.peopleOnly) &&
    includesRole(roleIn(roles, requests.isOfTenant(name) ? null : requestEnv), route.role as OperatorRole);
  const isRefused = request.lists
    ? status !== 200 || !request.lists(text)
    : [401, 403, 404].includes(status) || text.includes('"validation_failed"');
  const isAnswered = !isRefused && status < 500;
  if (isAllowed ? isAnswered : isRefused && status !== 422) return null;
  return `${name} for ${requestEnv}: ${status} ${text.slice(0, 200)}`;
}

/** Refusals of routes without environments: there the role in any environment suffices. */
async function unscopedFaults(url: string, role: OperatorRole, credentials: Credentials, kind: Case['kind']) {
  const faults: string[] = [];
  for (const [name, route] of personRoutes) {
    if (route.envs !== 'none' || destructive.has(name) || (kind !== 'person' && route.peopleOnly)) continue;
    const { status, text } = await send(url, route, { path: absentPathOf(route.path) }, credentials(route));
    const isRefused = status === 403 && /"(?:role_required|forbidden)"/.test(text);
    if (isRefused === includesRole(role, route.role as OperatorRole) || status === 500)
      faults.push(`${name}: ${status} ${text.slice(0, 200)}`);
  }
  return faults;
}

interface OpenStream {
  readonly name: string;
  /** All that came, as one text. */
  text(): string;
  close(): void;
}

/** Opens a stream over both transports. */
async function openStreams(
  hub: HubProcess,
  [name, route]: Route,
  path: string,
  credentials: Headers,
): Promise<readonly OpenStream[]> {
  const sse = await SseClient.open(hub.url + path, credentials);
  const socket = await SocketClient.open(hub.port, path, credentials, 'reeve.v1.json');
  expect([name, sse.status, socket.status]).toEqual([name, 200, 101]);
  const textOf = ({ frames }: { readonly frames: readonly unknown[] }) => JSON.stringify(frames);
  return [
    { name: `${name} by SSE`, text: () => textOf(sse), close: () => sse.close() },
    { name: `${route.path} by WebSocket`, text: () => textOf(socket), close: () => socket.close() },
  ];
}

/** Streams with records of all environments of a role; the others name one environment. */
const wholeStreams: { readonly [name: string]: string } = {
  dashboardStream: '/api/v1/stream/dashboard?include=fleet,tools,assignments,stats',
  hostedEventStream: '/v1/events/stream',
};

async function checkStreams(tenant: CellTenant, role: Case, credentials: Credentials): Promise<void> {
  const visibleEnvs = environments.filter((env) => role.env === '*' || env === role.env);
  const hiddenEnvs = environments.filter((env) => !visibleEnvs.includes(env));
  const routes = personRoutes.filter(([name]) => name in wholeStreams);
  const streams = (
    await Promise.all(
      routes.map((route) =>
        openStreams(tenant.hub, route, wholeStreams[route[0]] ?? '', credentials(route[1])),
      ),
    )
  ).flat();
  const mark = `stream-${tenant.next()}`;
  // The visible ones last: a frame of another environment would have come before.
  for (const env of [...hiddenEnvs, ...visibleEnvs]) {
    await tenant.requestApproval(env);
    await tenant.sendEvent(env, `${mark}-${env}`);
  }
  for (const { name, text, close } of streams) {
    for (const env of visibleEnvs)
      await expect
        .poll(() => [name, text().includes(agentIn(env))], { timeout: 10_000 })
        .toEqual([name, true]);
    for (const env of hiddenEnvs) expect([name, text().includes(agentIn(env))]).toEqual([name, false]);
    close();
  }
}

/** A stream that names an environment opens there over both transports, or is refused on both. */
async function namedStreamFaults(
  hub: HubProcess,
  requests: CellRequests,
  role: Case,
  credentials: Credentials,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const [name, route] of personRoutes) {
    if (!isStream(route) || route.envs !== 'query') continue;
    for (const env of environments) {
      const { path } = (await requests.of(name, route)?.(env)) ?? { path: '' };
      const socket = await SocketClient.open(hub.port, path, credentials(route), 'reeve.v1.json');
      if ((socket.status === 101) !== (role.env === '*' || role.env === env))
        faults.push(`${name} by WebSocket for ${env}: ${socket.status}`);
      socket.close();
    }
  }
  return faults;
}

/** Registers the tests of all cells. @param hubOf the process, once it runs @param isSlow see `casesOf` */
export function testRoleCells(hubOf: () => HubProcess, isSlow = false): void {
  let started: Promise<CellTenant> | null = null;
  const tenantOf = (): Promise<CellTenant> => {
    started ??= (async () => {
      const tenant = new CellTenant(hubOf());
      await tenant.start();
      return tenant;
    })();
    return started;
  };

  it('every route and stream with environments has its cells', () => {
    const requests = cellRequests(new CellTenant(hubOf()));
    const names = new Set(scopedRoutes.map(([name]) => name));
    expect(scopedRoutes.filter(([name, route]) => !requests.of(name, route)).map(([name]) => name)).toEqual(
      [],
    );
    expect(requests.names.filter((name) => !names.has(name))).toEqual([]);
    expect(scopedRoutes.length).toBeGreaterThan(70);
    const streams = personRoutes.filter(([, route]) => isStream(route));
    const isCovered = ([name, route]: Route) => name in wholeStreams || 'env' in (route.query?.shape ?? {});
    expect(streams.filter((route) => !isCovered(route)).map(([name]) => name)).toEqual([]);
  });

  it.each(casesOf(isSlow).map((one, share) => ({ ...one, share })))(
    'a $kind with the role $role in $env passes exactly where it suffices',
    async ({ kind, role, env, share }) => {
      const tenant = await tenantOf();
      const requests = cellRequests(tenant);
      const credentials = await credentialsOf(tenant, { kind, role, env });
      const faults: string[] = [];
      // Per commit each case tries a third of the routes: the next case the next third, so that each route meets a
      // role. At night each tries all.
      const { rows, seed } = shareOfCommit(scopedRoutes, 3, share);
      for (const route of rows) {
        const envs = requests.isOfTenant(route[0]) ? environments.slice(0, 1) : environments;
        for (const requestEnv of envs) {
          const cell = { kind, role, env, requestEnv };
          const fault = await faultOf(tenant.hub.url, requests, route, cell, credentials(route[1]));
          if (fault !== null) faults.push(fault);
        }
      }
      faults.push(...(await unscopedFaults(tenant.hub.url, role, credentials, kind)));
      faults.push(...(await namedStreamFaults(tenant.hub, requests, { kind, role, env }, credentials)));
      expect(faults, `SEED=${seed}`).toEqual([]);
      await checkStreams(tenant, { kind, role, env }, credentials);
    },
    600_000,
  );
}
