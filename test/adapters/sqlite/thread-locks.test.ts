// The locks of the log's index, which keep other processes from taking themselves for the first one that opens the
// store.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { systemClock } from '../../../adapters/node/clock.ts';
import { openThreads, startThread } from '../../../adapters/sqlite/threads/threads.ts';

it.runIf(process.platform === 'linux')(
  'stay when a writer that has read the index ends beside a reader',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reeve-locks-'));
    const path = join(folder, 'hub.db');
    const workers: { readonly role: string; readonly worker: Worker }[] = [];
    const store = await openThreads({
      path,
      clock: systemClock,
      startThread(start) {
        const worker = startThread(start);
        workers.push({ role: start.role, worker });
        return worker;
      },
    });
    try {
      const locks = (): readonly string[] => {
        const inode = `:${statSync(`${path}-shm`).ino} `;
        return readFileSync('/proc/locks', 'utf8')
          .split('\n')
          .filter((line) => line.includes(inode));
      };
      await store.ping();
      const writer = workers.find(({ role }) => role === 'writer')?.worker;
      const copied = new Promise((resolve) => {
        writer?.on('message', ({ kind }) => kind === 'replies' && resolve(kind));
      });
      writer?.postMessage({ kind: 'calls', calls: [[999_999, 'store', 'copyFew', []]] });
      await copied;
      expect(locks()).not.toEqual([]);
      await writer?.terminate();
      await delay(20);
      expect(locks()).not.toEqual([]);
    } finally {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
