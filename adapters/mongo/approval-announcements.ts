// Notes in MongoDB that approvals were announced, those of one moment by one update.
import type { Collection } from 'mongodb';
import { type Approval, approvalStatuses } from '../../src/approval/record.ts';
import { createBatcher } from '../../src/shared/concurrency/batcher.ts';
import { type Clock, pause } from '../../src/shared/ports/clock.ts';
import type { ApprovalRow } from './approval-rows.ts';
import { byTenant } from './form.ts';

/** An approval that was announced in this status. */
interface Announced {
  readonly tenantId: string;
  readonly id: string;
  readonly status: Approval['status'];
}

/** Marks that go together: few, because decisions wait while the server writes them. */
const announcedAtOnce = 8;
/** Much shorter than the time after which what waits to be announced is announced again. */
const noteDelayMs = 40;
/** After a failure. */
const noteAgainMs = 1000;

/** Makes the function that notes that an approval was announced in a status; a repeat is harmless. */
export function approvalAnnouncements(approvals: Collection<ApprovalRow>, clock: Clock) {
  let noteFailedAt = Number.NEGATIVE_INFINITY;
  /**
   * Every approval is announced twice in its life, and nobody waits until that is written: those of a moment share an
   * update.
   */
  const announcedBatches = createBatcher<Announced, true>(
    async (announced) => {
      // The sweep makes good what fails: a store that is away is not waited for by each of a long queue.
      if (clock.monotonic() - noteFailedAt < noteAgainMs) throw new Error('The store did not answer.');
      const writes = approvalStatuses.flatMap((status) =>
        byTenant(
          announced.filter((one) => one.status === status),
          (one) => one.id,
        ).map(([tenantId, ids]) => ({
          updateMany: {
            filter: { _id: { $in: ids }, tenantId, status },
            update: { $unset: { unannouncedAt: '' as const } },
          },
        })),
      );
      // Nobody waits for it and a lost one is made good: it must not hold up decisions, which wait for the journal.
      try {
        await approvals.bulkWrite(writes, { ordered: false, writeConcern: { w: 1, journal: false } });
      } catch (error) {
        noteFailedAt = clock.monotonic();
        throw error;
      }
      return announced.map(() => true as const);
    },
    announcedAtOnce,
    () => pause(clock, noteDelayMs),
  );
  /** Notes under way, by status and id. A repeated announcement from the sweep does not lengthen a long queue. */
  const underWay = new Map<string, Promise<true>>();
  return (one: Announced): Promise<true> => {
    const name = `${one.status} ${one.id}`;
    const under = underWay.get(name) ?? announcedBatches(one).finally(() => underWay.delete(name));
    underWay.set(name, under);
    return under;
  };
}
