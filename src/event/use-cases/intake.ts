// Audit events that agents send: counted, stored, then announced. How a batch is read is its API's business
// (event/console/batch.ts).
import { environmentKey } from '../../../actors/protocol.ts';
import { type CountLimit, fewEvents, limits, type OwnLimits } from '../../admission/limit.ts';
import type { FirstSeenAgent } from '../../agent/port.ts';
import type { LastSeen } from '../../agent/use-cases/last-seen.ts';
import { agentOf, outsideScope } from '../../shared/acting-agent.ts';
import { scopeTest } from '../../shared/agent-scope.ts';
import { turns } from '../../shared/concurrency/event-loop-budget.ts';
import { hourMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import { hasControl, isAgentId, isWellFormed } from '../../shared/ids.ts';
import type { EventApi } from '../../shared/meters.ts';
import type { KeyPrincipal } from '../../shared/principal.ts';
import { traced } from '../../shared/tracing.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { EventBatch, IngestResult } from '../port.ts';
import type { AgentManifest, CountedAs, EventInput, Ingested } from '../record.ts';
import { callIdOf, sessionOf } from '../rules/decision.ts';
import { maxPayload } from '../rules/payload-fit.ts';
import { type CountAnnouncements, createCountAnnouncements } from './count-announcements.ts';

/** Events that can be stored. */
export interface IngestBatch {
  /**
   * Handed over: empty once the batch was accepted, so that its events do not stay in memory until the disk has
   * answered.
   */
  events: readonly EventInput[];
  /** The list of events as JSON bytes, where they can be kept as they came (event/rules/as-sent). */
  sent?: Uint8Array;
  /** The place of each event in the list that was sent. */
  places: readonly number[];
  /** Bytes of each element of that list, where some may be large. */
  readonly sizes?: readonly number[];
  /** The contracts that the agent runs of its own; null: not sent. `refused`: they could not be read. */
  readonly manifest: AgentManifest | null | 'refused';
}

/** An event of an agent that the key does not speak for. */
export interface OutOfScope {
  /** In the list that was sent. */
  readonly index: number;
  readonly callId: string | null;
  readonly reason: string;
}

export interface Taken extends Ingested {
  readonly outOfScope: readonly OutOfScope[];
  readonly manifestRefused: boolean;
}

export type PostLimits = Pick<OwnLimits, 'count' | 'takeBack'>;

export interface EventIntake {
  /**
   * Takes in a post. One that has few events, or none, that can be stored counts once, unless a limit refuses it.
   * @param ingest takes in all parts of the post
   * @throws HubError rate_limited, and the errors of `ingest`
   */
  takePost<T>(
    sender: Pick<KeyPrincipal, 'agentId'>,
    events: readonly Pick<EventInput, 'agentId'>[],
    limits: PostLimits,
    ingest: () => Promise<T>,
  ): Promise<T>;
  /**
   * Stores a batch, then reports its effects: to the environment the versions that run, to the registrations the agents
   * that were seen, to the dashboards the number of new events. If a report fails, the caller receives the error and
   * may repeat the batch: every event is then a duplicate. The tenant's next batch, the repeat included, reports to the
   * dashboards what they missed. A manifest without events registers its agent.
   * @throws HubError rate_limited, overloaded, unavailable
   */
  ingest(principal: KeyPrincipal, batch: IngestBatch, count: CountLimit, api?: EventApi): Promise<Taken>;
  /** Counts events that cannot be read, for the metrics. */
  countRejected(api: EventApi, events: number): void;
}

/** Events stored in one go: a large batch is stored in several, so that others are served between. */
const storedAtOnce = 1000;
/** Bytes of them, as they were sent. */
const storedBytesAtOnce = 1024 * 1024;
/** Agents, sessions and hours that they are of: stores keep a record for each, which costs more than an event. */
const placesAtOnce = 100;
const countedVerdicts: readonly CountedAs[] = ['allowed', 'denied', 'pending', 'observed'];

type Ports = Pick<AppPorts, 'store' | 'actors' | 'announcer' | 'clock' | 'meters' | 'secrets'> & {
  readonly lastSeen: LastSeen;
};
type Place = Pick<KeyPrincipal, 'tenantId' | 'env'>;
type Tally = { -readonly [F in keyof Ingested]: Ingested[F] };

class BatchIntake implements EventIntake {
  readonly #ports: Ports;
  readonly #announceCounts: CountAnnouncements;
  /**
   * By environment, the number of stored events that the dashboards missed. Their streams do not outlive the hub, so
   * memory will do.
   */
  readonly #owed = new Map<string, number>();

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#announceCounts = createCountAnnouncements(ports);
  }

  async takePost<T>(
    { agentId }: Pick<KeyPrincipal, 'agentId'>,
    events: readonly Pick<EventInput, 'agentId'>[],
    { count, takeBack }: PostLimits,
    ingest: () => Promise<T>,
  ): Promise<T> {
    if (events.length >= fewEvents) return ingest();
    const sender = { agentId: agentId ?? events[0]?.agentId ?? '' };
    await count(limits.eventPosts, sender);
    try {
      return await ingest();
    } catch (error) {
      if (error instanceof HubError && error.code === 'rate_limited')
        await takeBack(limits.eventPosts, sender);
      throw error;
    }
  }

  countRejected(api: EventApi, events: number): void {
    this.#ports.meters.events.add([api, 'rejected'], events);
  }

  async ingest(
    principal: KeyPrincipal,
    batch: IngestBatch,
    count: CountLimit,
    api: EventApi = 'console',
  ): Promise<Taken> {
    const { clock, meters, lastSeen, actors } = this.#ports;
    const { tenantId, env } = principal;
    if (batch.events.length > 0) await count(limits.events, { env, cost: batch.events.length });
    const now = clock.now();
    const { outOfScope, manifest } = takeOutOfScope(principal, batch);
    meters.events.add([api, 'rejected'], outOfScope.length);
    if (batch.events.length === 0) {
      if (manifest !== null && manifest !== 'refused') {
        await lastSeen.touch(principal, new Set([manifest.agentId]));
      }
      const manifestRefused = manifest !== null && !(await this.#storeManifest(tenantId, manifest, now));
      return { accepted: 0, duplicates: 0, outOfScope, manifestRefused };
    }
    const agentIds = [...new Set(batch.events.map(({ agentId }) => agentId))].filter(canBeRegistered);
    const unregistered = new Set(lastSeen.unregistered(principal, agentIds.filter(isAgentId)));
    const reports = versionsRun(batch.events, now);
    const ingested = { accepted: 0, duplicates: 0 };
    let manifestRefused: boolean;
    try {
      await this.#storeAll(principal, batch, now, unregistered, ingested);
      lastSeen.touchLater(principal, agentIds);
      manifestRefused = manifest !== null && !(await this.#storeManifest(tenantId, manifest, now));
      if (reports.length > 0) {
        await actors.tell('environment', environmentKey(tenantId, env), 'reportVersions', { reports });
      }
    } catch (error) {
      // The repeat finds what was stored as duplicates. Those who follow events need not wait for the repeat.
      if (ingested.accepted > 0) await this.#announce(principal, ingested.accepted).catch(() => {});
      throw error;
    } finally {
      meters.events.add([api, 'stored'], ingested.accepted);
      meters.events.add([api, 'duplicate'], ingested.duplicates);
    }
    await this.#announce(principal, ingested.accepted);
    return { ...ingested, outOfScope, manifestRefused };
  }

  /** False: it is refused, as is the manifest of an agent that is not registered. */
  async #storeManifest(tenantId: string, manifest: AgentManifest | 'refused', now: number): Promise<boolean> {
    return manifest !== 'refused' && this.#ports.store.agents.updateManifest(tenantId, manifest, now);
  }

  #owe({ tenantId, env }: Place, accepted: number): void {
    const key = environmentKey(tenantId, env);
    if (accepted > 0) this.#owed.set(key, (this.#owed.get(key) ?? 0) + accepted);
  }

  #countStored(
    { tenantId, env }: Place,
    { accepted, duplicates, verdicts, outcomes }: IngestResult,
    total: Tally,
  ): void {
    total.accepted += accepted;
    total.duplicates += duplicates;
    for (const verdict of countedVerdicts)
      this.#ports.meters.decisions.add([env, verdict], verdicts[verdict]);
    this.#ports.meters.tenantEvents.add(tenantId, accepted);
    this.#announceCounts(tenantId, env, verdicts, outcomes);
  }

  /** Owes the announcements that fail. */
  async #announce(place: Place, accepted: number): Promise<void> {
    const { tenantId, env } = place;
    const key = environmentKey(tenantId, env);
    const before = this.#owed.get(key) ?? 0;
    this.#owed.delete(key);
    const announcements = [before, accepted]
      .filter((count) => count > 0)
      .map((count) => ({ kind: 'eventsAccepted', tenantId, env, accepted: count }) as const);
    if (announcements.length === 0) return;
    try {
      await this.#ports.announcer.announce(announcements);
    } catch (error) {
      this.#owe(place, before + accepted);
      throw error;
    }
  }

  /**
   * Stores the events of a batch, some at a time. When it throws, part of them may be stored: the repeat finds
   * them as duplicates.
   * @param unregistered agents that are registered in the commits of their events
   * @param total counts each part as soon as it is stored
   */
  async #storeAll(
    principal: KeyPrincipal,
    batch: IngestBatch,
    receivedAt: number,
    unregistered: Set<string>,
    total: Tally,
  ): Promise<void> {
    const { store, clock, lastSeen, meters } = this.#ports;
    const { tenantId, env, actor } = principal;
    const reporter = actor.kind === 'key' ? { keyId: actor.id, prefix: actor.prefix } : undefined;
    const requestAgent = agentOf(principal);
    const { events } = batch;
    const sender = events.every((event) => event.agentId === requestAgent) ? undefined : requestAgent;
    const place = { tenantId, env, receivedAt };
    const sizes = sizesOf(batch);
    const { sent } = batch;
    batch.events = [];
    delete batch.sent;
    const parts = partsOf(events, sizes);
    for (const [i, part] of parts.entries()) {
      if (i > 0) await turns.next(Number.POSITIVE_INFINITY);
      const newIds = takeAgents(unregistered, part);
      const ingest = async (agents: readonly FirstSeenAgent[]): Promise<IngestResult> => {
        // Spreads of what may be absent cost more than what they are for.
        const batch: { -readonly [F in keyof EventBatch]: EventBatch[F] } = { ...place, events: part };
        if (reporter) batch.reporter = reporter;
        if (sender !== undefined) batch.sender = sender;
        if (agents.length > 0) batch.agents = agents;
        if (sent && parts.length === 1) batch.sent = sent;
        const result = await traced('commit events', () => store.events.ingest(batch));
        this.#countStored(principal, result, total);
        if (result.agentsError !== undefined) throw result.agentsError;
        return result;
      };
      const begun = clock.monotonic();
      await (newIds.length === 0 ? ingest([]) : lastSeen.registerWith(principal, newIds, ingest));
      meters.eventCommits.add(clock.monotonic() - begun);
    }
  }
}

