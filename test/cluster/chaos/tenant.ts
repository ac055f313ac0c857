// A tenant of its own for a run, made through the public API: its admin's cookie, its keys, its bundle. Puts nothing
// out of order.
import type { Random } from '../../random.ts';
import type { Node } from './caller.ts';
import { type Fleet, operatorToken } from './fleet.ts';
import type { History } from './history.ts';

export type Env = 'production' | 'staging' | 'development';

export interface Key {
  readonly id: string;
  readonly key: string;
  readonly env: Env;
}

/** Versions that a deploy put to work, in order. */
export interface Deployed {
  readonly version: number;
  readonly revision: string;
  /** Epoch ms: before the call, and when it was answered. */
  readonly from: number;
  readonly until: number;
}

const password = 'correct horse battery';
const bundleName = 'guardrails';

const yaml = (mark: string): string => `apiVersion: service/v1
kind: ContractBundle
metadata: {name: ${bundleName}}
defaults: {mode: enforce}
contracts:
  - {id: a, type: pre, tool: "${mark}", when: {args.path: {contains: ".env"}}, then: {effect: deny, message: no}}
`;

export class Tenant {
  readonly id: string;
  readonly cookie: string;
  readonly deployed: Deployed[] = [];
  readonly #fleet: Fleet;

  private constructor(fleet: Fleet, id: string, cookie: string) {
    this.#fleet = fleet;
    this.id = id;
    this.cookie = cookie;
  }

  static async create(fleet: Fleet, random: Random): Promise<Tenant> {
    const name = `t-${Date.now().toString(36)}-${random.int(1e9).toString(36)}`;
    const email = `${name}@example.com`;
    const made = await fleet.must('POST', '/api/v1/operator/tenants', {
      bearer: operatorToken,
      body: { name, email, password },
    });
    const login = await fleet.must('POST', '/api/v1/auth/login', { body: { email, password } });
    const cookie = (login.headers['set-cookie']?.[0] ?? '').split(';', 1)[0] ?? '';
    return new Tenant(fleet, made.output.tenant_id, cookie);
  }

  async key(env: Env = 'production'): Promise<Key> {
    const body = { env, label: 'chaos' };
    const { output } = await this.#fleet.must('POST', '/api/v1/keys', { cookie: this.cookie, body });
    return { id: output.id, key: output.key, env };
  }

  /** Saves a new version of the bundle; tried until it is answered. */
  async save(): Promise<{ readonly version: number; readonly revision: string }> {
    const body = { yaml_content: yaml(`tool-${Math.random().toString(36).slice(2)}`) };
    const { output } = await this.#fleet.must('POST', '/api/v1/bundles', { cookie: this.cookie, body });
    return { version: output.version, revision: output.revision_hash };
  }

  /** Saves and deploys a new version; tried until it is answered, so that the last one deployed is known. */
  async deploy(env: Env = 'production', ms = 20_000): Promise<Deployed> {
    const { version, revision } = await this.save();
    const from = Date.now();
    const path = `/api/v1/bundles/${bundleName}/${version}/deploy`;
    await this.#fleet.must('POST', path, { cookie: this.cookie, body: { env } }, ms);
    const deployed = { version, revision, from, until: Date.now() };
    this.deployed.push(deployed);
    return deployed;
  }

  /** The version that the store says is deployed. */
  async current(env: Env = 'production'): Promise<number> {
    const path = `/api/v1/bundles/${bundleName}/current?env=${env}`;
    return (await this.#fleet.must('GET', path, { cookie: this.cookie })).output.version;
  }

  /** Deploys again, on this node alone, the version that was deployed last: agents notice nothing. */
  redeploy(node: Node, history: History, timeoutMs: number, env: Env = 'production') {
    const path = `/api/v1/bundles/${bundleName}/${this.deployed.at(-1)?.version}/deploy`;
    const request = { cookie: this.cookie, body: { env }, timeoutMs };
    return this.#fleet.caller.note(history, 'deploy', null, node, 'POST', path, request);
  }

  /** Every call id among the tenant's events, as often as it is there. */
  async eventIds(): Promise<string[]> {
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await this.#fleet.must('GET', `/api/v1/events?limit=1000${after}`, {
        cookie: this.cookie,
      });
      for (const event of page.output) ids.push(event.call_id);
      cursor = (page.headers['x-next-cursor'] as string | undefined) ?? null;
    } while (cursor !== null);
    return ids;
  }
}
