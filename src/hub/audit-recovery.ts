// Recovery of audit entries from nodes that died: the node that misses one records its entries. A node that falls
// silent is probably dead, so its entries are there in time (promise P13). It may also live and reach the store without
// Redis, so entries that began since then are left to it. Entries that this misses, as while MongoDB is away, are
// recorded once the node is no member any more. Otherwise the housekeeping of the minute records them.
import type { AuditStore } from '../audit/port.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import { type Membership, pulseMs, silentMs } from '../shared/ports/membership.ts';

/** Notes of a dead node that are recorded in one go. */
const recordedAtOnce = 200;

export interface AuditRecovery {
  /** All nodes that are known to be no members any more. Each node's entries are looked for once. */
  gone(nodes: readonly string[]): void;
  stop(): void;
}

/** Sends this node's pulses from now on. */
export function startAuditRecovery({
  audit,
  members,
  clock,
  log,
}: {
  readonly audit: Pick<AuditStore, 'recover'>;
  readonly members: Pick<Membership, 'pulse'>;
  readonly clock: Clock;
  readonly log: Log;
}): AuditRecovery {
  let recoveredIds: ReadonlySet<string> = new Set();
  /** The nodes that fell silent at the last pulse. */
  let lastSilent: readonly string[] = [];
  let pulsing = false;

  /** Several nodes may do so at once: the first one's entries are the ones that stay. */
  async function record(node: string): Promise<void> {
    const gone = { isGone: (one: string) => one === node, before: clock.now() - silentMs };
    try {
      while ((await audit.recover(0, recordedAtOnce, gone)) === recordedAtOnce);
    } catch (err) {
      log.warn(
        { err, deadNode: node },
        'cannot record audit entries from a dead node; the next minute retries',
      );
    }
  }

  async function pulse(): Promise<void> {
    if (pulsing) return;
    pulsing = true;
    try {
      const silent = await members.pulse();
      // Once more for those of the last pulse: what a node began right before its death was too young then.
      for (const node of [...lastSilent, ...silent]) void record(node);
      lastSilent = silent;
    } catch {
      // Redis is away, which its links log. No node is missed until it is back.
    } finally {
      pulsing = false;
    }
  }

  const timer = clock.every(pulseMs, () => void pulse());
  return {
    gone(nodes) {
      const before = recoveredIds;
      recoveredIds = new Set(nodes);
      for (const node of recoveredIds) if (!before.has(node)) void record(node);
    },
    stop: () => timer.cancel(),
  };
}