export const createEventIntake = (ports: Ports): EventIntake => new BatchIntake(ports);

/**
 * Takes out of the batch the events about agents that the key is not bound to, and returns them. Also returns the
 * manifest, unless it belongs to such an agent, or without any event to an agent that cannot be registered.
 */
function takeOutOfScope(
  principal: KeyPrincipal,
  batch: IngestBatch,
): Pick<Taken, 'outOfScope'> & Pick<IngestBatch, 'manifest'> {
  const isInScope = scopeTest(principal);
  const outOfScope: OutOfScope[] = [];
  if (principal.agentPattern !== null) {
    const { events, places } = batch;
    const kept: number[] = [];
    for (const [i, event] of events.entries()) {
      if (isInScope(event.agentId)) {
        kept.push(i);
        continue;
      }
      const reason = outsideScope(principal, event.agentId);
      outOfScope.push({ index: places[i] ?? i, callId: callIdOf(event), reason });
    }
    if (outOfScope.length > 0) {
      batch.events = kept.flatMap((i) => events[i] ?? []);
      batch.places = kept.flatMap((i) => places[i] ?? []);
      delete batch.sent;
    }
  }
  const { manifest } = batch;
  if (manifest === null || manifest === 'refused') return { outOfScope, manifest };
  const { agentId } = manifest;
  const canBeStored = isInScope(agentId) && (batch.events.length > 0 || isAgentId(agentId));
  return { outOfScope, manifest: canBeStored ? manifest : 'refused' };
}

