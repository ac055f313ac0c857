// Requests about tasks: those of a client, and the one that a task's call is for the server.
import { clientCapabilitiesKey, versionOf } from '../era.ts';
import { codes, failureOf, type Notification, type Request, type Response } from '../message.ts';
import type { TaskRecord } from './record.ts';
import type { ProxyTasks, TaskRunner } from './tasks.ts';

/** Tasks of one session. */
export interface SessionTasks {
  readonly tasks: ProxyTasks;
  /** What runs their calls. */
  readonly runner: () => TaskRunner;
}

const methods = ['tasks/get', 'tasks/update', 'tasks/cancel'];

/** @param tasks null: the session has none, or the client is a legacy one */
export async function answerTaskRequest(
  tasks: ProxyTasks | null,
  request: Request,
  told: (text: string) => void,
): Promise<Response> {
  const { id, method } = request;
  // A server may make a task of a call by itself: its result would come past every contract.
  const refusal = 'tasks are refused, because contracts cannot govern them';
  if (versionOf(request) === null) return failureOf(id, codes.invalid, refusal);
  if (!tasks || !methods.includes(method)) return failureOf(id, codes.method, refusal);
  try {
    return await tasks.answer(request);
  } catch (failure) {
    told(`${method}: ${failure instanceof Error ? failure.message : String(failure)}`);
    return failureOf(id, codes.internal, 'the task cannot be read');
  }
}

/** The call of a task. The server may ask nobody: no client waits. */
export const taskRequestOf = (record: TaskRecord): Request => ({
  ...{ kind: 'request', id: `reeve:task:${record.taskId}`, method: 'tools/call' },
  params: {
    name: record.tool,
    arguments: record.args,
    _meta: { ...record.meta, [clientCapabilitiesKey]: {} },
  },
});

export const cancelledTask = ({ id }: Request): Notification => ({
  ...{ kind: 'notification', method: 'notifications/cancelled' },
  params: { requestId: id, reason: 'the task was cancelled' },
});
