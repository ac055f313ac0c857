// Registration of agents: whoever was seen, within two caps that one API key, or one tenant, cannot get over by
// inventing agents. Above them promise P54 holds.

import { callerNames } from '../../admission/caller-name.ts';
import { type Awaitable, chain } from '../../shared/concurrency/awaitable.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { hourMs, minuteMs } from '../../shared/duration.ts';
import { type Env, hash32, isAgentId } from '../../shared/ids.ts';
import type { Clock, Timer } from '../../shared/ports/clock.ts';
import type { Limits } from '../../shared/ports/limits.ts';
import type { Log } from '../../shared/ports/log.ts';
import type { Secrets } from '../../shared/ports/secrets.ts';
import type { SeenOn } from '../../shared/vocabulary.ts';
import type { AgentStore, FirstSeenAgent, SeenAgent, SeenRegistration } from '../port.ts';

export interface RegistrarParts {
  readonly agents: Pick<AgentStore, 'noteSeen' | 'count' | 'addLeftOut' | 'countLeftOut'>;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'uuid'>;
  readonly log: Log;
  /** Agents that one API key may bring in a minute. */
  readonly newPerMinute: number;
  /** Agents of a tenant that live: retired ones do not count. */
  readonly maxLive: number;
}

/** The caller that introduced an agent. */
export interface Source {
  readonly tenantId: string;
  readonly env: Env;
  /** Of the API key. */
  readonly keyId: string;
  /** API that the agent was seen on; absent: unknown. */
  readonly on?: SeenOn;
}

/**
 * The rest of a key's limit for new agents. It is taken in portions, so that a fleet does not ask the limiter for each
 * agent.
 */
interface Portion {
  left: number;
  until: number;
  closedUntil: number;
  refilling: Promise<void> | null;
}

/** A tenant's known agents. */
interface Living {
  count: number;
  /** Registrations under way. */
  pending: number;
  /** Registered here since they were counted: other nodes may have registered as many. */
  created: number;
  readAt: number;
  reading: Promise<void> | null;
}

/** Permission to register an agent, if it is new. */
type Place =
  | { readonly granted: true; readonly living: Living; readonly portion: Portion }
  | { readonly granted: false; readonly reason: string };

function giveBack({ living, portion }: Extract<Place, { granted: true }>, isCreated: boolean): void {
  living.pending--;
  if (isCreated) {
    living.count++;
    living.created++;
  } else portion.left++;
}

/** Until living agents are counted again: others may have registered or retired some. Sooner near the cap. */
const countedMs = 30_000;
const countedNearMs = 5_000;
/** Until a limit that refused is asked again. */
const closedMs = 1_000;
const maxKeys = 10_000;
/** Agents left out that are told apart within an hour. */
const maxLeftOut = 50_000;
const saveMs = 5_000;

export class Registrar {
  readonly #parts: RegistrarParts;
  readonly #portions = new BoundedMap<Portion>(maxKeys);
  readonly #living = new BoundedMap<Living>(maxKeys);
  readonly #warned = new BoundedMap<true>(maxKeys);
  /** The hour that `leftOut` is of. */
  #hour = 0;
  /** Hashes of agents that were left out. */
  #leftOut = new Set<number>();
  #unsaved = new Map<string, number>();
  #timer: Timer | null = null;

  constructor(parts: RegistrarParts) {
    this.#parts = parts;
  }

  /**
   * Notes that an agent was seen, and registers it when it is new, or retired. An id outside of the identifier rule
   * is not registered.
   * @param at when, in epoch milliseconds; default now
   * @returns its registration; null, or a retired one, when it is not registered
   */
  async noteSeen(
    source: Source,
    agentId: string,
    at = this.#parts.clock.now(),
  ): Promise<SeenRegistration | null> {
    const { agents, secrets } = this.#parts;
    const { tenantId, env, on } = source;
    if (!isAgentId(agentId)) {
      return (await agents.noteSeen(tenantId, agentId, env, at, null, on)).registration;
    }
    const place = this.#reserveNow(source) ?? (await this.#reserve(source));
    const newId = place.granted ? secrets.uuid() : null;
    let answer: SeenAgent | undefined;
    try {
      answer = await agents.noteSeen(tenantId, agentId, env, at, newId, on);
      return answer.registration;
    } finally {
      this.#settle(source, agentId, place, answer);
    }
  }

