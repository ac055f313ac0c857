// Types between tasks and the sessions that run their calls.
import type { McpResult } from '../../../adapters/mcp-result.ts';
import type { RoundOptions } from '../../../guard/call.ts';
import type { Response } from '../message.ts';
import type { TaskRecord } from './record.ts';

/** A call with a handle, for the session that runs it. */
export interface TaskCall {
  readonly record: TaskRecord;
  readonly rounds: RoundOptions<McpResult>;
  /** Refuses the call instead of running it; null: the contracts decide. */
  readonly refusal: { readonly name: string; readonly reason: string } | null;
  readonly signal: AbortSignal;
  /**
   * Right before the server gets the call, or answers. False: it has got the answers before.
   * @throws Error if it may not get the call
   */
  use(): Promise<boolean>;
}

export interface TaskRunner {
  /** Returns the end of the call, or questions of its tool (`input_required`). */
  runTask(call: TaskCall): Promise<Response>;
  /** Cancels the task that the server has made of a call. */
  cancelTask(record: TaskRecord): void;
}

/** Facts of a session about a call that becomes a task. */
export type TaskDraft = Pick<
  TaskRecord,
  'tool' | 'args' | 'meta' | 'sessionId' | 'rounds' | 'approval' | 'serverTask'
>;
