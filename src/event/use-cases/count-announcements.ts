// Counts of stored events for dashboards: what a node has stored, announced at most once a second for an environment.
// The announcements of an environment from several nodes add up.
import { environmentKey } from '../../../actors/protocol.ts';
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
}

const isNothing = ({ allowed, denied, pending, observed }: VerdictCounts): boolean =>
  allowed + denied + pending + observed === 0;

/** Counts to announce. */
export type CountAnnouncements = (tenantId: string, env: Env, counts: VerdictCounts) => void;

export function createCountAnnouncements({
  announcer,
  clock,
}: Pick<AppPorts, 'announcer' | 'clock'>): CountAnnouncements {
  const waiting = new Map<string, Waiting>();

  function add({ minutes }: Waiting, minute: number, counts: VerdictCounts): void {
    const before = minutes.get(minute);
    minutes.set(minute, before ? addVerdicts(before, counts) : counts);
  }

  /** Announces the oldest minute; what is left, or could not be announced, follows a second later. */
  async function announceNext(key: string, entry: Waiting): Promise<void> {
    const { tenantId, env, minutes } = entry;
    const [next] = minutes;
    if (!next) {
      waiting.delete(key);
      return;
    }
    const [minute, counts] = next;
    minutes.delete(minute);
    clock.after(pauseMs, () => void announceNext(key, entry));
    try {
      await announcer.announce([{ kind: 'callsCounted', tenantId, env, minute, counts }]);
    } catch {
      add(entry, minute, counts);
    }
  }

  return (tenantId, env, counts) => {
    if (isNothing(counts)) return;
    const key = environmentKey(tenantId, env);
    let entry = waiting.get(key);
    if (!entry) {
      const added: Waiting = { tenantId, env, minutes: new Map() };
      waiting.set(key, added);
      clock.after(pauseMs, () => void announceNext(key, added));
      entry = added;
    }
    add(entry, Math.floor(clock.now() / minuteMs) * minuteMs, counts);
  };
}
