// Audit events: stored, then announced; searched and counted. The check of a batch is in ingest.ts.
import { environmentKey } from '../../../actors/protocol.ts';
import { type Caller, List, Streamed } from '../../api/call.ts';
import type { eventRoutes } from '../../api/events.ts';
import { agentOf, outsideScope } from '../../app/acting-agent.ts';
import { enforceLimit } from '../../app/rate-limit.ts';
import { turns } from '../../concurrency/event-loop-budget.ts';
import { scopeTest } from '../../domain/agent-scope.ts';
import { callIdOf } from '../../domain/decision-event.ts';
import { HubError, notFound } from '../../domain/error.ts';
import type { EventInput, Ingested } from '../../domain/event.ts';
import type { RepairContext } from '../../domain/event-repair.ts';
import type { Facet } from '../../domain/facet.ts';
import { hasControl, isWellFormed } from '../../domain/ids.ts';
import { limitNames } from '../../domain/limit-names.ts';
import { type FacetName, facetNames } from '../../ports/events.ts';
import { openCursor, sealCursor } from '../common/cursor.ts';
import type { Handlers, Hub } from '../common/hub.ts';
import { type Batch, type Rejection, readBatch } from '../common/ingest.ts';
import { iso } from '../common/render.ts';
import { csvHeader, csvLine, ndjsonLine, piecesOf } from './event-lines.ts';
import { filterOf, isSeen, render, renderListed } from './event-query.ts';
import { touchAgents } from './last-seen.ts';
import { principalOf } from './principal.ts';

type KeyCaller = Extract<Caller, { kind: 'key' }>;

/** Posts of few events that an agent may send in a minute: each costs as much as one of many. */
const maxSmallPosts = 600;
const fewEvents = 10;
const minuteMs = 60_000;
const maxBuckets = 11_000;
/** Seconds: narrower buckets than `narrow` are counted over `narrowRange` at most. */
const narrow = 60;
const narrowRange = 2 * 3600;
/** Values that a facet names. */
const facetLimit = 50;

/** Events stored in one go: a large batch is stored in several, so that others are served between. */
const storedAtOnce = 1000;

/** The fields of facets as filters name them. */
const facetWords = {
  agentId: 'agent_id',
  toolName: 'tool_name',
  verdict: 'verdict',
  mode: 'mode',
  decisionName: 'decision_name',
  env: 'env',
} as const satisfies { readonly [F in FacetName]: string };
type FacetWord = (typeof facetWords)[FacetName];

/** What of a batch is not stored, while the rest is. */
interface Refused {
  readonly rejected?: Rejection[];
  readonly manifest?: 'refused';
}

type Accepted = Ingested & Refused;

export const events: Handlers<typeof eventRoutes> = {
  async ingestEvents(hub, { body }, caller) {
    await turns.next(body.byteLength);
    return acceptEvents(hub, caller, await readBatch(body, repairContext(hub, caller), turns));
  },

  async searchEvents(hub, { query }, caller) {
    const filter = filterOf(query, caller);
    const { tenantId } = caller;
    const scope = { tenantId, list: 'events' } as const;
    const from = query.cursor === undefined ? null : openCursor(hub, scope, query.cursor);
    const page = await hub.store.events.search(tenantId, filter, query.limit, from);
    const next = page.next === null ? null : { cursor: sealCursor(hub, scope, page.next) };
    return new List(page.events.map(renderListed), next);
  },

  async getEvent(hub, { params }, caller) {
    const event = await hub.store.events.get(caller.tenantId, params.event_id);
    if (!event || !isSeen(event, caller)) throw notFound('Event not found.');
    return render(event);
  },

  async eventFacets(hub, { query }, caller) {
    const { events: total, by } = await hub.store.events.facets(
      caller.tenantId,
      filterOf(query, caller),
      facetLimit,
    );
    const shown = ({ top, rest }: Facet) => ({ top: [...top], rest });
    const facets = Object.fromEntries(facetNames.map((name) => [facetWords[name], shown(by[name])]));
    return { total, facets: facets as { [W in FacetWord]: ReturnType<typeof shown> } };
  },

  async exportEvents(hub, { query }, caller) {
    const { pages, end } = hub.app.eventExports.start(principalOf(caller), filterOf(query, caller));
    const isCsv = query.format === 'csv';
    const name = `events-${iso(hub.clock.now()).slice(0, 19).replaceAll(':', '')}.${query.format}`;
    return new Streamed(piecesOf(pages, isCsv ? csvLine : ndjsonLine, isCsv ? csvHeader : ''), {
      headers: {
        'Content-Type': isCsv ? 'text/csv; charset=utf-8' : 'application/x-ndjson',
        'Content-Disposition': `attachment; filename="${name}"`,
      },
      ended: end,
    });
  },

  async eventHistogram(hub, { query }, caller) {
    const bucketMs = query.bucket_seconds * 1000;
    if (query.until <= query.since) return [];
    if ((query.until - query.since) / bucketMs > maxBuckets) {
      throw new HubError(
        'unprocessable',
        `The range holds more than ${maxBuckets} buckets: choose larger bucket_seconds.`,
      );
    }
    if (query.bucket_seconds < narrow && query.until - query.since > narrowRange * 1000) {
      throw new HubError(
        'unprocessable',
        `bucket_seconds below ${narrow} need a range of at most 2 hours: choose a shorter range or larger buckets.`,
      );
    }
    const buckets = await hub.store.events.histogram(caller.tenantId, filterOf(query, caller), bucketMs);
    return buckets.map(({ start, ...counts }) => ({ bucket_start: iso(start), ...counts }));
  },
};

