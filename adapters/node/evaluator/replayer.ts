// The replayer port over a pool of worker threads of its own: a replay never delays the playground or an upload.
// Decides nothing.

import type { ReplayDocuments, Replayer } from '../../../src/evaluation/port/replayer.ts';
import { HubError } from '../../../src/shared/error.ts';
import type { Clock } from '../../../src/shared/ports/clock.ts';
import { evaluatorEntry } from './evaluator.ts';
import { createPool, placesOf } from './pool.ts';
import type { Accepted, Task, TaskResult } from './tasks.ts';

export interface ReplayerOptions {
  readonly clock: Clock;
  /** apiVersions and kinds that documents may have. */
  readonly accepted: Accepted;
  /** Prefix of the hub's own API keys, which are never shown. Keys that begin with `svk_` are hidden in any case. */
  readonly keyPrefix?: string;
  /** Milliseconds that a portion of a replay may take before its thread is ended; 5,500 by default. */
  readonly limitMs?: number;
  /** The module that the threads run; the one beside this file by default. */
  readonly entry?: URL;
}

export function createReplayer({
  clock,
  accepted,
  keyPrefix = '',
  limitMs = 5500,
  entry = evaluatorEntry,
}: ReplayerOptions): Replayer {
  const pool = createPool({
    entry,
    clock,
    startMs: 15_000,
    memoryMb: 256,
    limitMs,
    ...placesOf('replayParts'),
    timedOut: () =>
      new HubError('unprocessable', 'The replay took too long. Choose fewer calls or simpler documents.'),
    overgrown: () => new HubError('unprocessable', 'The replay needs too much memory. Choose fewer calls.'),
  });
  const run = async <T extends Task>(tenantId: string, task: T): Promise<TaskResult<T>> =>
    (await pool.run(task, tenantId)) as TaskResult<T>;
  const shared = (tenantId: string, documents: ReplayDocuments) =>
    ({ tenantId, documents, accepted, keyPrefix }) as const;

  return {
    outline: (tenantId, documents) =>
      run(tenantId, { kind: 'outlineReplay', ...shared(tenantId, documents) }),
    judge: (tenantId, documents, calls, budgetMs) =>
      run(tenantId, { kind: 'judgeCalls', ...shared(tenantId, documents), calls, budgetMs }),
    limits: (tenantId, documents, calls) =>
      run(tenantId, { kind: 'judgeLimits', ...shared(tenantId, documents), calls }),
    close: () => pool.close(),
  };
}
