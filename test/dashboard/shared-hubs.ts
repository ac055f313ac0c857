// The list of hubs that workers share between their files: a folder that SHARED_HUBS names, with a file for each hub.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { HubProcess } from '../e2e/process.ts';

function folder(): string {
  const { SHARED_HUBS } = process.env;
  if (SHARED_HUBS === undefined) throw new Error('SHARED_HUBS is not set: test/dashboard/setup.ts sets it');
  return SHARED_HUBS;
}

/** Makes the end of the suite end the hub: a worker that is killed at its end cannot. */
export function listSharedHub({ child, dataDir }: HubProcess): void {
  writeFileSync(join(folder(), String(child?.pid)), dirname(dataDir));
}

/** Kills each hub on the list and removes its folder. */
export function endSharedHubs(): void {
  for (const name of readdirSync(folder())) {
    try {
      process.kill(Number(name), 'SIGKILL');
    } catch {
      // It has ended.
    }
    const hubFolder = readFileSync(join(folder(), name), 'utf8');
    rmSync(hubFolder, { recursive: true, force: true, maxRetries: 5 });
  }
  rmSync(folder(), { recursive: true, force: true });
}
