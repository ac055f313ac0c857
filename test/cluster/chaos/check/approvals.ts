// Judges approvals: one terminal state, never timed out early, not late, told once to each dashboard. Pure.

export type Status = 'pending' | 'approved' | 'denied' | 'timeout';

/** All times in epoch ms of the one clock that hub and test share. */
export interface ApprovalSeen {
  readonly id: string;
  /** Of its environment: who owns it. */
  readonly shard: number;
  readonly deadline: number;
  /** Every answer that showed its state, in order of the answers' ends. */
  readonly readings: readonly { readonly invoked: number; readonly ended: number; readonly status: Status }[];
  /** The request and the answer of each decision. */
  readonly decisions: readonly {
    readonly status: 'approved' | 'denied';
    readonly outcome: 'ok' | 'failed' | 'unknown' | 'pending';
    readonly invoked: number;
    readonly ended: number;
  }[];
  /** Messages to followers. */
  readonly frames: readonly {
    readonly follower: string;
    readonly status: Status;
    readonly at: number;
    /** When the connection that it came on was opened. */
    readonly since: number;
  }[];
  /** Followers that were told to read everything again, having been away. */
  readonly resyncs: readonly Resync[];
  /** In the end, as the store has it. */
  readonly final: Status;
}

export interface Resync {
  readonly follower: string;
  /** The end of the connection before. */
  readonly from: number;
  readonly at: number;
}

export interface Lateness {
  /** A dead owner's approvals may be this late after its death, others after their deadline; ms. */
  readonly normalMs: number;
  readonly afterDeathMs: number;
  readonly deaths: readonly Death[];
}

/** A node that was killed, or stopped for so long that others took its shards. */
export interface Death {
  readonly at: number;
  /** The shards that it owned then. */
  readonly shards: ReadonlySet<number>;
}

/** How late the first timeout frame came, per approval that timed out; ms. */
export function lateness(approvals: readonly ApprovalSeen[]): number[] {
  return approvals.flatMap((approval) => {
    const first = firstTold(approval);
    return approval.final === 'timeout' && first !== null ? [first - approval.deadline] : [];
  });
}

/** The deaths of nodes around a deadline, in ms after it. */
const deathsOf = ({ shard, deadline }: ApprovalSeen, { deaths }: Lateness): string =>
  deaths
    .map(({ at, shards }) => `${shards.has(shard) ? 'its' : 'another'} owner died at ${at - deadline} ms`)
    .join(', ');

/** Frames of the last moment before a node's death may be lost with it, ms. */
const lostMs = 1000;

/** True where a resync stands for the frame: the approval ended while the follower was away. */
function isResynced({ deadline, decisions, resyncs, final }: ApprovalSeen, name: string): boolean {
  const won = decisions.find(({ status }) => status === final);
  const endedAt = final === 'timeout' ? deadline : (won?.invoked ?? deadline);
  return resyncs.some(
    ({ follower, from, at }) => follower === name && endedAt >= from - lostMs && endedAt <= at,
  );
}

const firstTold = ({ frames }: ApprovalSeen): number | null => {
  const times = frames.filter(({ status }) => status === 'timeout').map(({ at }) => at);
  return times.length === 0 ? null : Math.min(...times);
};

/** The latest time that the timeout of one of this shard may be told. */
export function latest(
  { shard, deadline }: Pick<ApprovalSeen, 'shard' | 'deadline'>,
  { normalMs, afterDeathMs, deaths }: Lateness,
): number {
  let allowed = deadline + normalMs;
  let takenBy = Number.NEGATIVE_INFINITY;
  // The death of its owner shortly before the deadline, or after it while the timeout was still to come, delays it
  // until the next has the shard. A node that dies meanwhile may have been the next, which nobody had seen yet.
  for (const { at, shards } of [...deaths].sort((a, b) => a.at - b.at)) {
    if (!shards.has(shard) && at > takenBy) continue;
    takenBy = at + afterDeathMs;
    if (takenBy > deadline && at <= allowed) allowed = Math.max(allowed, takenBy);
  }
  return allowed;
}

/** @param dashboards the followers that must each be told once */
export function checkApprovals(
  approvals: readonly ApprovalSeen[],
  dashboards: readonly string[],
  allowed: Lateness,
): string[] {
  return approvals.flatMap((approval) => checkOne(approval, dashboards, allowed));
}

function checkOne(seen: ApprovalSeen, dashboards: readonly string[], allowed: Lateness): string[] {
  const { id, deadline, readings, decisions, frames, final } = seen;
  const violations: string[] = [];
  const breach = (text: string) => violations.push(`approval ${id}: ${text}`);

  if (final === 'pending') breach('still pending in the end');
  let terminal: Status | null = null;
  for (const { invoked, ended, status } of readings) {
    if (status === 'timeout' && ended < deadline) breach(`read as timed out ${deadline - ended} ms early`);
    if (status === 'pending' && invoked >= deadline + 1)
      breach(`read as pending ${invoked - deadline} ms late`);
    if (status === 'pending') continue;
    if (terminal !== null && terminal !== status) breach(`read as ${terminal}, then as ${status}`);
    terminal = status;
    if (status !== final) breach(`read as ${status}, and is ${final} in the end`);
  }

  const won = decisions.filter(({ outcome }) => outcome === 'ok');
  if (won.length > 1) breach(`${won.length} decisions were acknowledged`);
  for (const { status, invoked } of won) {
    if (status !== final) breach(`decided ${status}, and is ${final} in the end`);
    if (invoked >= deadline + 1) breach(`decided ${invoked - deadline} ms after its deadline`);
  }
  const perhaps = decisions.some(
    ({ outcome, status }) => outcome !== 'ok' && outcome !== 'failed' && status === final,
  );
  if (final !== 'timeout' && final !== 'pending' && won.length === 0 && !perhaps) {
    breach(`is ${final}, which nobody decided`);
  }

  for (const { follower, status, at } of frames) {
    if (status !== final) breach(`${follower} was told ${status}, and it is ${final} in the end`);
    if (status === 'timeout' && at < deadline)
      breach(`${follower} was told of the timeout ${deadline - at} ms early`);
  }
  for (const name of dashboards) {
    const told = frames.filter(({ follower }) => follower === name).length;
    if (told === 0 && isResynced(seen, name)) continue;
    if (told !== 1) breach(`${name} was told ${told} times (${final})`);
  }
  const limit = latest(seen, allowed);
  // A follower that was not connected then is told when it comes back.
  for (const { follower, status, at, since } of frames) {
    if (status !== 'timeout' || at <= limit || since > deadline) continue;
    breach(
      `${follower} was told of the timeout ${at - deadline} ms after the deadline, ${limit - deadline} ms are allowed; ${deathsOf(seen, allowed)}`,
    );
  }
  const first = firstTold(seen);
  if (first !== null && first > limit && frames.every(({ since }) => since > deadline))
    breach(`nobody was told of the timeout until ${first - deadline} ms after the deadline`);
  return violations;
}
