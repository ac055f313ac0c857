// The limits of one request: of its route's class, and those that the route declares. They are counted before the
// handler or when it asks for it. The remaining amounts go into the headers of the answer.

import { requireAgent } from '../shared/acting-agent.ts';
import type { AgentScope } from '../shared/agent-scope.ts';
import type { Awaitable } from '../shared/concurrency/awaitable.ts';
import { HubError } from '../shared/error.ts';
import { isEnv } from '../shared/ids.ts';
import {
  type CountedFor,
  type Limit,
  type LimitClass,
  type LimitSubject,
  limitSubjectOf,
  limits,
  type OwnLimits,
} from './limit.ts';
import type { LimitState, RateLimits } from './rate-limit.ts';

/** The part of a route's declaration about limits. */
export interface LimitedRoute {
  readonly path: string;
  /** Default `standard`, and for a caller who is only known by an address none. */
  readonly limit?: LimitClass;
  /** Limits of its own, beside the class. */
  readonly limits?: readonly Limit[];
  /** Winner where body and caller may both name the agent that a request is about. */
  readonly agent?: 'body' | 'header';
  /** True where the handler answers repeats of earlier requests over the limits, too. */
  readonly canRepeatOverLimit?: true;
}

type Input = { readonly params: unknown; readonly body: unknown };

export interface RouteLimits {
  /** Counts the request for the limit of the route's class, before it is read. @throws HubError rate_limited */
  arrived(): Promise<void>;
  /**
   * Counts what every valid request of the route counts.
   * @throws HubError rate_limited, which `own.refusal` returns instead where the route declares `canRepeatOverLimit`;
   *   forbidden when the request is of an agent that its key is not bound to: a key uses up nothing of other agents
   */
  before(input: Input): Promise<void>;
  /** Takes back what `before` counted: the request was a repeat, or refused as one. */
  giveBack(): Promise<void>;
  /** For the handler. */
  readonly own: OwnLimits;
  /**
   * The rest of each limit, even if this request did not count; of the class's limits only if it did. Without those
   * that cannot be read now. Never rejects.
   */
  left(): Promise<readonly LimitState[]>;
}

/** @param network the client's address, as limits count it */
export const createRouteLimits = (
  rateLimits: RateLimits,
  route: LimitedRoute,
  caller: LimitedRequestCaller,
  network: string,
): RouteLimits => new RequestLimits(rateLimits, route, caller, network);

type LimitedRequestCaller = Parameters<typeof limitSubjectOf>[0] & Partial<AgentScope>;

class RequestLimits implements RouteLimits {
  readonly own: OwnLimits;
  readonly #rateLimits: RateLimits;
  readonly #route: LimitedRoute;
  readonly #caller: LimitedRequestCaller;
  readonly #declared: readonly Limit[];
  readonly #counted = new Map<Limit, LimitState>();
  #refusal: HubError | null = null;
  #subject: LimitSubject;

