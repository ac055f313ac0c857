// What handlers work with: the ports, the actors and the caller. Holds no logic.
import type { HubActors } from '../../actors/protocol.ts';
import type { CallerOf, List, Reply, Request } from '../api/call.ts';
import type { Input, ReplyBody, RouteDeclaration } from '../api/route.ts';
import type { Registrar } from '../app/registrar.ts';
import type { RuleSets } from '../domain/assignment.ts';
import type { Quotas } from '../domain/quota.ts';
import type { Storage } from '../domain/storage.ts';
import type { VendorNames } from '../domain/vendor-names.ts';
import type { Announcer } from '../ports/announcer.ts';
import type { Broadcast } from '../ports/broadcast.ts';
import type { Clock } from '../ports/clock.ts';
import type { Evaluator } from '../ports/evaluator.ts';
import type { Jobs } from '../ports/jobs.ts';
import type { Limits } from '../ports/limits.ts';
import type { Log } from '../ports/log.ts';
import type { Secrets } from '../ports/secrets.ts';
import type { Store } from '../ports/store.ts';

/** The settings that handlers need (src/config.ts reads them). */
export interface Settings {
  readonly version: string;
  readonly baseUrl: string;
  /** What the first set-up must present; null when it need not. */
  readonly setupToken: SetupToken | null;
  readonly operatorToken: string | null;
  readonly sessionTtlMs: number;
  readonly loginAttempts: number;
  readonly loginWindowMs: number;
  /** Of an agent. */
  readonly approvalsPerMinute: number;
  /** Of a tenant's environment. */
  readonly ingestEventsPerMinute: number;
  readonly wire: VendorNames;
  readonly quotas: Quotas;
}

export interface SetupToken {
  readonly value: string;
  /** True when callers on this machine need none: the hub made the token itself, because it listens to others before anybody set it up. */
  readonly made: boolean;
}

/** The cluster as a node knows it. */
export interface ClusterState {
  readonly mode: 'embedded' | 'cluster';
  /** The node that answers. */
  readonly node: string;
  readonly nodes: readonly {
    readonly node: string;
    readonly version: string;
    readonly startedAt: number;
    /** Agents with an open stream there. */
    readonly agents: number;
    readonly shards: readonly number[];
  }[];
  readonly shardCount: number;
  /** Of the shards that the answering node owns, and of those that no node owns. */
  readonly lag: readonly { readonly shard: number; readonly waiting: number; readonly oldestMs: number }[];
  readonly broadcastLagMs: number;
}

/** What a node can say of itself, for health. */
export interface NodeHealth {
  /** Round trips in milliseconds; null when it does not answer. */
  store(): Promise<number | null>;
  keyValue(): Promise<number | null>;
  /** The room for writes. */
  storage(): Storage;
  workers(): { readonly [name: string]: 'running' | 'stopped' | 'crashed' };
  /** Over all nodes. */
  connectedAgents(): number;
  /** @throws HubError unavailable when the bus does not answer */
  cluster(): Promise<ClusterState>;
  draining(): boolean;
}

export interface Hub {
  readonly store: Store;
  readonly actors: HubActors;
  readonly announcer: Announcer;
  readonly broadcast: Pick<Broadcast, 'control'>;
  readonly evaluator: Evaluator;
  readonly jobs: Pick<Jobs, 'add'>;
  /** Limits that hold over all nodes. */
  readonly limits: Limits;
  /** Limits of a caller's requests, which must not need more than this process. */
  readonly requestLimits: Limits;
  readonly registrar: Pick<Registrar, 'seen' | 'leftOut'>;
  /** Assignment rules, compiled. */
  readonly ruleSets: Pick<RuleSets, 'of'>;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly settings: Settings;
  readonly health: NodeHealth;
  /** The OpenAPI document, as JSON text. */
  openApi(): string;
}

/** A handler of one route. Returns the body, or a Reply that adds headers, cookies or another status. */
export type Handler<R extends RouteDeclaration> = (
  hub: Hub,
  input: Input<R>,
  caller: CallerOf<R['auth']>,
  request: Request,
) => Promise<ReplyBody<R> | Reply<ReplyBody<R>> | PageOf<ReplyBody<R>>>;

/** A page of the list that a route declares. */
type PageOf<B> = B extends readonly (infer T)[]
  ? List<T>
  : B extends { readonly [field: string]: readonly (infer T)[] }
    ? List<T>
    : never;

/** One handler for each route of a table that is not a stream; a missing one does not compile. */
export type Handlers<T extends { readonly [name: string]: RouteDeclaration }> = {
  readonly [N in keyof T as T[N]['media'] extends 'text/event-stream' ? never : N]: Handler<T[N]>;
};
