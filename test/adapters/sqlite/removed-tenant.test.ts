// Removal of a tenant: the write-ahead log, which still holds its rows, is emptied into the file.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../adapters/node/clock.ts';
import { openThreads } from '../../../adapters/sqlite/threads/threads.ts';
import type { Call } from '../../../adapters/sqlite/threads/wire.ts';
import { uuid } from '../../conformance/fixtures.ts';
import { startTestThread } from './start.ts';

it('one checkpoint follows it, and nothing else is written after', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-removed-'));
  const written: string[] = [];
  const store = await openThreads({
    path: join(folder, 'hub.db'),
    clock: systemClock,
    startThread(start) {
      const worker = startTestThread(start);
      const send = worker.postMessage.bind(worker);
      worker.postMessage = (message: { readonly calls?: readonly Call[] }, moved?: never) => {
        if (start.role === 'writer')
          for (const [, name, method] of message.calls ?? []) written.push(`${name}.${method}`);
        send(message, moved);
      };
      return worker;
    },
  });
  try {
    written.length = 0;
    await store.tenantRecords.remove(uuid());
    expect(written).toEqual(['tenantRecords.remove', 'store.checkpoint']);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
