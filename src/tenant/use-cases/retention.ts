// Retention: how long a tenant's records are kept, and which records a policy would remove. The pass removes records in
// slices, between which other writes go first.
import { changeBy, noted, recorded } from '../../audit/note.ts';
import { requireRole } from '../../shared/access.ts';
import { dayMs, hourMs } from '../../shared/duration.ts';
import { removalQueues } from '../../shared/job.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import { type Principal, systemPrincipal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { mergeSetting } from '../port/settings.ts';
import {
  keepEverything,
  type RetentionCounts,
  type RetentionKind,
  type RetentionPolicy,
  retentionKinds,
} from '../rules/retention.ts';
import type { Setting } from '../rules/settings.ts';

export interface RecordRetention {
  /** Null: nobody has set it, and everything is kept. */
  get(principal: Principal): Promise<Setting<'retention'> | null>;
  /**
   * Absent kinds stay as they are, also if others write at the same time. A pass begins at once.
   * @throws HubError forbidden
   */
  update(principal: Principal, patch: Partial<RetentionPolicy>): Promise<Setting<'retention'>>;
  /**
   * How many records a policy would remove now. Absent kinds are as they are set.
   * @throws HubError forbidden, search_timeout
   */
  preview(
    principal: Principal,
    patch: Partial<RetentionPolicy>,
  ): Promise<{ readonly counts: RetentionCounts; readonly at: number }>;
  /** Adds a job for each tenant with a policy; of calls within an hour one does. */
  plan(): Promise<number>;
  /**
   * Removes what is too old now, and records the counts. False: `signal` ended the pass before its end.
   * @param report called after the first slice that removed records, then about every 10 s, with their number
   */
  apply(tenantId: string, signal: AbortSignal, report?: (removed: number) => Promise<void>): Promise<boolean>;
  /** Records that this process removed since its start. */
  readonly removed: ReadonlyMap<RetentionKind, number>;
}

/** Records that one slice looks at, at first, at least and at most. */
const sliceSize = { first: 40, min: 10, max: 1_000 } as const;
/** Milliseconds; a slice that takes longer is followed by a smaller one, a shorter one by a larger one. */
const sliceMs = { long: 10, short: 3 } as const;
/** Rest after a slice, in multiples of its time: at most a tenth of the store's time goes to retention. */
const restFactor = 9;
const maxRestMs = 1_000;
const reportEveryMs = 10_000;

/** One pass over a tenant's records. */
interface Pass {
  readonly signal: AbortSignal;
  readonly removed: (count: number) => Promise<void>;
}

type Ports = Pick<AppPorts, 'store' | 'jobs' | 'clock' | 'secrets'>;

class AgeRetention implements RecordRetention {
  readonly #ports: Ports;
  readonly removed = new Map<RetentionKind, number>(retentionKinds.map((kind) => [kind, 0]));

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  get({ tenantId }: Principal): Promise<Setting<'retention'> | null> {
    return this.#ports.store.settings.get(tenantId, 'retention');
  }

