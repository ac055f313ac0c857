// Ownership of shards by this node: leases held in time, an even share of all shards, given back when nodes join, taken
// when nodes leave. Knows no actor: callbacks get the taken and the lost shards. Keeps promises P11 and P12.
import { shardCount } from '../../src/shared/ids.ts';
import type { TakeoverReason } from '../../src/shared/meters.ts';
import type { Clock, Timer } from '../../src/shared/ports/clock.ts';
import { type Lease, type Leases, leaseRenewMs } from '../../src/shared/ports/leases.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { type Member, type Membership, memberMs, type NodeNote } from '../../src/shared/ports/membership.ts';

export interface OwnershipOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly node: string;
  readonly leases: Leases;
  readonly members: Membership;
  readonly note: () => Omit<NodeNote, 'shards'>;
  /** 256 by default. */
  readonly shards?: number;
  readonly renewMs?: number;
  /** This node owns these shards from now on. An error from this function gives the shards back. */
  taken(shards: readonly number[], reason: TakeoverReason): Promise<void>;
  /**
   * These are about to be given back: resolves, soon, when what is under way for them is done. They are ours until
   * then.
   */
  leaving(shards: readonly number[]): Promise<void>;
  /** These are not ours any more: at once, nothing may be done for them. */
  dropped(shards: readonly number[]): void;
  /** After `dropped`, of shards that are given back: resolves when the next owner may begin. */
  cleared(shards: readonly number[]): Promise<void>;
  /** After every turn that succeeded. */
  readonly turned?: () => void;
}

export interface Ownership {
  /** True while this node holds the shard's lease, by its monotonic clock. */
  owns(shard: number): boolean;
  /** The epoch of the shard's lease; 0 when it is not held. */
  epochOf(shard: number): number;
  readonly shards: readonly number[];
  /** As of the last turn that succeeded. */
  readonly members: readonly Member[];
  /** One turn now, or the one under way. Never throws. */
  turn(): Promise<void>;
  /** Gives all back. */
  stop(): Promise<void>;
}

/** A lost lease is noticed within this time at the latest. */
const watchMs = 250;
/** Until the next turn while this node has less than its share: shards that are given back wait for it. */
const shortMs = 100;
/** Until the next turn after a failure. */
const failedMs = 300;
/** A member counts as gone so long after it ended, for a difference between two clocks. Milliseconds. */
const endedMs = 20;
/** Shards that are given back together. A handler at work for one of them holds back these alone. */
const lotSize = 16;

const shardName = (shard: number): string => `shard:${shard}`;

/** True if a node with shards is no longer a member, although it did not announce that it leaves. */
const hasLost = (before: readonly Member[], now: readonly Member[]): boolean =>
  before.some(
    ({ node, note }) =>
      note.shards.length > 0 && note.leaving !== true && !now.some((member) => member.node === node),
  );

class LeaseLoop implements Ownership {
  readonly #options: OwnershipOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #leases: Leases;
  readonly #membership: Membership;
  readonly #count: number;
  readonly #renewMs: number;
  readonly #held = new Map<number, Lease>();
  #members: readonly Member[] = [];
  #running: Promise<void> | null = null;
  #timer: Timer | null = null;
  #stopped = false;
  /** Why the next shards are taken. */
  #takeoverReason: TakeoverReason = 'start';
  readonly #watch: Timer;

  constructor(options: OwnershipOptions) {
    this.#options = options;
    const { clock, log, leases, members: membership, shards: count = shardCount } = options;
    this.#clock = clock;
    this.#log = log;
    this.#leases = leases;
    this.#membership = membership;
    this.#count = count;
    this.#renewMs = options.renewMs ?? leaseRenewMs;
    this.#watch = clock.every(watchMs, () => this.#lapse());
  }

  turn(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#timer?.cancel();
    this.#running ??= this.#once().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  owns(shard: number): boolean {
    return this.#valid(this.#held.get(shard));
  }

  epochOf(shard: number): number {
    return this.#held.get(shard)?.epoch ?? 0;
  }

  get shards(): readonly number[] {
    return [...this.#held.keys()].filter((shard) => this.#valid(this.#held.get(shard)));
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#watch.cancel();
    await this.#running;
    try {
      await this.#handOver([...this.#held.keys()]);
      await this.#membership.leave();
    } catch (err) {
      this.#log.warn({ err }, 'cannot release leases; they expire by themselves');
    }
  }

  #valid(lease: Lease | undefined): boolean {
    return lease !== undefined && this.#clock.monotonic() < lease.until;
  }

