// A tenant's records as a thread of their own reads them, over a connection that sees the file at one moment.
import type { Worker } from 'node:worker_threads';
import type { MovedRecords } from '../../../src/shared/ports/moved-records.ts';
import type { TenantReading } from '../../../src/tenant/port/files.ts';
import type { TenantFileKind } from '../../../src/tenant/rules/file-kinds.ts';
import { errorOf, type Failure, unavailable } from '../failure.ts';
import { startWorker } from './start-worker.ts';

type Answer = { readonly page: readonly object[] | null } | { readonly failure: Failure };

/** The next answer of the thread. */
const answerOf = (worker: Worker): Promise<readonly object[] | null> =>
  new Promise((resolve, reject) => {
    const off = (): void => {
      worker.off('message', onMessage);
      worker.off('error', onEnd);
      worker.off('exit', onEnd);
    };
    const onMessage = (answer: Answer): void => {
      off();
      if ('failure' in answer) reject(errorOf(answer.failure));
      else resolve(answer.page);
    };
    const onEnd = (error: unknown): void => {
      off();
      reject(error instanceof Error ? error : unavailable());
    };
    worker.on('message', onMessage);
    worker.on('error', onEnd);
    worker.on('exit', onEnd);
  });

export async function readTenant(path: string, tenantId: string): Promise<TenantReading> {
  const worker = startWorker('tenant-thread', 'store-tenant', { path, tenantId });
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  const close = async (): Promise<void> => {
    worker.postMessage(null);
    await ended;
  };
  try {
    await answerOf(worker);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    async *records<K extends TenantFileKind>(kind: K) {
      for (;;) {
        const answer = answerOf(worker);
        worker.postMessage(kind);
        const page = await answer;
        if (page === null) return;
        yield page as readonly MovedRecords[K][];
      }
    },
    close,
  };
}
