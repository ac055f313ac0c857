// Before the suites of the web console: unpacks the browser, which each worker then starts for itself. After them: ends
// the hubs that workers shared between their files, also where a worker was killed.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary } from './browser.ts';
import { endSharedHubs } from './shared-hubs.ts';

export const setup = async (): Promise<void> => {
  process.env.SHARED_HUBS = mkdtempSync(join(tmpdir(), 'reeve-shared-hubs-'));
  await binary();
};

export const teardown = (): void => endSharedHubs();
