// Recovery of audit entries from nodes that died: the node that misses one records its entries. A node that falls
// silent is probably dead, so its entries are there in time (promise P13). Entries that this misses, as while MongoDB
// is away, follow once the node is no member any more. The housekeeping of the minute records the rest.
import type { AuditStore } from '../audit/port.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import { type Membership, pulseMs } from '../shared/ports/membership.ts';

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
  let pulsing = false;

  /** Several nodes may do so at once: the first one's entries are the ones that stay. */
  async function record(node: string): Promise<void> {
    try {
      while ((await audit.recover(0, recordedAtOnce, (one) => one === node)) === recordedAtOnce);
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
      for (const node of await members.pulse()) void record(node);
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
