// The thread in which strangers' YAML is read and run: it gives way to the threads that serve before it loads anything.
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** On Linux a thread has its own priority: hostile rules then yield the cores to the threads that serve. */
function yieldToServing(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (Number.isInteger(thread)) setPriority(thread, 10);
  } catch {
    // Elsewhere the threads compete as equals.
  }
}

yieldToServing();
// Not an import of its own: those are loaded before anything of this file runs.
await import('./answers.ts');
