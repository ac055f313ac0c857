// The temporary folder and the settings of a hub that runs in a benchmark's own process. Starts no hub.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config.ts';

export function benchFolder(settings: { readonly [name: string]: string } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'reeve-bench-'));
  const config = readConfig({
    DATA_DIR: dir,
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'warn',
    // Compares the two servers: HTTP_SERVER=node node dist/bench/hosted.js
    HTTP_SERVER: process.env.HTTP_SERVER ?? 'auto',
    DRAIN_SECONDS: '0',
    ...settings,
  });
  return { dir, config, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
