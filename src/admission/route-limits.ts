// The limits of one request: of its route's class, and those that the route declares. They are counted before the
// handler or when it says so; what is left of them goes into the answer's headers.

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
  /** Where body and caller may both name the agent that a request is of: which of them wins. */
  readonly agent?: 'body' | 'header';
}

type Input = { readonly params: unknown; readonly body: unknown };

export interface RouteLimits {
  /** Counts the request for the limit of the route's class, before it is read. @throws HubError rate_limited */
  arrived(): Promise<void>;
  /**
   * Counts what every valid request of the route counts.
   * @throws HubError rate_limited; forbidden when the request is of an agent that its key is not bound to: a key uses
   *   up nothing of other agents
   */
  before(input: Input): Promise<void>;
  /** Takes back what `before` counted: the request was a repeat, or refused as one. */
  giveBack(): Promise<void>;
  /** For the handler. */
  readonly own: OwnLimits;
  /** The rest of each limit, even if this request did not count; of the class's limits only if it did. */
  left(): Promise<readonly LimitState[]>;
}

/** @param network the client's address, as limits count it */
export function createRouteLimits(
  rateLimits: RateLimits,
  route: LimitedRoute,
  caller: Parameters<typeof limitSubjectOf>[0] & Partial<AgentScope>,
  network: string,
): RouteLimits {
  const declared = route.limits ?? [];
  const counted = new Map<Limit, LimitState>();
  let subject = limitSubjectOf(caller, network);

  async function count(limit: Limit, whom: LimitSubject, cost?: number): Promise<void> {
    const state = await rateLimits.count(limit, whom, cost);
    const before = counted.get(limit);
    if (state && (!before || state.left < before.left)) counted.set(limit, state);
  }

  /** For whom the handler counts one of the route's limits. */
  function subjectFor(limit: Limit, { cost: _cost, ...parts }: CountedFor = {}): LimitSubject {
    if (declared.includes(limit)) return withEnv({ ...subject, ...parts });
    throw new Error(`${route.path} counts the limit '${limit.name}' and does not declare it`);
  }

  const own: OwnLimits = {
    count: async (limit, subject) => count(limit, subjectFor(limit, subject), subject?.cost),
    async tryCount(limit, subject) {
      try {
        await own.count(limit, subject);
        return null;
      } catch (error) {
        if (error instanceof HubError) return error;
        throw error;
      }
    },
    check: async (limit, subject) => rateLimits.check(limit, subjectFor(limit, subject)),
    takeBack: async (limit, subject) => rateLimits.takeBack(limit, subjectFor(limit, subject)),
  };

  return {
    async arrived() {
      const limit = limitOfClass(route, caller.kind);
      if (limit) await count(limit, subject);
    },

    async before({ params, body }) {
      if (declared.length === 0) return;
      const { environment } = fieldsOf(body);
      const agentId = agentOf(route, caller, body);
      if (agentId !== null && caller.agentPattern !== undefined) {
        requireAgent({ agentPattern: caller.agentPattern }, agentId);
      }
      subject = {
        ...subject,
        env: subject.env ?? (isEnv(environment) ? environment : null),
        agentId,
        channelId: textOf(fieldsOf(params).channel_id),
      };
      for (const limit of declared) if (!limit.byHandler) await count(limit, withEnv(subject));
    },

    async giveBack() {
      const whom = withEnv(subject);
      for (const limit of declared) {
        if (!limit.byHandler && counted.delete(limit)) await rateLimits.takeBack(limit, whom);
      }
    },

    own,

    async left() {
      // A stranger is not told how much others call.
      const looked = caller.kind === 'none' ? [] : declared.filter((limit) => !counted.has(limit));
      const states = await Promise.all(looked.map((limit) => rateLimits.look(limit, withEnv(subject))));
      return [...counted.values(), ...states.filter((state) => state !== null)];
    },
  };
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
      // Routes that anybody may call are not limited unless they say so.
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
