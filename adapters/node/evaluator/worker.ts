// The thread in which strangers' YAML is read and run. One task in, one answer out; keeps nothing between tasks.
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { type ErrorCode, type ErrorDetail, HubError } from '../../../src/domain/error.ts';
import { perform, type Task } from './tasks.ts';

export type Answer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: ErrorCode; readonly message: string; readonly detail: ErrorDetail };

/** On Linux a thread has its own priority: hostile rules then yield the cores to the threads that serve. */
function yieldToServing(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (Number.isInteger(thread)) setPriority(thread, 10);
  } catch {
    // Elsewhere the threads compete as equals.
  }
}

function answer(task: Task): Answer {
  try {
    return { ok: true, value: perform(task) };
  } catch (error) {
    if (error instanceof HubError) {
      return { ok: false, code: error.code, message: error.message, detail: error.detail };
    }
    if (error instanceof RangeError) {
      return { ok: false, code: 'unprocessable', message: 'The YAML is too complex.', detail: {} };
    }
    return { ok: false, code: 'internal', message: 'Internal server error.', detail: {} };
  }
}

yieldToServing();
parentPort?.on('message', (task: Task) => parentPort?.postMessage(answer(task)));
parentPort?.postMessage('ready');
