// Values from answers to a player, to be used in later requests: ids, names, cursors, positions of streams; and ids
// of other tenants.
import type { Random } from '../random.ts';
import type { Answer, OutgoingRequest } from './http.ts';
import { agentId, name, type Pen } from './material.ts';
import { type Operation, operations } from './requests.ts';
import type { Credential, Tenant } from './world.ts';

const poolSize = 200;
const positions = 20;
/** Larger answers are not taken apart. Bytes. */
const maxTaken = 200_000;

const namesEnvironment = /mk[0-9a-f]{20}(production|staging|development)/;

/** Names of all path parameters. */
const params = new Set(
  operations.flatMap(({ route }) =>
    [...route.path.matchAll(/\{(\w+)\+?\}/g)].map(([, param]) => param ?? ''),
  ),
);

/** Tag → the parameter that takes the `id` of its things. */
const idParam = new Map(
  operations.flatMap(({ route, params: schema }) =>
    Object.entries(schema.properties ?? {})
      .filter(([, { format }]) => format === 'uuid')
      .map(([param]): [string, string] => [route.tag, param]),
  ),
);

/** Fields whose values other routes take by another name. */
const aliases: { readonly [field: string]: string } = {
  bundle_name: 'name',
  bundle_version: 'version',
  latest_version: 'version',
  agent_ids: 'agent_id',
  keys: 'key',
};

/** Values by name, the newest of each. */
class Pools<T> {
  readonly #pools = new Map<string, T[]>();

  of(pool: string): readonly T[] {
    return this.#pools.get(pool) ?? [];
  }

  keep(pool: string, value: T): void {
    const values = this.#pools.get(pool) ?? [];
    values.push(value);
    if (values.length > poolSize) values.shift();
    this.#pools.set(pool, values);
  }
}

/** Ids of every tenant, by tenant and parameter: what the others try too. */
export type ForeignIds = Pools<string>;
export const noIds = (): ForeignIds => new Pools();

export class Seen {
  readonly #tenant: Tenant | null;
  readonly #tenants: readonly Tenant[];
  readonly #foreign: ForeignIds;
  readonly #values = new Pools<string>();
  /** Existing records, by resource: the path parameters that its routes take. */
  readonly #things = new Pools<{ readonly [param: string]: string }>();
  /** Positions of streams, for Last-Event-ID. */
  readonly positions: string[] = [];

  constructor(tenant: Tenant | null, tenants: readonly Tenant[], foreign: ForeignIds) {
    this.#tenant = tenant;
    this.#tenants = tenants;
    this.#foreign = foreign;
  }

  /**
   * A value for a field of this name: mostly of what was seen, now and then another tenant's id.
   * @param isOwn of what was seen if there is any, and never of another tenant
   */
  known(pen: Pen, field: string, isOwn = false): unknown {
    const { random } = pen;
    if (field === 'email') return this.#tenant?.email;
    if (field === 'tenant_id') return this.#tenant?.id;
    if (field === 'password') return this.#tenant?.password;
    const pool = aliases[field] ?? field;
    if (!isOwn && [...idParam.values()].includes(pool) && random.next() < 0.1) {
      const theirs = this.#foreign.of(`${random.pick(this.#tenants).name} ${pool}`);
      if (theirs.length > 0) return random.pick(theirs);
    }
    const ours = this.#values.of(pool);
    if (ours.length > 0 && (isOwn || random.next() < 0.8)) return random.pick(ours);
    if (pool === 'agent_id') return agentId(pen);
    return ['name', 'contract_id', 'key'].includes(pool) ? name(pen) : undefined;
  }

  /**
   * Path parameters of one thing of this resource; none now and then.
   * @param isNewest of the newest thing
   */
  thing(random: Random, tag: string, isNewest = false): { readonly [param: string]: string } {
    const things = this.#things.of(tag);
    if (isNewest) return things.at(-1) ?? {};
    return things.length > 0 && random.next() < 0.6 ? random.pick(things) : {};
  }

  position(id: string): void {
    if (id !== '') this.positions.push(id);
    if (this.positions.length > positions) this.positions.shift();
  }

  /** Takes ids, names and cursors out of an answer. */
  learn(
    { route }: Operation,
    { path }: OutgoingRequest,
    { headers, body }: Answer,
    { tenant }: Credential,
  ): void {
    const cursor = headers.get('x-next-cursor');
    if (cursor) this.#values.keep('cursor', cursor);
    const session = /^\/api\/v1\/sessions\/([^?]+)$/.exec(path)?.[1];
    if (session) this.#values.keep('key', decodeURIComponent(session));
    if (body.length > maxTaken || !headers.get('content-type')?.startsWith('application/json')) return;
    const value: unknown = JSON.parse(body.toString());
    const items = Array.isArray(value) ? value.slice(0, 50) : [value];
    for (const item of items) {
      if (typeof item !== 'object' || item === null) continue;
      const thing: { [param: string]: string } = {};
      for (const [field, found] of Object.entries(item)) {
        const pool = field === 'id' ? idParam.get(route.tag) : (aliases[field] ?? field);
        if (pool === undefined || !params.has(pool)) continue;
        if (typeof found !== 'string' && typeof found !== 'number') continue;
        // A text that says which environment it is of would look like a leak in another.
        if (namesEnvironment.test(String(found))) continue;
        thing[pool] = String(found);
        this.#values.keep(pool, String(found));
        if (field === 'id' && tenant !== null) this.#foreign.keep(`${tenant} ${pool}`, String(found));
      }
      const isBundle = 'bundle_name' in item || 'bundle_version' in item;
      if (Object.keys(thing).length > 0) this.#things.keep(isBundle ? 'bundles' : route.tag, thing);
    }
  }
}
