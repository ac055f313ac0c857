// Leaves nothing behind: a small shell outlives this process, and when its input closes (also at kill -9) it ends the
// servers that still run and removes their data.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// A signal to the whole suite leaves it alive until it has removed the data.
const script = `trap '' HUP INT TERM
while read -r line; do pids="$line"; done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
rm -rf "$1"`;

export interface Reaper {
  /** The folder for the servers' data. */
  readonly folder: string;
  watch(pid: number): void;
  forget(pid: number): void;
  /** Ends what still runs and removes the folder. */
  close(): Promise<void>;
}

export async function openReaper(): Promise<Reaper> {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-services-'));
  const shell = spawn('/bin/sh', ['-c', script, 'reaper', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const pids = new Set<number>();
  const tell = () => {
    if (shell.stdin.writable) shell.stdin.write(`${[...pids].join(' ')}\n`);
  };
  return {
    folder,
    watch(pid) {
      pids.add(pid);
      tell();
    },
    forget(pid) {
      pids.delete(pid);
      tell();
    },
    async close() {
      if (shell.exitCode !== null) return;
      const gone = once(shell, 'exit');
      shell.stdin.end();
      await gone;
    },
  };
}
