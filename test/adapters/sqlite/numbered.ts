// Batches that two processes make alike.
import type { EventBatch } from '../../../src/event/port.ts';
import { anEvent, t0 } from '../../conformance/fixtures.ts';

export const numberedTenant = '00000000-0000-4000-8000-000000000001';

const id = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;

/** Batch `n`: 20 events whose call ids nobody else has, one of them not a UUID. */
export const numberedBatch = (n: number): EventBatch => ({
  tenantId: numberedTenant,
  env: 'production',
  receivedAt: t0,
  events: Array.from({ length: 20 }, (_, i) =>
    anEvent({ callId: i === 0 && n % 2 === 0 ? `batch-${n}` : id(n * 20 + i), timestamp: t0 + n }),
  ),
});
