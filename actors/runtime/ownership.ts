// Which shards this node owns: leases held in time, an even share of what there is, given back when nodes join, taken
// when nodes leave. Knows no actor: it says what was taken and what was lost. Keeps promises P11 and P12.
import { shardCount } from '../../src/shared/ids.ts';
import type { TakeoverReason } from '../../src/shared/meters.ts';
import type { Clock, Timer } from '../../src/shared/ports/clock.ts';
import { type Lease, type Leases, leaseRenewMs } from '../../src/shared/ports/leases.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { Member, Membership, NodeNote } from '../../src/shared/ports/membership.ts';

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
  /** These are ours from now on. What it throws gives them back. */
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
/** Until the next turn while this node has less than its share, or after a failure. */
const soonMs = 300;

const shardName = (shard: number): string => `shard:${shard}`;

/** True if a node with shards is no longer a member, although it did not announce that it leaves. */
const hasLost = (before: readonly Member[], now: readonly Member[]): boolean =>
  before.some(
    ({ node, note }) =>
      note.shards.length > 0 && note.leaving !== true && !now.some((member) => member.node === node),
  );

export function startOwnership(options: OwnershipOptions): Ownership {
  const { clock, log, leases, members: membership, shards: count = shardCount } = options;
  const renewMs = options.renewMs ?? leaseRenewMs;
  const held = new Map<number, Lease>();
  let members: readonly Member[] = [];
  let running: Promise<void> | null = null;
  let timer: Timer | null = null;
  let stopped = false;
  /** Why the next shards are taken. */
  let takeoverReason: TakeoverReason = 'start';

  const valid = (lease: Lease | undefined): boolean => lease !== undefined && clock.monotonic() < lease.until;

  function drop(shards: readonly number[], why: string): void {
    if (shards.length === 0) return;
    for (const shard of shards) held.delete(shard);
    takeoverReason = 'lease_expired';
    log.warn({ shards: shards.length, why }, 'lost shards');
    options.dropped(shards);
    options.cleared(shards).catch(() => {});
  }

  /** Lets go of what has ended without being renewed, as after a long pause of the process. */
  function lapse(): void {
    drop(
      [...held].filter(([, lease]) => !valid(lease)).map(([shard]) => shard),
      'the leases expired',
    );
  }

  async function renew(): Promise<void> {
    const renewed = await leases.renew([...held.values()]);
    // What ended before the answer came is lost, renewed or not: envelopes passed it by meanwhile. It is taken anew.
    lapse();
    const byName = new Map(renewed.map((lease) => [lease.name, lease]));
    const lost: number[] = [];
    for (const shard of [...held.keys()]) {
      const lease = byName.get(shardName(shard));
      if (lease) held.set(shard, lease);
      else lost.push(shard);
    }
    drop(lost, 'another node owns them');
  }

  async function giveBack(shards: readonly number[]): Promise<void> {
    await options.leaving(shards);
    const leaving = shards.flatMap((shard) => held.get(shard) ?? []);
    for (const shard of shards) held.delete(shard);
    options.dropped(shards);
    await options.cleared(shards);
    await leases.release(leaving);
  }

  async function takeUpTo(share: number): Promise<void> {
    const claimed = new Set(members.flatMap(({ node, note }) => (node === options.node ? [] : note.shards)));
    const free: number[] = [];
    for (let shard = 0; shard < count; shard++) {
      if (!held.has(shard) && !claimed.has(shard)) free.push(shard);
    }
    // Nodes begin at different places, so that they seldom want the same.
    const from = Math.floor(clock.random() * free.length);
    const candidates = [...free.slice(from), ...free.slice(0, from)];
    while (held.size < share && candidates.length > 0) {
      const names = candidates.splice(0, share - held.size).map(shardName);
      const got = await leases.acquire(names);
      if (got.length === 0) continue;
      const shards = got.map((lease) => Number(lease.name.slice(shardName(0).length - 1)));
      for (const [i, lease] of got.entries()) held.set(shards[i] ?? -1, lease);
      try {
        await options.taken(shards, takeoverReason);
      } catch (error) {
        await giveBack(shards).catch(() => {});
        throw error;
      }
    }
  }

  async function once(): Promise<void> {
    let next = renewMs;
    try {
      lapse();
      await renew();
      const before = members;
      members = await membership.heartbeat({ ...options.note(), shards: [...held.keys()] });
      if (hasLost(before, members) && takeoverReason === 'rebalanced') takeoverReason = 'node_gone';
      const nodes = Math.max(1, members.length);
      const share = Math.ceil(count / nodes);
      if (held.size > share) {
        const surplus = [...held.keys()].slice(share);
        await giveBack(surplus);
        log.info({ shards: surplus.length, owned: held.size, nodes }, 'handed over shards');
        members = await membership.heartbeat({ ...options.note(), shards: [...held.keys()] });
      } else if (held.size < share) {
        const ownedBefore = held.size;
        await takeUpTo(share);
        const taken = held.size - ownedBefore;
        if (taken > 0) log.info({ shards: taken, owned: held.size, nodes }, 'took over shards');
        // The others see at once what is taken.
        if (taken > 0) {
          members = await membership.heartbeat({ ...options.note(), shards: [...held.keys()] });
        }
      }
      if (held.size >= Math.floor(count / nodes)) takeoverReason = 'rebalanced';
      else next = Math.min(soonMs, renewMs);
      options.turned?.();
    } catch (err) {
      next = Math.min(soonMs, renewMs);
      log.debug({ err }, 'cannot renew leases');
    }
    if (!stopped) timer = clock.after(next, () => void turn());
  }

  function turn(): Promise<void> {
    if (stopped) return Promise.resolve();
    timer?.cancel();
    running ??= once().finally(() => {
      running = null;
    });
    return running;
  }

  const watch = clock.every(watchMs, lapse);
  return {
    owns: (shard) => valid(held.get(shard)),
    epochOf: (shard) => held.get(shard)?.epoch ?? 0,
    get shards() {
      return [...held.keys()].filter((shard) => valid(held.get(shard)));
    },
    get members() {
      return members;
    },
    turn,
    async stop() {
      stopped = true;
      timer?.cancel();
      watch.cancel();
      await running;
      try {
        await giveBack([...held.keys()]);
        await membership.leave();
      } catch (err) {
        log.warn({ err }, 'cannot release leases; they expire by themselves');
      }
    },
  };
}
