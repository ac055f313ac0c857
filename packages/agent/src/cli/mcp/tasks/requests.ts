// Requests about tasks: those of a client, and the one that a task's call is for the server.

import { type Fields, fieldsOf } from '../../../fields.ts';
import { clientCapabilitiesKey, tasksKey, versionOf } from '../era.ts';
import { codes, failureOf, type Message, type Request, type Response } from '../message.ts';
import type { TaskRecord } from './record.ts';
import type { TaskRunner } from './task-call.ts';
import type { ProxyTasks } from './tasks.ts';

/** Tasks of one session. */
export interface SessionTasks {
  readonly tasks: ProxyTasks;
  /** Runner of their calls. */
  readonly runner: () => TaskRunner;
}

const methods = ['tasks/get', 'tasks/update', 'tasks/cancel'];

/** @param tasks null: the session has none, or the client is a legacy one */
export async function answerTaskRequest(
  tasks: ProxyTasks | null,
  request: Request,
  writeLog: (text: string) => void,
): Promise<Response> {
  const { id, method } = request;
  // A server may make a task of a call by itself: its result would come past every contract.
  const refusal = 'tasks are refused, because contracts cannot govern them';
  if (versionOf(request) === null) return failureOf(id, codes.invalid, refusal);
  if (!tasks || !methods.includes(method)) return failureOf(id, codes.method, refusal);
  try {
    return await tasks.answer(request);
  } catch (failure) {
    writeLog(`${method}: ${failure instanceof Error ? failure.message : String(failure)}`);
    return failureOf(id, codes.internal, 'the task cannot be read');
  }
}

/** The call of a task. The server may ask what the client's user can answer. */
export const taskRequestOf = (record: TaskRecord): Request =>
  requestOf(record, 'tools/call', { name: record.tool, arguments: record.args }, capabilitiesOf(record));

/** Asks the server about a task that it has made of the call. */
export const taskLook = (record: TaskRecord): Request =>
  requestOf(record, 'tasks/get', { taskId: record.serverTask?.taskId }, withTasks(capabilitiesOf(record)));

/** Answers for such a task. */
export const taskUpdate = (record: TaskRecord, inputResponses: Fields): Request =>
  requestOf(
    record,
    'tasks/update',
    { taskId: record.serverTask?.taskId, inputResponses },
    withTasks(capabilitiesOf(record)),
  );

/** The server need not go on with a call. */
export function cancelledTask(record: TaskRecord, { id }: Request): Message {
  if (record.serverTask) {
    const cancel = requestOf(record, 'tasks/cancel', { taskId: record.serverTask.taskId }, withTasks({}));
    return { ...cancel, id: `${id}:cancel` };
  }
  const params = { requestId: id, reason: 'the task was cancelled' };
  return { kind: 'notification', method: 'notifications/cancelled', params };
}

/** A call that the server may make a task of. */
export function declaringTasks(request: Request): Request {
  const meta = fieldsOf(request.params._meta);
  const _meta = { ...meta, [clientCapabilitiesKey]: withTasks(fieldsOf(meta[clientCapabilitiesKey])) };
  return { ...request, params: { ...request.params, _meta } };
}

/** Of the client, as it declared them with its call: without tasks. */
const capabilitiesOf = ({ meta }: TaskRecord): Fields => fieldsOf(meta[clientCapabilitiesKey]);

const withTasks = (capabilities: Fields): Fields => ({
  ...capabilities,
  extensions: { ...fieldsOf(capabilities.extensions), [tasksKey]: {} },
});

const requestOf = (record: TaskRecord, method: string, params: Fields, capabilities: Fields): Request => ({
  ...{ kind: 'request', id: `reeve:task:${record.taskId}`, method },
  params: { ...params, _meta: { ...record.meta, [clientCapabilitiesKey]: capabilities } },
});
