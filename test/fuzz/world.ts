// The players: tenants with people and keys, and what credentials each has. Made over the API, like anybody's.
import type { AuthScheme, RouteDeclaration } from '../../src/http/contract/route.ts';
import type { HubProcess } from '../e2e/process.ts';
import { markerOf } from './leaks.ts';

export const operatorToken = 'operator-token-of-at-least-32-characters';
const password = 'correct horse battery';
const environments = ['production', 'staging', 'development'] as const;

/** `jwtAdmin`, `jwtMember`: an operator's token of the hub itself, of an admin and of somebody else. */
export type Role = 'admin' | 'member' | 'key' | 'jwtAdmin' | 'jwtMember' | 'operator' | 'nobody' | 'wrong';

export interface Credential {
  readonly role: Role;
  /** The tenant whose credential it is; null for those of nobody and the operator. */
  readonly tenant: string | null;
  /** A key's environment. */
  readonly env: string | null;
  headers: readonly (readonly [string, string])[];
  /**
   * Ids of the people who play, the operator's of their tenants: nobody changes or removes them, or what a role may
   * would change with it.
   */
  readonly players?: ReadonlySet<string>;
  /** Gets it anew after it was ended or revoked. */
  renew(): Promise<void>;
}

export interface Tenant {
  readonly name: string;
  readonly id: string;
  readonly marker: string;
  readonly email: string;
  readonly password: string;
  readonly credentials: readonly Credential[];
}

/** How a role may prove who it is. */
const schemesOf: { readonly [R in Role]: readonly AuthScheme[] } = {
  admin: ['cookie'],
  member: ['cookie'],
  key: ['key', 'hostedKey'],
  jwtAdmin: ['operatorJwt'],
  jwtMember: ['operatorJwt'],
  operator: ['operatorToken'],
  nobody: [],
  wrong: [],
};

/** True when the route takes callers of this role. */
export function isAdmitted({ auth, role: needed }: RouteDeclaration, role: Role): boolean {
  if (auth.length === 0) return true;
  const found = auth.find((scheme) => schemesOf[role].includes(scheme));
  if (found === undefined) return false;
  // Keys, and the installation's own token, have no role: a route that takes them takes all.
  const hasNoRole = found === 'hostedKey' || found === 'key' || found === 'operatorToken';
  return hasNoRole || needed !== 'admin' || role === 'admin' || role === 'jwtAdmin';
}

const never = async (): Promise<void> => {};
const bearer = (token: string) => [['Authorization', `Bearer ${token}`]] as const;

/** Credentials that belong to no tenant. */
export const strangers: readonly Credential[] = [
  { role: 'nobody', tenant: null, env: null, headers: [], renew: never },
  {
    role: 'wrong',
    tenant: null,
    env: null,
    headers: bearer(`svk_production_${'a'.repeat(43)}`),
    renew: never,
  },
  { role: 'wrong', tenant: null, env: null, headers: bearer('x'.repeat(600)), renew: never },
  { role: 'wrong', tenant: null, env: null, headers: [['Authorization', 'Basic YTpi']], renew: never },
  {
    role: 'wrong',
    tenant: null,
    env: null,
    headers: [
      ['Cookie', `service_session=${'b'.repeat(43)}`],
      ['X-Requested-With', 'fuzz'],
    ],
    renew: never,
  },
];

const playing = new Set<string>();

export const operator: Credential = {
  players: playing,
  role: 'operator',
  tenant: null,
  env: null,
  headers: [...bearer(operatorToken), ['X-Requested-With', 'fuzz']],
  renew: never,
};

let addresses = 0;
/** A client address of its own for each call, so that limits per address do not end the run. */
const address = () => ({ 'X-Forwarded-For': `10.${(addresses >> 8) & 255}.${addresses++ & 255}.1` });