/**
 * Stores a batch, then tells who must know: the environment which versions run, the registrations who was seen, the dashboards how many
 * events were new. When telling fails the caller gets the error and may repeat the batch: every event is then a duplicate, and what the
 * dashboards were not told is told by the tenant's next batch, the repeat included.
 * @param batch its events are handed over: the list is empty afterwards
 * @throws HubError rate_limited, overloaded, unavailable
 */
export async function acceptEvents(hub: Hub, caller: KeyCaller, batch: Batch): Promise<Accepted> {
  const { tenantId, env } = caller;
  await withinLimits(hub, caller, batch.events);
  const now = hub.clock.now();
  const refused = takeOutOfScope(caller, batch);
  if (batch.events.length === 0) return { accepted: 0, duplicates: 0, ...refused };
  const agentIds = new Set(batch.events.map(({ agent_id }) => agent_id));
  const reports = versionsRun(batch.events, now);
  const ingested = await storeAll(hub, caller, batch, now);
  try {
    await touchAgents(hub, caller, new Set([...agentIds].filter(isAgentId)));
    if (batch.manifest !== null && batch.manifest !== 'refused' && !refused.manifest) {
      await hub.store.agents.putManifest(tenantId, batch.manifest, now);
    }
    if (reports.length > 0) {
      await hub.actors.tell('environment', environmentKey(tenantId, env), 'reportVersions', { reports });
    }
    await announce(hub, tenantId, ingested.accepted);
  } catch (error) {
    owe(hub, tenantId, ingested.accepted);
    throw error;
  }
  return { ...ingested, ...refused };
}

/** What an event of this caller is repaired with. */
export const repairContext = (
  { clock, secrets }: Pick<Hub, 'clock' | 'secrets'>,
  caller: Pick<KeyCaller, 'agentId' | 'agentPattern'>,
): RepairContext => ({
  agentId: agentOf(caller),
  now: clock.now(),
  sha256: (text) => secrets.sha256(text),
});

/** Stores the events of a batch, a thousand at a time. When it throws, part of them may be stored: the repeat finds them as duplicates. */
async function storeAll(hub: Hub, caller: KeyCaller, batch: Batch, receivedAt: number): Promise<Ingested> {
  const { tenantId, env } = caller;
  const events = sentBy(agentOf(caller), batch.events);
  // Else the events of every request would stay in memory until the disk has answered.
  batch.events = [];
  let accepted = 0;
  let duplicates = 0;
  for (let from = 0; from < events.length; from += storedAtOnce) {
    const part = events.slice(from, from + storedAtOnce);
    if (from > 0) await turns.next(Number.POSITIVE_INFINITY);
    const ingested = await hub.store.events.ingest({ tenantId, env, receivedAt, events: part });
    accepted += ingested.accepted;
    duplicates += ingested.duplicates;
  }
  return { accepted, duplicates };
}

/** Takes out of the batch what is of agents that the key is not bound to, and says what is not stored. */
function takeOutOfScope(caller: KeyCaller, batch: Batch): Refused {
  const isInScope = caller.agentPattern === null ? () => true : scopeTest(caller);
  const rejected = [...batch.rejected];
  if (caller.agentPattern !== null) {
    const { events, places } = batch;
    const kept = events.flatMap((event, i) => (isInScope(event.agent_id) ? [i] : []));
    for (const [i, event] of events.entries()) {
      const { agent_id } = event;
      if (isInScope(agent_id)) continue;
      rejected.push({
        index: places[i] ?? i,
        call_id: callIdOf(event),
        code: 'forbidden',
        detail: outsideScope(caller, agent_id),
      });
    }
    if (kept.length < events.length) {
      batch.events = kept.flatMap((i) => events[i] ?? []);
      batch.places = kept.flatMap((i) => places[i] ?? []);
      rejected.sort((one, other) => one.index - other.index);
    }
  }
  const { manifest } = batch;
  const refused = manifest === 'refused' || (manifest !== null && !isInScope(manifest.agent_id));
  return {
    ...(rejected.length > 0 ? { rejected } : {}),
    ...(refused ? { manifest: 'refused' as const } : {}),
  };
}

