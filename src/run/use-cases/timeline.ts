// The calls of a run in the order of time, and the runs that it started.

import type { VerdictWord } from '../../event/record/words.ts';
import { durationOf, type StoredEvent } from '../../event/record.ts';
import { callIdOf, classOf, parentSessionOf, sessionOf } from '../../event/rules/decision.ts';
import { verdictWordOf } from '../../event/rules/query/match.ts';
import { listedEnvs, seesEnv } from '../../shared/access.ts';
import { minuteMs } from '../../shared/duration.ts';
import { notFound } from '../../shared/error.ts';
import type { EnvFilter } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Run } from '../port.ts';
import type { RunKey } from '../record.ts';

export interface TimelineCall {
  readonly eventId: string;
  /** Epoch milliseconds, by the agent's clock. */
  readonly at: number;
  /** Null: not measured. */
  readonly durationMs: number | null;
  /** The first one. */
  readonly verdict: VerdictWord;
  readonly toolName: string;
}

export interface RunTimeline {
  /** Oldest first; the reports about one call of this page are one. */
  readonly calls: readonly TimelineCall[];
  /**
   * Runs whose events name this one as theirs, at most 50, the first first. Only on the first page. Events from five
   * minutes before this run started are looked through, for as long as one search may take.
   */
  readonly children: readonly Run[];
  /** Opaque; null at the end. */
  readonly next: string | null;
}

export interface RunTimelines {
  /** @throws HubError not_found, bad_request (the cursor), search_timeout */
  get(principal: Principal, key: RunKey, limit: number, cursor: string | null): Promise<RunTimeline>;
}

const maxChildren = 50;
/** Events of child runs that are looked through. */
const maxChildEvents = 5_000;
const portion = 1_000;
/** A child's clock may be behind its parent's by so much, in milliseconds. */
const clockErrorMs = 5 * minuteMs;

function callsOf(events: readonly StoredEvent[]): readonly TimelineCall[] {
  const calls = new Map<string, TimelineCall>();
  for (const event of events) {
    // The report of a workflow may contain the id of the call that comes next.
    if (classOf(event.verdict) === 'workflow') continue;
    const key = callIdOf(event) ?? event.id;
    const reported = event.outcomes.find(({ durationMs }) => durationMs !== undefined)?.durationMs;
    const durationMs = durationOf(event) ?? reported ?? null;
    const call = calls.get(key);
    // A later report about the same call: in the flat form, each is an event of its own.
    if (call) calls.set(key, { ...call, durationMs: call.durationMs ?? durationMs });
    else {
      calls.set(key, {
        eventId: event.id,
        at: event.timestamp,
        durationMs,
        verdict: verdictWordOf(event.verdict, event.mode),
        toolName: event.toolName,
      });
    }
  }
  return [...calls.values()];
}

export function createRunTimelines({ store, clock }: Pick<AppPorts, 'store' | 'clock'>): RunTimelines {
  async function childKeys(tenantId: string, env: EnvFilter, parent: Run): Promise<readonly RunKey[]> {
    const keys = new Map<string, RunKey>();
    const since = parent.startedAt - clockErrorMs;
    const until = parent.lastActivityAt + clockErrorMs;
    const filter = { env, parentSessionId: parent.sessionId, since, until };
    let cursor: string | null = null;
    for (let read = 0; read < maxChildEvents && keys.size < maxChildren; read += portion) {
      const page = await store.events.search(tenantId, filter, portion, cursor, 'oldest');
      for (const event of page.events) {
        const sessionId = sessionOf(event);
        if (sessionId === null || parentSessionOf(event) !== parent.sessionId || event.sample) continue;
        const key = { agentId: event.agentId, sessionId };
        if (keys.size < maxChildren) keys.set(JSON.stringify(key), key);
      }
      cursor = page.next;
      if (cursor === null || page.searchedTo !== undefined) break;
    }
    return [...keys.values()];
  }

  return {
    async get(principal, key, limit, cursor) {
      const { tenantId } = principal;
      const env = listedEnvs(principal, null);
      const now = clock.now();
      const run = await store.runs.get(tenantId, key, now);
      if (!run || !seesEnv(principal, run.env)) throw notFound('Run not found.');
      const { agentId, sessionId } = key;
      // No event of a run is before its start.
      const filter = { env, agentId, sessionId, since: run.startedAt };
      const [page, children] = await Promise.all([
        store.events.search(tenantId, filter, limit, cursor, 'oldest'),
        cursor === null ? childKeys(tenantId, env, run) : [],
      ]);
      const runs = await Promise.all(children.map((child) => store.runs.get(tenantId, child, now)));
      return {
        calls: callsOf(page.events),
        children: runs.filter((child) => child !== null && seesEnv(principal, child.env)) as readonly Run[],
        next: page.next,
      };
    },
  };
}
