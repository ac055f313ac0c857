// Test for a service that this node of a cluster alone cannot reach. Readiness uses it, and each probe leaves a note
// for the others: notes in MongoDB show which nodes reach Redis, and the members in Redis which nodes reach MongoDB.
import type { Member } from '../shared/ports/membership.ts';
import type { ReachNotes } from '../shared/ports/reach.ts';

export interface ReachOptions {
  readonly node: string;
  /** As of the last heartbeat, which Redis answered. */
  readonly members: () => readonly Member[];
  readonly notes: ReachNotes;
}

/** A note of another node counts for so long: longer than the time between two probes. Milliseconds. */
const noteMs = 15_000;

export interface Reach {
  /**
   * True if this node lacks a service that another node reaches. False when nobody is known to reach it.
   * @param reached what this node reaches now
   */
  isAloneWithout(reached: { readonly store: boolean; readonly keyValue: boolean }): Promise<boolean>;
}

export function createReach({ node, members, notes }: ReachOptions): Reach {
  const storeIsReachedElsewhere = (): boolean =>
    members().some(({ node: other, note }) => other !== node && note.lacksStore !== true);

  return {
    async isAloneWithout({ store, keyValue }) {
      // Without either service this node knows nothing of others: the whole installation may be down.
      if (!store) return keyValue && storeIsReachedElsewhere();
      await notes.note(node, keyValue).catch(() => {});
      return !keyValue && (await notes.isReachedElsewhere(node, noteMs).catch(() => false));
    },
  };
}