async function expectOk<T>(
  what: string,
  answer: Promise<{ status: number; body: T; headers: Headers }>,
): Promise<{ body: T; headers: Headers }> {
  const { status, body, headers } = await answer;
  if (status >= 300) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`);
  return { body, headers };
}

async function cookieOf(hub: HubProcess, email: string): Promise<readonly (readonly [string, string])[]> {
  const { headers } = await expectOk(
    `login of ${email}`,
    hub.call('POST', '/api/v1/auth/login', { body: { email, password }, headers: address() }),
  );
  const cookie = (headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  return [
    ['Cookie', cookie],
    ['X-Requested-With', 'fuzz'],
  ];
}

async function person(
  hub: HubProcess,
  tenant: string,
  email: string,
  role: 'admin' | 'member',
  players: Set<string>,
): Promise<Credential> {
  const credential: Credential = {
    players,
    role,
    tenant,
    env: null,
    headers: await cookieOf(hub, email),
    async renew() {
      credential.headers = await cookieOf(hub, email);
    },
  };
  const me = await expectOk(
    'who it is',
    hub.call('GET', '/api/v1/auth/me', { headers: Object.fromEntries(credential.headers) }),
  );
  players.add(me.body.user_id);
  return credential;
}

/** A person's short-lived token for the hosted API. */
async function token(hub: HubProcess, of: Credential): Promise<Credential> {
  const make = async () => {
    const { body } = await expectOk(
      `a token of ${of.tenant}`,
      hub.call('POST', '/api/v1/auth/operator-token', { headers: Object.fromEntries(of.headers) }),
    );
    return bearer(body.token);
  };
  const credential: Credential = {
    role: of.role === 'admin' ? 'jwtAdmin' : 'jwtMember',
    tenant: of.tenant,
    env: null,
    ...(of.players ? { players: of.players } : {}),
    headers: await make(),
    async renew() {
      await of.renew();
      credential.headers = await make();
    },
  };
  return credential;
}

async function key(hub: HubProcess, tenant: string, env: string, admin: Credential): Promise<Credential> {
  const make = async () => {
    const { body } = await expectOk(
      `a key of ${tenant}`,
      hub.call('POST', '/api/v1/keys', {
        body: { env, label: 'fuzz' },
        headers: Object.fromEntries(admin.headers),
      }),
    );
    return bearer(body.key);
  };
  const credential: Credential = {
    role: 'key',
    tenant,
    env,
    headers: await make(),
    async renew() {
      await admin.renew();
      credential.headers = await make();
    },
  };
  return credential;
}

/** Sets the hub up with these tenants, each with an admin, a member and a key per environment. */
export async function makeTenants(
  hub: HubProcess,
  seed: string,
  names: readonly string[],
): Promise<Tenant[]> {
  const tenants: Tenant[] = [];
  for (const [i, name] of names.entries()) {
    const marker = markerOf(seed, name);
    const email = `${marker}-admin@example.com`;
    const memberEmail = `${marker}-member@example.com`;
    const asOperator = { headers: { Authorization: `Bearer ${operatorToken}`, ...address() } };
    const { body } = await expectOk(
      `tenant ${name}`,
      i === 0
        ? hub.call('POST', '/api/v1/setup', { body: { email, password, tenant_name: `${name} ${marker}` } })
        : hub.call('POST', '/api/v1/operator/tenants', {
            ...asOperator,
            body: { name: `${name} ${marker}`, email, password },
          }),
    );
    playing.add(body.tenant_id);
    await expectOk(
      `member of ${name}`,
      hub.call('POST', '/api/v1/operator/users', {
        ...asOperator,
        body: { tenant_id: body.tenant_id, email: memberEmail, password },
      }),
    );
    const players = new Set<string>();
    const admin = await person(hub, name, email, 'admin', players);
    const member = await person(hub, name, memberEmail, 'member', players);
    const tokens = [await token(hub, admin), await token(hub, member)];
    const keys: Credential[] = [];
    for (const env of environments) keys.push(await key(hub, name, env, admin));
    tenants.push({
      name,
      id: body.tenant_id,
      marker,
      email,
      password,
      credentials: [admin, member, ...tokens, ...keys],
    });
  }
  return tenants;
}
