// Checks whether Redis may evict keys when its memory is full. Eviction would lose leases, messages and session values
// without an error.
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { Link } from './link.ts';

export interface EvictionCheck {
  /** True from a reply that names another policy than `noeviction` until one that names it. */
  mayEvict(): boolean;
  stop(): void;
}

const checkEveryMs = 5_000;

/** Looks now and every 5 s, and logs each change. A server that does not name its policy is taken to keep its keys. */
export async function checkEviction(
  link: Pick<Link, 'send'>,
  clock: Clock,
  log: Log,
): Promise<EvictionCheck> {
  let evictingPolicy: string | null = null;

  async function check(): Promise<void> {
    const info = String(await link.send(['INFO', 'memory']));
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction';
    const current = policy === 'noeviction' ? null : policy;
    if (current === evictingPolicy) return;
    evictingPolicy = current;
    if (current === null) log.info({}, 'redis no longer evicts keys (maxmemory-policy noeviction)');
    else {
      const message = 'redis can evict keys, so this node is not ready: set maxmemory-policy to noeviction';
      log.error({ policy: current }, message);
    }
  }

  const attempt = (): Promise<void> => check().catch(() => {});
  await attempt();
  const timer = clock.every(checkEveryMs, () => void attempt());
  return { mayEvict: () => evictingPolicy !== null, stop: () => timer.cancel() };
}
