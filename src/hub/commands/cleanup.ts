// Files that a command has begun and a signal must not leave behind.
import { readdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { endSignals } from './end-signals.ts';

/** Runs the task; its unfinished file is gone afterwards, also when a signal ends the process. */
export async function withDraft<T>(draft: string, task: () => Promise<T>): Promise<T> {
  const remove = (): void => rmSync(draft, { force: true });
  const stop = (signal: NodeJS.Signals): void => {
    remove();
    for (const one of endSignals) process.removeListener(one, stop);
    // Ends as a process does that has no handler.
    process.kill(process.pid, signal);
  };
  for (const signal of endSignals) process.on(signal, stop);
  try {
    return await task();
  } finally {
    for (const signal of endSignals) process.removeListener(signal, stop);
    remove();
  }
}

/** Names the machine too: processes of two containers have the same ids. */
const ending = (pid: number | string): string => `.${hostname()}-${pid}.reeve-partial`;

/** Ending of the name of this process's draft. */
export const draftSuffix = (): string => ending(process.pid);

/** Removes drafts in the folder that processes of this machine left when they were killed. */
export function removeAbandonedDrafts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = /-(\d+)\.reeve-partial$/.exec(name)?.[1];
    if (pid === undefined || !name.endsWith(ending(pid))) continue;
    if (Number(pid) === process.pid || !isRunning(Number(pid))) rmSync(join(folder, name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