  constructor(rateLimits: RateLimits, route: LimitedRoute, caller: LimitedRequestCaller, network: string) {
    this.#rateLimits = rateLimits;
    this.#route = route;
    this.#caller = caller;
    this.#declared = route.limits ?? [];
    this.#subject = limitSubjectOf(caller, network);
    this.own = {
      count: async (limit, counted) => this.#count(limit, this.#subjectFor(limit, counted), counted?.cost),
      tryCount: (limit, counted) => refusedBy(() => this.own.count(limit, counted)),
      refusal: () => this.#refusal,
      check: async (limit, counted) => rateLimits.check(limit, this.#subjectFor(limit, counted)),
      takeBack: async (limit, counted) => rateLimits.takeBack(limit, this.#subjectFor(limit, counted)),
    };
  }

  async arrived(): Promise<void> {
    const limit = limitOfClass(this.#route, this.#caller.kind);
    if (limit) await this.#count(limit, this.#subject);
  }

  async before({ params, body }: Input): Promise<void> {
    if (this.#declared.length === 0) return;
    const { environment } = fieldsOf(body);
    const { agentPattern } = this.#caller;
    const agentId = agentOf(this.#route, this.#caller, body);
    if (agentId !== null && agentPattern !== undefined) requireAgent({ agentPattern }, agentId);
    this.#subject = {
      ...this.#subject,
      env: this.#subject.env ?? (isEnv(environment) ? environment : null),
      agentId,
      channelId: textOf(fieldsOf(params).channel_id),
    };
    this.#refusal = await this.#countDeclared();
    if (this.#refusal !== null && !this.#route.canRepeatOverLimit) throw this.#refusal;
  }

  /** The refusal of the first full limit, which leaves none counted; null: all are counted. */
  async #countDeclared(): Promise<HubError | null> {
    try {
      for (const limit of this.#declared)
        if (!limit.byHandler) await this.#count(limit, withEnv(this.#subject));
      return null;
    } catch (error) {
      await this.giveBack();
      if (error instanceof HubError && error.code === 'rate_limited') return error;
      throw error;
    }
  }

  async giveBack(): Promise<void> {
    const whom = withEnv(this.#subject);
    for (const limit of this.#declared) {
      if (!limit.byHandler && this.#counted.delete(limit)) await this.#rateLimits.takeBack(limit, whom);
    }
  }

  async left(): Promise<readonly LimitState[]> {
    // Strangers must not learn how much others call.
    const others =
      this.#caller.kind === 'none' ? [] : this.#declared.filter((limit) => !this.#counted.has(limit));
    const whom = withEnv(this.#subject);
    const states = await Promise.all(others.map((limit) => this.#lookAt(limit, whom)));
    return [...this.#counted.values(), ...states.filter((state) => state !== null)];
  }

  async #lookAt(limit: Limit, whom: LimitSubject): Promise<LimitState | null> {
    try {
      return await this.#rateLimits.look(limit, whom);
    } catch {
      return null;
    }
  }

  async #count(limit: Limit, whom: LimitSubject, cost?: number): Promise<void> {
    const state = await this.#rateLimits.count(limit, whom, cost);
    const before = this.#counted.get(limit);
    if (state && (!before || state.left < before.left)) this.#counted.set(limit, state);
  }

  /** For whom the handler counts one of the route's limits. */
  #subjectFor(limit: Limit, { cost: _cost, ...parts }: CountedFor = {}): LimitSubject {
    if (this.#declared.includes(limit)) return withEnv({ ...this.#subject, ...parts });
    throw new Error(`${this.#route.path} counts the limit '${limit.name}' and does not declare it`);
  }
}

/** The refusal of a count; null when it was counted. */
async function refusedBy(count: () => Promise<void>): Promise<HubError | null> {
  try {
    await count();
    return null;
  } catch (error) {
    if (error instanceof HubError) return error;
    throw error;
  }
}

/**
 * Counts a request for the limit of its route's class, where nothing else of its limits is asked. Null: it has none.
 * @throws HubError rate_limited, at once or later
 */
export function countArrival(
  rateLimits: Pick<RateLimits, 'count'>,
  route: LimitedRoute,
  caller: Parameters<typeof limitSubjectOf>[0],
  network: string,
): Awaitable<LimitState | null> {
  const limit = limitOfClass(route, caller.kind);
  return limit && rateLimits.count(limit, limitSubjectOf(caller, network));
}

/** Null where a class has no limit of its own. */
function limitOfClass({ limit }: LimitedRoute, caller: string): Limit | null {
  switch (limit) {
    case 'none':
    case 'own':
    case 'operator':
      return null;
    case 'stream':
      return limits.streams;
    default:
      if (caller !== 'none' && caller !== 'operator') return limits.requests;
      // Routes that anybody may call are not limited unless they declare a limit.
      return limit === undefined ? null : limits.requestsOfNetwork;
  }
}

type Fields = { readonly [field: string]: unknown };
/** Named fields of a part of the request. Bytes have none. */
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !(value instanceof Uint8Array) ? (value as Fields) : {};
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** The agent that a request is of, where its body may name one, too. */
function agentOf(
  { agent }: LimitedRoute,
  { agentId = null }: { readonly agentId?: string | null },
  body: unknown,
): string | null {
  if (agent === undefined) return agentId;
  const bodyAgentId = textOf(fieldsOf(body).agent_id);
  return agent === 'body' ? (bodyAgentId ?? agentId) : (agentId ?? bodyAgentId);
}

/** A key of every environment acts in production, where nobody names another. */
const withEnv = (subject: LimitSubject): LimitSubject => ({ ...subject, env: subject.env ?? 'production' });