  /**
   * The same for agents that another write notes in its own commit.
   * @param write gets them in this order; the answer has one of the store for each, in the same order
   */
  async noteSeenWith<T extends { readonly agents?: readonly SeenAgent[] }>(
    source: Source,
    agentIds: readonly string[],
    write: (agents: readonly FirstSeenAgent[]) => Promise<T>,
  ): Promise<T> {
    const places: Place[] = [];
    let answers: readonly SeenAgent[] = [];
    try {
      for (const _ of agentIds) places.push(this.#reserveNow(source) ?? (await this.#reserve(source)));
      const answer = await write(agentIds.map((agentId, i) => this.#firstSeen(source, agentId, places[i])));
      answers = answer.agents ?? [];
      return answer;
    } finally {
      for (const [i, place] of places.entries()) this.#settle(source, agentIds[i] ?? '', place, answers[i]);
    }
  }

  #firstSeen({ on }: Source, agentId: string, place: Place | undefined): FirstSeenAgent {
    const newId = place?.granted && isAgentId(agentId) ? this.#parts.secrets.uuid() : null;
    return on === undefined ? { agentId, newId } : { agentId, newId, on };
  }

  /** @param answer of the store; absent when it failed */
  #settle(source: Source, agentId: string, place: Place, answer: SeenAgent | undefined): void {
    if (place.granted) giveBack(place, answer?.isNew ?? false);
    else if (answer && answer.registration?.retiredAt !== null) this.#leave(source, agentId, place.reason);
  }

  /** About how many agents of the tenant were not registered in this hour, or in the one before if those were more. */
  async leftOut(tenantId: string): Promise<number> {
    const hour = this.#thisHour();
    const { agents } = this.#parts;
    const [before, saved] = await Promise.all([
      agents.countLeftOut(tenantId, hour - 1),
      agents.countLeftOut(tenantId, hour),
    ]);
    return Math.max(before, saved + (this.#unsaved.get(tenantId) ?? 0));
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    await this.#save();
  }

  /** A place for one agent more, to be settled once it is known whether it was new. */
  async #reserve({ tenantId, keyId }: Source): Promise<Place> {
    const living = await this.#livingOf(tenantId);
    if (this.#isFull(living))
      return { granted: false, reason: 'the tenant has reached its limit of registered agents' };
    living.pending++;
    const portion = this.#portionOf(keyId);
    if (!(await this.#take(portion, keyId))) {
      living.pending--;
      return { granted: false, reason: 'the API key registers too many new agents a minute' };
    }
    return { granted: true, living, portion };
  }

  /** The same where nothing has to be asked, as for nearly all agents of a fleet that comes back; null elsewhere. */
  #reserveNow({ tenantId, keyId }: Source): Place | null {
    const now = this.#parts.clock.now();
    const living = this.#living.get(tenantId, now);
    const portion = this.#portions.get(keyId, 0);
    if (!living || !portion || !this.#isFresh(living, now) || this.#isFull(living)) return null;
    if (now >= portion.until || portion.left === 0) {
      if (portion.refilling || now < portion.closedUntil) return null;
      portion.left = 0;
      this.#startRefill(portion, keyId);
      if (portion.left === 0) return null;
    }
    living.pending++;
    portion.left--;
    return { granted: true, living, portion };
  }

  #isFull({ count, pending }: Living): boolean {
    return count + pending >= this.#parts.maxLive;
  }

  #isFresh({ count, pending, created, readAt }: Living, now: number): boolean {
    // So each node lets in a hundredth of the cap too many at most, beside the registrations under way.
    if (created >= Math.max(1, this.#parts.maxLive / 100)) return false;
    const near = count + pending > this.#parts.maxLive * 0.9;
    return now - readAt < (near ? countedNearMs : countedMs);
  }

  async #livingOf(tenantId: string): Promise<Living> {
    const { agents, clock } = this.#parts;
    const now = clock.now();
    const knownLiving = this.#living.get(tenantId, now);
    const readAt = Number.NEGATIVE_INFINITY;
    const living = knownLiving ?? { count: 0, pending: 0, created: 0, readAt, reading: null };
    if (!knownLiving) this.#living.set(tenantId, living, Number.POSITIVE_INFINITY);
    if (this.#isFresh(living, now)) return living;
    living.reading ??= agents
      .count(tenantId)
      .then((count) => {
        living.count = count;
        living.created = 0;
        living.readAt = now;
      })
      .finally(() => {
        living.reading = null;
      });
    await living.reading;
    return living;
  }

  #portionOf(keyId: string): Portion {
    const livePortion = this.#portions.get(keyId, 0);
    if (livePortion) return livePortion;
    const portion = { left: 0, until: 0, closedUntil: 0, refilling: null };
    this.#portions.set(keyId, portion, Number.POSITIVE_INFINITY);
    return portion;
  }

  async #take(portion: Portion, keyId: string): Promise<boolean> {
    const { clock } = this.#parts;
    for (;;) {
      const now = clock.now();
      if (now >= portion.until) portion.left = 0;
      if (portion.left > 0) {
        portion.left--;
        return true;
      }
      if (now < portion.closedUntil) return false;
      if (!portion.refilling) this.#startRefill(portion, keyId);
      if (portion.refilling) await portion.refilling;
    }
  }

  #startRefill(portion: Portion, keyId: string): void {
    const refilling = this.#refill(portion, keyId);
    if (!(refilling instanceof Promise)) return;
    portion.refilling = refilling.finally(() => {
      portion.refilling = null;
    });
    // Callers that wait get the failure. Without this, a failure before the first of them would be unhandled.
    portion.refilling.catch(() => {});
  }

  /** Takes half as much while the limit has not all of it left. At once where it is counted in this process. */
  #refill(portion: Portion, keyId: string, size = this.#portionSize): Awaitable<void> {
    const { clock, limits, newPerMinute } = this.#parts;
    const counted = limits.hit(callerNames.newAgents(keyId), newPerMinute, minuteMs, size);
    // Agents that cannot be counted are served and registered later.
    const answer = counted instanceof Promise ? counted.catch(() => ({ ok: false })) : counted;
    return chain(answer, ({ ok }) => {
      if (ok) {
        portion.left = size;
        portion.until = clock.now() + minuteMs;
        return undefined;
      }
      if (size > 1) return this.#refill(portion, keyId, Math.floor(size / 2));
      portion.closedUntil = clock.now() + closedMs;
      return undefined;
    });
  }