  async update(principal: Principal, patch: Partial<RetentionPolicy>): Promise<Setting<'retention'>> {
    requireRole(principal, 'admin');
    const setting = await mergeSetting(this.#ports, principal, {
      name: 'retention',
      patch,
      usual: keepEverything,
      noting: (before) => {
        const details = changeBy(this.#ports, before?.value ?? keepEverything, patch);
        return recorded(this.#ports, 'setting', principal, 'changed', 'retention', { details }).settings;
      },
    });
    await this.#addJob(`${setting.tenantId}/${setting.updatedAt}`, setting.tenantId);
    return setting;
  }

  async preview(
    principal: Principal,
    patch: Partial<RetentionPolicy>,
  ): Promise<{ readonly counts: RetentionCounts; readonly at: number }> {
    requireRole(principal, 'admin');
    const { tenantId } = principal;
    const policy = { ...(await this.#policyOf(tenantId)), ...patch };
    const at = this.#ports.clock.now();
    const counts: { [K in RetentionKind]: number } = { ...keepEverything };
    for (const kind of retentionKinds)
      if (policy[kind] > 0) {
        counts[kind] = await this.#ports.store.retention.count(tenantId, kind, at - policy[kind] * dayMs);
      }
    return { counts, at };
  }

  async plan(): Promise<number> {
    const hour = Math.floor(this.#ports.clock.now() / hourMs);
    for (const tenantId of await this.#ports.store.tenants.listIds()) {
      const policy = await this.#policyOf(tenantId);
      if (retentionKinds.some((kind) => policy[kind] > 0))
        await this.#addJob(`${tenantId}/hour-${hour}`, tenantId);
    }
    return 0;
  }

  async apply(
    tenantId: string,
    signal: AbortSignal,
    report: (removed: number) => Promise<void> = async () => {},
  ): Promise<boolean> {
    const now = this.#ports.clock.now();
    const removed = reporter(this.#ports.clock, report);
    for (const kind of retentionKinds) {
      if (!(await this.#removeKind(tenantId, kind, now, { signal, removed }))) return false;
    }
    const policy = await this.#policyOf(tenantId);
    await noted(this.#ports, systemPrincipal(tenantId, 'retention'), {
      action: 'setting.retention_applied',
      subject: { id: 'retention', name: 'retention' },
      summary: 'Retention removed old records.',
      details: Object.fromEntries(retentionKinds.map((kind) => [`${kind}_days`, policy[kind]])),
      fromAnswer: Object.fromEntries(retentionKinds.map((kind) => [kind, kind])),
    }).retention.settle(tenantId);
    return true;
  }

  async #policyOf(tenantId: string): Promise<RetentionPolicy> {
    return (await this.#ports.store.settings.get(tenantId, 'retention'))?.value ?? keepEverything;
  }

  #addJob(id: string, tenantId: string): Promise<void> {
    return this.#ports.jobs.add({
      id,
      queue: removalQueues.retention,
      payload: { tenantId },
      runAt: this.#ports.clock.now(),
      maxAttempts: 20,
      longestBackoffMs: 300_000,
    });
  }

  /** Removes old records of one kind. False: `signal` ended it. */
  async #removeKind(
    tenantId: string,
    kind: RetentionKind,
    now: number,
    { signal, removed }: Pass,
  ): Promise<boolean> {
    const { clock, store } = this.#ports;
    let after: string | null = null;
    let size: number = sliceSize.first;
    do {
      // Read before each slice: a policy that keeps more stops the pass.
      const days = (await this.#policyOf(tenantId))[kind];
      if (days === 0) return true;
      if (signal.aborted) return false;
      const begun = clock.monotonic();
      const slice = await store.retention.remove(tenantId, kind, now - days * dayMs, after, size);
      const tookMs = clock.monotonic() - begun;
      this.removed.set(kind, (this.removed.get(kind) ?? 0) + slice.removed);
      await removed(slice.removed);
      after = slice.next;
      if (tookMs > sliceMs.long) size = Math.max(sliceSize.min, Math.floor(size / 2));
      else if (tookMs < sliceMs.short) size = Math.min(sliceSize.max, size * 2);
      if (after !== null && !signal.aborted)
        await rest(clock, Math.min(tookMs * restFactor, maxRestMs), signal);
    } while (after !== null);
    return true;
  }
}

export const createRetention = (ports: Ports): RecordRetention => new AgeRetention(ports);

/** Counts what slices removed, and reports the sum now and then. */
function reporter(
  clock: Pick<Clock, 'monotonic'>,
  report: (removed: number) => Promise<void>,
): Pass['removed'] {
  let sum = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  return async (count) => {
    sum += count;
    if (count === 0 || clock.monotonic() - reportedAt < reportEveryMs) return;
    reportedAt = clock.monotonic();
    await report(sum);
  };
}

function rest(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.after(ms, end);
    signal.addEventListener('abort', end);
  });
}