/** Bytes of an event that is stored: its payload's bound, and its names. */
const maxStoredBytes = maxPayload + 8192;

/** Bytes of each event; null where all together are few. */
function sizesOf({ places, sizes }: IngestBatch): readonly number[] | null {
  // A longer one was shortened to its bound.
  return sizes ? places.map((place) => Math.min(sizes[place] ?? 0, maxStoredBytes)) : null;
}

/** The events in parts that are stored in one go, in their order. */
function partsOf(events: readonly EventInput[], sizes: readonly number[] | null): (readonly EventInput[])[] {
  // So few are of few places.
  if (events.length <= placesAtOnce && sizes === null) return [events];
  const parts: (readonly EventInput[])[] = [];
  let from = 0;
  let bytes = 0;
  let places = new Set<string>();
  for (const [i, event] of events.entries()) {
    const hour = Math.floor(event.timestamp / hourMs);
    const place = JSON.stringify([event.agentId, sessionOf(event), hour]);
    const isFull = i - from >= storedAtOnce || (places.size >= placesAtOnce && !places.has(place));
    bytes += sizes?.[i] ?? 0;
    if (isFull || (bytes > storedBytesAtOnce && i > from)) {
      parts.push(events.slice(from, i));
      from = i;
      bytes = sizes?.[i] ?? 0;
      places = new Set();
    }
    places.add(place);
  }
  parts.push(events.slice(from));
  return parts;
}

/** The agents of these events that are in the set; they leave it. */
function takeAgents(agentIds: Set<string>, events: readonly EventInput[]): readonly string[] {
  if (agentIds.size === 0) return [];
  const taken = new Set<string>();
  for (const { agentId } of events) if (agentIds.delete(agentId)) taken.add(agentId);
  return [...taken];
}

/** True if a registration may have this name, also one that no new agent can have (isAgentId). */
const canBeRegistered = (text: string): boolean =>
  text.length <= 255 && !hasControl(text) && isWellFormed(text);

interface VersionRun {
  readonly agentId: string;
  readonly bundleName: string | null;
  readonly policyVersion: string;
  at: number;
}

/**
 * The distinct versions that the agents of these events ran, each with its newest time, none later than now (agents'
 * clocks differ).
 */
function versionsRun(events: readonly EventInput[], now: number): VersionRun[] {
  const newest = new Map<string, VersionRun>();
  let last: VersionRun | null = null;
  for (const event of events) {
    const { agentId, payload, timestamp } = event;
    const version = payload?.policy_version;
    const bundle = payload?.bundle_name;
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
