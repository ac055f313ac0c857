// The answer of the public health probe, which is the same on both APIs.

import type { Hub } from '../../http/contract/handler.ts';
import { refuses } from '../../shared/storage.ts';

export async function probed({ app, health }: Pick<Hub, 'app' | 'health'>) {
  const cache = await health.keyValue();
  const bad = cache === null || refuses(health.storage().state);
  // This probe answers 200 whatever fails: a store that does not answer is not known to be set up.
  const bootstrapComplete = await app.accounts.isSetUp().catch(() => null);
  return {
    status: bad || bootstrapComplete === null ? ('degraded' as const) : ('ok' as const),
    bootstrap_complete: bootstrapComplete ?? false,
  };
}
