// Tenants for which nobody may call, because they are suspended or being removed. Known without a question to the
// store: control messages announce changes at once, and a look each few seconds finds changes without a message.
import { HubError } from '../shared/error.ts';
import type { Control } from '../shared/frame.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { TenantRecordStore } from '../tenant/port/records.ts';

const lookMs = 5_000;

export interface ClosedTenants {
  /** Resolves once the closed tenants are known. */
  readonly ready: Promise<void>;
  isClosed(tenantId: string): boolean;
  /** @throws HubError tenant_suspended */
  check(tenantId: string): void;
  control(message: Control): void;
  close(): void;
}

export function createClosedTenants({
  tenants,
  clock,
  log,
}: {
  readonly tenants: Pick<TenantRecordStore, 'listClosed'>;
  readonly clock: Clock;
  readonly log: Log;
}): ClosedTenants {
  let closed: ReadonlySet<string> = new Set();
  /** Counts the messages: an answer that is older than the last message is of no use. */
  let toldAt = 0;

  async function look(): Promise<void> {
    const before = toldAt;
    try {
      const closedIds = await tenants.listClosed();
      if (toldAt === before) closed = new Set(closedIds.map(({ id }) => id));
    } catch (err) {
      log.warn({ err }, 'cannot read which tenants are suspended; retrying shortly');
    }
  }

  const ready = look();
  const timer = clock.every(lookMs, () => void look());

  return {
    ready,
    isClosed: (tenantId) => closed.has(tenantId),
    check(tenantId) {
      if (!closed.has(tenantId)) return;
      throw new HubError(
        'tenant_suspended',
        'This tenant is suspended. Ask the operator of the installation to resume it.',
      );
    },
    control(message) {
      if (message.kind === 'missed' || message.kind === 'interruption') void look();
      if (message.kind !== 'tenant_closed' && message.kind !== 'tenant_opened') return;
      toldAt++;
      const others = [...closed].filter((id) => id !== message.tenantId);
      closed = new Set(message.kind === 'tenant_closed' ? [...others, message.tenantId] : others);
    },
    close: () => timer.cancel(),
  };
}
