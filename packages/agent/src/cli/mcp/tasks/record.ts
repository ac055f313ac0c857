// A call that goes on without its client, as it is kept, and as the client reads it: the tasks extension of revision
// 2026-07-28 (io.modelcontextprotocol/tasks).
import { randomBytes } from 'node:crypto';
import type { Fields } from '../../../fields.ts';
import type { CallRounds, QuestionDenial } from '../../../guard/call.ts';
import type { RpcError } from '../message.ts';
import { isAnswered, pendingRequests, type TaskInput } from './input.ts';

/** The approval that a call waits for. */
export interface TaskApproval {
  /** The hub's id. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly deadline: number;
  readonly timeoutEffect: 'deny' | 'allow';
  /** For people. */
  readonly message: string;
  readonly denial: QuestionDenial;
}

/** A call that the server made a task of its own. */
export interface ServerTask {
  /** The server's id, which no client learns. */
  readonly taskId: string;
  /** Milliseconds between two looks. */
  readonly pollMs: number;
}

export type TaskEnd =
  | { readonly status: 'completed'; readonly result: unknown }
  | { readonly status: 'failed'; readonly error: RpcError }
  | { readonly status: 'cancelled' };

export interface TaskRecord {
  readonly taskId: string;
  /** The one who may ask for the task. */
  readonly owner: string;
  /** Names the hub and the agent: another one does not know the approval. */
  readonly scope: string;
  /** Epoch milliseconds, here and below. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number;
  readonly tool: string;
  readonly args: Fields;
  /** Members of `_meta` that the server gets. */
  readonly meta: Fields;
  /** SHA-256 of tool and arguments, in hex. */
  readonly digest: string;
  /** The run that counts the call. */
  readonly sessionId: string;
  readonly rounds: CallRounds;
  /** Null: a person has approved, or nobody was asked. */
  readonly approval: TaskApproval | null;
  /** Null: the server has not got the call, or runs it without a task. */
  readonly serverTask: ServerTask | null;
  /** Questions from the tool to its user. Null or absent: none. */
  readonly input?: TaskInput | null;
  /** Null: the call goes on. */
  readonly end: TaskEnd | null;
}

/** For people and clients. */
export const outcomeUnknown = 'the outcome is not known: the proxy ended while the tool ran';

/** Reason that stops a task's call here. The next process continues the task, unless the tool runs. */
export class ProxyEndedError extends Error {
  constructor() {
    super(outcomeUnknown);
    this.name = 'ProxyEndedError';
  }
}

/** Milliseconds between two requests of a client, as the answer contains them. */
const pollInterval = 2000;
/** Milliseconds for which a task is kept after its approval's deadline. */
export const keptAfterDeadline = 24 * 3_600_000;
/** Milliseconds after an approval's deadline in which the call may still run. */
export const latestStart = 600_000;

/** 128 random bits, in hex. */
export const newTaskId = (): string => randomBytes(16).toString('hex');
export const isTaskId = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);

/** @param isRunning the server has the call */
export function taskOf(record: TaskRecord, isRunning: boolean): Fields {
  const { taskId, createdAt, updatedAt, expiresAt, approval, input = null, end } = record;
  const asks = end === null && input !== null && !isAnswered(input) ? input : null;
  const waiting = approval ? `Approval pending: ${approval.message}` : 'The tool runs.';
  const working = asks ? 'The tool asks for input.' : waiting;
  return {
    taskId,
    status: end?.status ?? (asks ? 'input_required' : 'working'),
    ...messageOf(end, isRunning && !asks ? 'The tool runs.' : working),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    ttlMs: expiresAt - createdAt,
    pollIntervalMs: pollInterval,
    ...(asks ? { inputRequests: pendingRequests(asks) } : {}),
    ...(end?.status === 'completed' ? { result: end.result } : {}),
    ...(end?.status === 'failed' ? { error: end.error } : {}),
  };
}

function messageOf(end: TaskEnd | null, working: string): Fields {
  if (end === null) return { statusMessage: working };
  return end.status === 'failed' ? { statusMessage: end.error.message } : {};
}
