// Decision events in the hosted API's words: taken in flat, stored as every other audit event, shown flat.
import type { CountLimit } from '../../admission/limit.ts';
import type { RulesetNames } from '../../bundle/use-cases/ruleset-names.ts';
import { type Caller, WrittenJson } from '../../http/contract/call.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { maxPageBytes, pageFieldsOf } from '../../http/contract/hosted-pages.ts';
import { type HostedCaller, keyPrincipalOf, principalOf } from '../../http/contract/hosted-principal.ts';
import { listedText } from '../../http/contract/listed.ts';
import { validationFailed } from '../../http/contract/validation.ts';
import { agentOf, requireAgent } from '../../shared/acting-agent.ts';
import { bytesPerTurn, turns } from '../../shared/concurrency/event-loop-budget.ts';
import { type Env, environments, isEnv } from '../../shared/ids.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { type Batch, readBatch, repairContext, storeBatch } from '../console/batch.ts';
import { type EventInput, policyVersionOf, type StoredEvent } from '../record.ts';
import { verdictFilter } from '../rules/decision.ts';
import type { EventFilter } from '../rules/filter.ts';
import { renderEvent } from './event.ts';
import type { hostedEventRoutes } from './routes.ts';

type HostedKey = Extract<Caller, { kind: 'hostedKey' }>;

/** Times are kept to the microsecond. */
const leastMs = 0.001;

export const hostedEvents: Handlers<typeof hostedEventRoutes> = {
  async hostedIngestEvents(hub, { body }, caller, request) {
    await turns.next(body.byteLength);
    const batch = await readBatch(body, repairContext(hub, caller), turns, 'hosted');
    return hub.app.eventIntake.takePost(caller, batch.events, request.limits, () =>
      storeParts(hub, caller, batch, request.limits.count),
    );
  },

  async hostedSearchEvents(hub, { query }, caller) {
    const { tenantId } = caller;
    const { limit, offset, cursor } = query;
    const filter = filterOf(query, caller);
    const nothing = { events: [], ...pageFieldsOf(query, null), next_cursor: null };
    if (filter === null) return nothing;
    const order = query.order === 'asc' ? 'oldest' : 'newest';
    const scope = { tenantId, list: order === 'oldest' ? 'events_oldest' : 'events' } as const;
    const principal = principalOf(caller);
    const { eventSearches } = hub.app;
    const from =
      cursor === undefined
        ? await eventSearches.skip(principal, filter, offset, order)
        : openCursor(hub, scope, cursor);
    if (from === null && cursor === undefined && offset > 0) return nothing;
    const writer = new EventWriter(hub.app.runs.names, tenantId);
    // A page that is too large for an answer is read again, shorter: the cursor that comes with it is behind its end.
    for (let max = limit; ; ) {
      const page = await eventSearches.search(principal, filter, max, from, order);
      const texts = await writer.write(page.events);
      max = texts.length;
      if (max < page.events.length) continue;
      const fields = {
        ...pageFieldsOf(query, page.next === null ? null : max),
        next_cursor: page.next === null ? null : sealCursor(hub, scope, page.next),
      };
      const answer = `{"events":[${texts.join(',')}],${JSON.stringify(fields).slice(1)}`;
      return new WrittenJson(Buffer.from(answer)) as never;
    }
  },
};

/** Stores a batch and returns the result for each of its events. @throws HubError as `storeBatch` */
async function storeParts(hub: Pick<Hub, 'app'>, caller: HostedKey, batch: Batch, count: CountLimit) {
  hub.app.eventIntake.countRejected('hosted', batch.rejected.length);
  const total = { accepted: 0, duplicates: 0, rejected: [...batch.rejected] };
  for (const [env, part] of byEnvironment(caller, batch)) {
    const {
      accepted,
      duplicates,
      rejected = [],
    } = await storeBatch(hub, keyPrincipalOf(caller, env), part, count, 'hosted');
    total.accepted += accepted;
    total.duplicates += duplicates;
    total.rejected.push(...rejected);
  }
  total.rejected.sort((one, other) => one.index - other.index);
  return total;
}

