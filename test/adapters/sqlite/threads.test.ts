// The SQLite store on threads of its own: every promise of a store.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../adapters/node/clock.ts';
import { openSqlite } from '../../../adapters/sqlite/index.ts';
import { storeContract } from '../../conformance/store.ts';
import { valuesContract } from '../../conformance/values.ts';
import { startTestThread } from './start.ts';

async function opened() {
  const folder = await mkdtemp(join(tmpdir(), 'store-'));
  const store = await openSqlite({
    path: join(folder, 'hub.db'),
    clock: systemClock,
    startThread: startTestThread,
  });
  return {
    ...store,
    close: async () => {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

storeContract('sqlite on threads', opened);
valuesContract('sqlite on threads', opened);
