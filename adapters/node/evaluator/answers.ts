// Loop of an evaluator's thread: one task in, one answer out. A result is JSON text in UTF-8; its bytes change hands
// without a copy and may go to a client unchanged. A refusal is a text. Keeps nothing between tasks.
import { parentPort } from 'node:worker_threads';
import { type ErrorCode, type ErrorDetail, HubError } from '../../../src/shared/error.ts';
import { perform, type Task } from './tasks.ts';

/** Why there is no result; posted as JSON text. */
export interface TaskRefusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail: ErrorDetail;
}

const utf8 = new TextEncoder();

function refusalOf(error: unknown): TaskRefusal {
  if (error instanceof HubError) return { code: error.code, message: error.message, detail: error.detail };
  if (error instanceof RangeError)
    return { code: 'unprocessable', message: 'The YAML is too complex. Split the document.', detail: {} };
  return { code: 'internal', message: 'Internal server error.', detail: {} };
}

parentPort?.on('message', (task: Task) => {
  try {
    const bytes = utf8.encode(JSON.stringify(perform(task)));
    parentPort?.postMessage(bytes, [bytes.buffer]);
  } catch (error) {
    parentPort?.postMessage(JSON.stringify(refusalOf(error)));
  }
});
parentPort?.postMessage('ready');
