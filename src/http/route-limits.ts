// The limits that a route declares, for one request: counted before the handler or when it says so, and what is left of
// them for the answer's headers.
import type { Caller } from '../api/call.ts';
import type { RouteDeclaration } from '../api/route.ts';
import { requireAgent } from '../app/acting-agent.ts';
import type { LimitState, RateLimits } from '../app/rate-limit.ts';
import { isEnv } from '../domain/ids.ts';
import type { CountLimit, Limit, LimitSubject } from '../domain/limit.ts';
import { limitNames } from '../domain/limit-names.ts';

type Input = { readonly params: unknown; readonly body: unknown };

export interface RouteLimits {
  /**
   * Counts what every valid request of the route counts.
   * @throws HubError rate_limited; forbidden when the request is of an agent that its key is not bound to: a key uses
   *   up nothing of other agents
   */
  before(input: Input): Promise<void>;
  /** For the handler. @throws HubError rate_limited; Error for a limit that the route does not declare */
  readonly count: CountLimit;
  /** What is left of each, whether or not this request counted. */
  left(): Promise<readonly LimitState[]>;
}

export function createRouteLimits(
  rateLimits: RateLimits,
  declaration: Pick<RouteDeclaration, 'limits' | 'agent' | 'path'>,
  caller: Caller,
  network: string,
): RouteLimits {
  const declared: readonly Limit[] = declaration.limits ?? [];
  const counted = new Map<Limit, LimitState>();
  let subject = subjectOf(caller, network);

  async function count(limit: Limit, whom: LimitSubject, cost?: number): Promise<void> {
    const state = await rateLimits.count(limit, whom, cost);
    const before = counted.get(limit);
    if (state && (!before || state.left < before.left)) counted.set(limit, state);
  }

  return {
    async before({ params, body }) {
      if (declared.length === 0) return;
      const { environment } = fieldsOf(body);
      const agentId = agentOf(declaration, caller, body);
      if (agentId !== null && 'agentPattern' in caller) requireAgent(caller, agentId);
      subject = {
        ...subject,
        env: subject.env ?? (isEnv(environment) ? environment : null),
        agentId,
        channelId: textOf(fieldsOf(params).channel_id),
      };
      for (const limit of declared) if (!limit.told) await count(limit, withEnv(subject));
    },

    async count(limit, { cost, ...told } = {}) {
      if (!declared.includes(limit)) {
        throw new Error(`${declaration.path} counts the limit '${limit.name}' and does not declare it`);
      }
      await count(limit, withEnv({ ...subject, ...told }), cost);
    },

    async left() {
      // A stranger is not told how much others call.
      const looked = caller.kind === 'none' ? [] : declared.filter((limit) => !counted.has(limit));
      const states = await Promise.all(looked.map((limit) => rateLimits.look(limit, withEnv(subject))));
      return [...counted.values(), ...states.filter((state) => state !== null)];
    },
  };
}

type Fields = { readonly [field: string]: unknown };
/** What a part of the request holds by name; bytes are large, and hold nothing by name. */
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !(value instanceof Uint8Array) ? (value as Fields) : {};
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** The agent that a request is of, where its body may name one, too. */
function agentOf({ agent }: Pick<RouteDeclaration, 'agent'>, caller: Caller, body: unknown): string | null {
  const header = 'agentId' in caller ? caller.agentId : null;
  if (agent === undefined) return header;
  const named = textOf(fieldsOf(body).agent_id);
  return agent === 'body' ? (named ?? header) : (header ?? named);
}

/** A key of every environment acts in production, where nobody names another. */
const withEnv = (subject: LimitSubject): LimitSubject => ({ ...subject, env: subject.env ?? 'production' });

const subjectOf = (caller: Caller, network: string): LimitSubject => ({
  caller: limitNames.requestsOf(caller),
  tenantId: 'tenantId' in caller ? caller.tenantId : null,
  env: 'env' in caller ? caller.env : null,
  agentId: 'agentId' in caller ? caller.agentId : null,
  keyId: 'keyId' in caller ? caller.keyId : null,
  network,
  channelId: null,
});