/**
 * A batch by the environments that its events belong to: the key's, else the one that the event names, else production.
 */
function byEnvironment(caller: HostedKey, batch: Batch): ReadonlyMap<Env, Batch> {
  const parts = new Map<Env, { events: EventInput[]; places: number[] }>();
  for (const [i, event] of batch.events.entries()) {
    const environment = event.payload?.environment;
    const env = caller.env ?? (isEnv(environment) ? environment : 'production');
    const part = parts.get(env) ?? { events: [], places: [] };
    part.events.push(event);
    part.places.push(batch.places[i] ?? i);
    parts.set(env, part);
  }
  const sizes = omitUndefined({ sizes: batch.sizes });
  // Else the events would stay in memory until all are stored.
  batch.events = [];
  return new Map([...parts].map(([env, part]) => [env, { ...part, ...sizes, rejected: [], manifest: null }]));
}

/** Callers that may read events: people see all of the workspace. */
type Reader = HostedCaller | Extract<Caller, { kind: 'user' }>;

interface Query {
  readonly agent_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly parent_session_id?: string | undefined;
  readonly decision?: readonly string[] | undefined;
  readonly environment?: string | undefined;
  readonly tool_name?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/**
 * Filter of a query, within the events that the caller sees; null when nothing can fit.
 * @throws HubError validation_failed for a word that is neither a class nor an action; forbidden for agents that the
 *   key is not bound to
 */
export function filterOf(query: Query, caller: Reader): EventFilter | null {
  const verdicts = query.decision && verdictFilter(query.decision);
  if (verdicts === null) {
    throw validationFailed([
      { loc: ['query', 'decision'], msg: 'must be a class of decisions or an action' },
    ]);
  }
  const own = caller.kind === 'hostedKey' ? caller.env : null;
  const environment = query.environment;
  if (environment !== undefined && (!isEnv(environment) || (own !== null && environment !== own)))
    return null;
  const { since, until } = query;
  return {
    env: own ?? environments.find((env) => env === environment) ?? null,
    ...omitUndefined({
      agentId: agentSeen(caller, query.agent_id),
      sessionId: query.session_id,
      parentSessionId: query.parent_session_id,
      toolName: query.tool_name,
      verdicts,
      since,
      until: until === undefined ? undefined : until - leastMs,
    }),
  };
}

/** The agent whose events a caller sees; absent: every one's. @throws HubError forbidden */
function agentSeen(caller: Reader, requestedAgentId: string | undefined): string | undefined {
  if (caller.kind !== 'hostedKey' || caller.agentPattern === null) return requestedAgentId;
  const agentId = requestedAgentId ?? agentOf(caller);
  requireAgent(caller, agentId);
  return agentId;
}

/** Writes events as lists show them: each becomes text once, a few of them in a turn of the event loop. */
class EventWriter {
  readonly #names: RulesetNames;
  readonly #tenantId: string;
  /** By id: a page that is read again is not written again. */
  readonly #texts = new Map<string, string>();

  constructor(names: RulesetNames, tenantId: string) {
    this.#names = names;
    this.#tenantId = tenantId;
  }

  /** JSON of the first events that fit into one answer; at least one if there is one. */
  async write(events: readonly StoredEvent[]): Promise<readonly string[]> {
    const texts: string[] = [];
    let bytes = 0;
    let unpaid = 0;
    for (const event of events) {
      const text = this.#texts.get(event.id) ?? (await this.#textOf(event));
      const size = Buffer.byteLength(text) + 1;
      bytes += size;
      if (bytes > maxPageBytes && texts.length > 0) break;
      texts.push(text);
      unpaid += size;
      if (unpaid < bytesPerTurn) continue;
      await turns.next(unpaid);
      unpaid = 0;
    }
    return texts;
  }

  async #textOf(event: StoredEvent): Promise<string> {
    const env = environments.find((one) => one === event.env) ?? 'production';
    const ruleset = await this.#names.resolve(this.#tenantId, env, policyVersionOf(event));
    const text = listedText(renderEvent(event, ruleset));
    this.#texts.set(event.id, text);
    return text;
  }
}