  #drop(shards: readonly number[], why: string): void {
    if (shards.length === 0) return;
    for (const shard of shards) this.#held.delete(shard);
    this.#takeoverReason = 'lease_expired';
    this.#log.warn({ shards: shards.length, why }, 'lost shards');
    this.#options.dropped(shards);
    this.#options.cleared(shards).catch(() => {});
  }

  /** Lets go of what has ended without being renewed, as after a long pause of the process. */
  #lapse(): void {
    this.#drop(
      [...this.#held].filter(([, lease]) => !this.#valid(lease)).map(([shard]) => shard),
      'the leases expired',
    );
  }

  async #renew(): Promise<void> {
    const renewed = await this.#leases.renew([...this.#held.values()]);
    // A lease that ended before the reply is lost, renewed or not, because envelopes passed its shard by. The node
    // takes such a shard again.
    this.#lapse();
    const byName = new Map(renewed.map((lease) => [lease.name, lease]));
    const lost: number[] = [];
    for (const shard of [...this.#held.keys()]) {
      const lease = byName.get(shardName(shard));
      if (lease) this.#held.set(shard, lease);
      else lost.push(shard);
    }
    this.#drop(lost, 'another node owns them');
  }

  async #giveBack(shards: readonly number[]): Promise<void> {
    await this.#options.leaving(shards);
    const leaving = shards.flatMap((shard) => this.#held.get(shard) ?? []);
    for (const shard of shards) this.#held.delete(shard);
    this.#options.dropped(shards);
    await this.#options.cleared(shards);
    await this.#leases.release(leaving);
  }

  /** Tells the members what this node holds, and learns what they hold. */
  async #heartbeat(): Promise<void> {
    this.#members = await this.#membership.heartbeat({
      ...this.#options.note(),
      shards: [...this.#held.keys()],
    });
  }

  /** Gives shards back, lot by lot, side by side: the others can take each lot at once. Ends after the last one. */
  async #handOver(shards: readonly number[]): Promise<void> {
    const lots = Array.from({ length: Math.ceil(shards.length / lotSize) }, (_, lot) =>
      shards.slice(lot * lotSize, (lot + 1) * lotSize),
    );
    const results = await Promise.allSettled(
      lots.map(async (lot) => {
        await this.#giveBack(lot);
        await this.#heartbeat();
      }),
    );
    const failure = results.find(({ status }) => status === 'rejected');
    if (failure?.status === 'rejected') throw failure.reason;
  }

  async #takeUpTo(share: number): Promise<void> {
    const claimed = new Set(
      this.#members.flatMap(({ node, note }) => (node === this.#options.node ? [] : note.shards)),
    );
    const free: number[] = [];
    for (let shard = 0; shard < this.#count; shard++) {
      if (!this.#held.has(shard) && !claimed.has(shard)) free.push(shard);
    }
    // Nodes begin at different places, so that they seldom want the same.
    const from = Math.floor(this.#clock.random() * free.length);
    const candidates = [...free.slice(from), ...free.slice(0, from)];
    while (this.#held.size < share && candidates.length > 0) {
      const names = candidates.splice(0, share - this.#held.size).map(shardName);
      const got = await this.#leases.acquire(names);
      if (got.length === 0) continue;
      const shards = got.map((lease) => Number(lease.name.slice(shardName(0).length - 1)));
      for (const [i, lease] of got.entries()) this.#held.set(shards[i] ?? -1, lease);
      try {
        await this.#options.taken(shards, this.#takeoverReason);
      } catch (error) {
        await this.#giveBack(shards).catch(() => {});
        throw error;
      }
    }
  }

  /** Until the next turn of a node that has its share: at the latest when a member without heartbeats ends. */
  #restMs(): number {
    const others = this.#members.filter(({ node }) => node !== this.#options.node);
    const ends = others.map(({ ageMs }) => memberMs + endedMs - ageMs);
    return Math.max(endedMs, Math.min(this.#renewMs, ...ends));
  }

  async #once(): Promise<void> {
    let next: number;
    try {
      this.#lapse();
      await this.#renew();
      const before = this.#members;
      await this.#heartbeat();
      if (hasLost(before, this.#members) && this.#takeoverReason !== 'lease_expired')
        this.#takeoverReason = 'node_gone';
      // A node that leaves keeps what it has to its end, and the others stand ready to take it.
      const leaves = this.#options.note().leaving === true;
      const nodes = Math.max(1, this.#members.filter(({ note }) => note.leaving !== true).length);
      const share = Math.ceil(this.#count / nodes);
      if (this.#held.size > share) {
        const surplus = [...this.#held.keys()].slice(share);
        await this.#handOver(surplus);
        this.#log.info({ shards: surplus.length, owned: this.#held.size, nodes }, 'handed over shards');
      } else if (this.#held.size < share && !leaves) {
        const ownedBefore = this.#held.size;
        await this.#takeUpTo(share);
        const taken = this.#held.size - ownedBefore;
        if (taken > 0) this.#log.info({ shards: taken, owned: this.#held.size, nodes }, 'took over shards');
        // The others see at once what is taken.
        if (taken > 0) await this.#heartbeat();
      }
      next = this.#restMs();
      if (this.#held.size >= Math.floor(this.#count / nodes)) this.#takeoverReason = 'rebalanced';
      else if (!leaves) next = Math.min(shortMs, next);
      this.#options.turned?.();
    } catch (err) {
      next = Math.min(failedMs, this.#renewMs);
      this.#log.debug({ err }, 'cannot renew leases');
    }
    if (!this.#stopped) this.#timer = this.#clock.after(next, () => void this.turn());
  }
}

export const startOwnership = (options: OwnershipOptions): Ownership => new LeaseLoop(options);
