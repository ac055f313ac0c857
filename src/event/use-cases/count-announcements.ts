// Counts of stored events for dashboards: what a node has stored, announced at most once a second for an environment.
// The announcements of an environment from several nodes add up. Outcomes of stored events are counted nowhere:
// without a new event, counts of zero announce them.
import { environmentKey } from '../../../actors/protocol.ts';
import type { AnnouncementOf } from '../../shared/announcement.ts';
import { minuteMs } from '../../shared/duration.ts';
import type { Env } from '../../shared/ids.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { addVerdicts, type VerdictCounts } from '../record.ts';

/** Between two announcements of an environment, in milliseconds. */
const pauseMs = 1_000;

interface Waiting {
  readonly tenantId: string;
  readonly env: Env;
  /** By minute of receipt, the oldest first. */
  readonly minutes: Map<number, VerdictCounts>;
  /** Failed, and perhaps carried out all the same: repeated as it is before anything else. */
  failed: AnnouncementOf<'callsCounted'> | null;
  isUnderway: boolean;
}

const isNothing = ({ allowed, denied, pending, observed }: VerdictCounts): boolean =>
  allowed + denied + pending + observed === 0;

/** Counts to announce. @param outcomes the number of outcomes that were added to stored events */
export type CountAnnouncements = (
  tenantId: string,
  env: Env,
  counts: VerdictCounts,
  outcomes: number,
) => void;

export function createCountAnnouncements({
  announcer,
  clock,
  secrets,
}: Pick<AppPorts, 'announcer' | 'clock' | 'secrets'>): CountAnnouncements {
  const waiting = new Map<string, Waiting>();

  function add({ minutes }: Waiting, minute: number, counts: VerdictCounts): void {
    const before = minutes.get(minute);
    minutes.set(minute, before ? addVerdicts(before, counts) : counts);
  }

  /** The counts of the oldest minute, taken out; null without any. */
  function takeOldest({ tenantId, env, minutes }: Waiting): AnnouncementOf<'callsCounted'> | null {
    const [oldest] = minutes;
    if (!oldest) return null;
    const [minute, counts] = oldest;
    minutes.delete(minute);
    return { kind: 'callsCounted', id: secrets.uuid(), tenantId, env, minute, counts };
  }

  async function send(entry: Waiting, announcement: AnnouncementOf<'callsCounted'>): Promise<void> {
    entry.isUnderway = true;
    try {
      await announcer.announce([announcement]);
      entry.failed = null;
    } catch {
      entry.failed = announcement;
    }
    entry.isUnderway = false;
  }

  /** Announces the oldest minute, unless an announcement is without an answer. Looks again every second. */
  function announceNext(key: string, entry: Waiting): void {
    if (!entry.isUnderway) {
      const announcement = entry.failed ?? takeOldest(entry);
      if (!announcement) {
        waiting.delete(key);
        return;
      }
      void send(entry, announcement);
    }
    clock.after(pauseMs, () => announceNext(key, entry));
  }

  return (tenantId, env, counts, outcomes) => {
    if (isNothing(counts) && outcomes === 0) return;
    const key = environmentKey(tenantId, env);
    let entry = waiting.get(key);
    if (!entry) {
      const added: Waiting = { tenantId, env, minutes: new Map(), failed: null, isUnderway: false };
      waiting.set(key, added);
      clock.after(pauseMs, () => announceNext(key, added));
      entry = added;
    }
    add(entry, Math.floor(clock.now() / minuteMs) * minuteMs, counts);
  };
}