/** @throws HubError rate_limited */
async function withinLimits(hub: Hub, caller: KeyCaller, events: readonly EventInput[]): Promise<void> {
  const { tenantId, env } = caller;
  if (events.length < fewEvents) {
    await enforceLimit(hub.requestLimits, {
      name: limitNames.eventPosts(caller, caller.agentId ?? events[0]?.agent_id ?? ''),
      max: maxSmallPosts,
      windowMs: minuteMs,
      message: `Too many posts of fewer than ${fewEvents} events. Send events in batches.`,
    });
  }
  await enforceLimit(hub.limits, {
    name: limitNames.events(tenantId, env),
    max: hub.settings.ingestEventsPerMinute,
    windowMs: minuteMs,
    cost: events.length,
    message: 'Too many events. Please slow down.',
  });
}

/** A key may write events of any agent: those of another than the request's own say whose request it was. */
const sentBy = (sender: string, events: readonly EventInput[]): readonly EventInput[] =>
  events.every((event) => event.agent_id === sender)
    ? events
    : events.map((event) => (event.agent_id === sender ? event : { ...event, sent_by: sender }));

/** By tenant, how many stored events the dashboards were not told of. Their streams do not outlive the hub, so memory will do. */
const owed = new WeakMap<Hub, Map<string, number>>();

function owe(hub: Hub, tenantId: string, accepted: number): void {
  const ofHub = owed.get(hub) ?? new Map<string, number>();
  if (accepted > 0) owed.set(hub, ofHub.set(tenantId, (ofHub.get(tenantId) ?? 0) + accepted));
}

async function announce(hub: Hub, tenantId: string, accepted: number): Promise<void> {
  const before = owed.get(hub)?.get(tenantId) ?? 0;
  owed.get(hub)?.delete(tenantId);
  const announcements = [before, accepted]
    .filter((count) => count > 0)
    .map((count) => ({ kind: 'eventsAccepted', tenantId, accepted: count }) as const);
  if (announcements.length === 0) return;
  try {
    await hub.announcer.announce(announcements);
  } catch (error) {
    owe(hub, tenantId, before);
    throw error;
  }
}

/** Whether an agent can connect under this name: only then is it registered. */
const isAgentId = (text: string): boolean => text.length <= 255 && !hasControl(text) && isWellFormed(text);

interface VersionRun {
  readonly agentId: string;
  readonly bundleName: string | null;
  readonly policyVersion: string;
  at: number;
}

/** The distinct versions that the events say their agents ran, each with its newest time, none later than now (agents' clocks differ). */
function versionsRun(events: readonly EventInput[], now: number): VersionRun[] {
  const newest = new Map<string, VersionRun>();
  let last: VersionRun | null = null;
  for (const { agent_id: agentId, payload, timestamp } of events) {
    const { policy_version: version, bundle_name: bundle } = payload ?? {};
    // A batch is nearly always of one agent that ran one version.
    if (!isOf(last, agentId, version, bundle)) last = runOf(newest, agentId, version, bundle) ?? last;
    if (isOf(last, agentId, version, bundle)) last.at = Math.max(last.at, Math.min(timestamp, now));
  }
  return [...newest.values()];
}

const isOf = (
  run: VersionRun | null,
  agentId: string,
  version: unknown,
  bundle: unknown,
): run is VersionRun =>
  run !== null &&
  run.agentId === agentId &&
  run.policyVersion === version &&
  run.bundleName === nameIn(bundle);

/** The entry of a version, made when it is missing; null when the event names none. */
function runOf(
  newest: Map<string, VersionRun>,
  agentId: string,
  version: unknown,
  bundle: unknown,
): VersionRun | null {
  const policyVersion = nameIn(version);
  if (policyVersion === null) return null;
  const bundleName = nameIn(bundle);
  const id = JSON.stringify([agentId, bundleName, policyVersion]);
  const run = newest.get(id) ?? { agentId, bundleName, policyVersion, at: Number.NEGATIVE_INFINITY };
  newest.set(id, run);
  return run;
}

const nameIn = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= 255 && !hasControl(value) ? value : null;
