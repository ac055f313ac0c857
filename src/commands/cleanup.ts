// Files that a command has begun and a signal must not leave behind.
import { rmSync } from 'node:fs';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs the task; its unfinished file is gone afterwards, also when a signal ends the process. */
export async function withDraft<T>(draft: string, task: () => Promise<T>): Promise<T> {
  const remove = (): void => rmSync(draft, { force: true });
  const stop = (signal: NodeJS.Signals): void => {
    remove();
    for (const one of signals) process.removeListener(one, stop);
    // Ends as a process does that has no handler.
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, stop);
  try {
    return await task();
  } finally {
    for (const signal of signals) process.removeListener(signal, stop);
    remove();
  }
}