  get #portionSize(): number {
    return Math.max(1, Math.floor(this.#parts.newPerMinute / 200));
  }

  #thisHour(): number {
    const hour = Math.floor(this.#parts.clock.now() / hourMs);
    if (hour === this.#hour) return hour;
    this.#hour = hour;
    this.#leftOut = new Set();
    return hour;
  }

  #leave({ tenantId, env, keyId }: Source, agentId: string, reason: string): void {
    const { clock, log } = this.#parts;
    const now = clock.now();
    if (!this.#warned.get(keyId, now)) {
      this.#warned.set(keyId, true, now + minuteMs);
      log.warn({ keyId, tenantId, env, reason }, 'some agents are served but not registered');
    }
    this.#thisHour();
    const hash = hash32(`${tenantId}/${agentId}`);
    if (this.#leftOut.has(hash) || this.#leftOut.size >= maxLeftOut) return;
    this.#leftOut.add(hash);
    this.#unsaved.set(tenantId, (this.#unsaved.get(tenantId) ?? 0) + 1);
    if (this.#timer) return;
    void this.#save();
    this.#timer = clock.after(saveMs, () => {
      this.#timer = null;
      void this.#save();
    });
  }

  async #save(): Promise<void> {
    const { agents, log } = this.#parts;
    const hour = this.#thisHour();
    const counts = [...this.#unsaved];
    this.#unsaved = new Map();
    const saved = await Promise.allSettled(
      counts.map(([tenantId, count]) => agents.addLeftOut(tenantId, hour, count)),
    );
    const failed = saved.find((one) => one.status === 'rejected');
    if (failed) log.warn({ err: failed.reason }, 'cannot store the count of unregistered agents');
  }
}
