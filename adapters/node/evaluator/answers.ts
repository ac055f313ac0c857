// What an evaluator's thread does once it is there: one task in, one answer out. Keeps nothing between tasks.
import { parentPort } from 'node:worker_threads';
import { type ErrorCode, type ErrorDetail, HubError } from '../../../src/domain/error.ts';
import { perform, type Task } from './tasks.ts';

export type TaskAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: ErrorCode; readonly message: string; readonly detail: ErrorDetail };

function answer(task: Task): TaskAnswer {
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

// As JSON: a text is handed over far faster than an object of some thousand parts.
parentPort?.on('message', (task: Task) => parentPort?.postMessage(JSON.stringify(answer(task))));
parentPort?.postMessage('ready');
