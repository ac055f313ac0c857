// Calls that go on without their client: each under a handle that the client asks about. A call runs once, when its
// approval is decided, also if the client or the proxy went away in between (promise P74).
import { isInputRequired } from '../../../adapters/mcp-result.ts';
import { type ApprovalOutcome, HandedOverError, timedOut } from '../../../approvals.ts';
import type { Clock, Timer } from '../../../clock.ts';
import { messageOf } from '../../../failure.ts';
import { type Fields, fieldsOf } from '../../../fields.ts';
import { NotStartedError } from '../../../guard/call.ts';
import type { Guard } from '../../../guard/guard.ts';
import { digestOf } from '../../../rounds/round-state.ts';
import { clientCapabilitiesKey, tasksKey } from '../era.ts';
import { codes, failureOf, type Request, type Response } from '../message.ts';
import { resultOf } from '../translation.ts';
import type { TaskFiles } from './files.ts';
import { answersOf, inputOf } from './input.ts';
import { LiveTask } from './live-task.ts';
import { recordLostCall } from './lost-call.ts';
import {
  isTaskId,
  keptAfterDeadline,
  latestStart,
  newTaskId,
  outcomeUnknown,
  ProxyEndedError,
  type TaskEnd,
  type TaskRecord,
  taskOf,
} from './record.ts';
import type { TaskDraft, TaskRunner } from './task-call.ts';

export interface TaskPorts {
  readonly files: TaskFiles;
  readonly clock: Clock;
  /** The one who may ask about these tasks. */
  readonly owner: string;
  /** Names the hub and the agent. */
  readonly scope: string;
  /** Of the proxy. */
  readonly guard: Guard;
  /** For people. */
  readonly writeLog: (text: string) => void;
}

/** Tasks of one process that have not ended. */
const maxLive = 1000;
/** Milliseconds between two signs of life. */
const lookInterval = 5000;
/** Signs of life between two removals of what has expired. */
const looksPerSweep = 120;

const approvedLate = 'approved, not run: the approval came while no proxy could run the call';

export class ProxyTasks {
  readonly #ports: TaskPorts;
  readonly #live = new Map<string, LiveTask>();
  readonly #closed = new AbortController();
  readonly #work = new Set<Promise<unknown>>();
  /** Resolves when this process holds what an earlier one left. */
  #begun: Promise<unknown> = Promise.resolve();
  #timer: Timer | null = null;
  #looks = 0;

  constructor(ports: TaskPorts) {
    this.#ports = ports;
  }

  /** True if calls may wait for approvals as tasks. */
  get canAsk(): boolean {
    return this.#ports.guard.approvals?.resume !== undefined;
  }

  /** True if the request may become a task: its client knows them, and there is room. */
  isFor(request: Request): boolean {
    return declaresTasks(request) && this.#live.size < maxLive;
  }

  /**
   * Takes over the tasks that no process holds, now and from time to time.
   * @param runner makes what runs their calls
   */
  async start(runner: () => TaskRunner): Promise<void> {
    const lookAround = async (): Promise<void> => {
      const { files, writeLog, clock } = this.#ports;
      try {
        await files.signOfLife();
        if (this.#looks++ % looksPerSweep === 0) await files.sweep();
        const adopted = await files.adopt(({ scope, owner }) => this.#isOwn(scope, owner));
        for (const record of adopted) await this.#resume(record, runner);
      } catch (failure) {
        writeLog(`tasks: ${messageOf(failure)}`);
      }
      if (!this.#closed.signal.aborted)
        this.#timer = clock.after(lookInterval, () => this.#track(lookAround()));
    };
    this.#begun = this.#track(lookAround());
    await this.#begun;
  }

  /**
   * The result that names the new task. It is durable when the promise resolves.
   * @param runner makes what runs the call
   */
  async create(draft: TaskDraft, runner: () => TaskRunner): Promise<Fields> {
    const { clock, files, owner, scope } = this.#ports;
    const now = clock.now();
    const record: TaskRecord = {
      ...draft,
      ...{ taskId: newTaskId(), owner, scope, createdAt: now, updatedAt: now, end: null },
      expiresAt: (draft.approval?.deadline ?? now) + keptAfterDeadline,
      digest: digestOf(draft.tool, draft.args),
    };
    try {
      await files.create(record);
    } catch (failure) {
      this.#withdraw(record);
      throw failure;
    }
    this.#follow(record, runner);
    return { ...taskOf(record, false), resultType: 'task' };
  }

  /** The answer to `tasks/get`, `tasks/update` or `tasks/cancel`. */
  async answer(request: Request): Promise<Response> {
    const { id, method, params } = request;
    if (!declaresTasks(request)) {
      const requiredCapabilities = { extensions: { [tasksKey]: {} } };
      const message = `${method} needs the client capability ${tasksKey}`;
      const error = { code: codes.missingCapability, message, data: { requiredCapabilities } };
      return { kind: 'response', id, error };
    }
    await this.#begun;
    const { taskId } = params;
    const record = isTaskId(taskId) ? await this.#recordOf(taskId) : null;
    if (!record) return failureOf(id, codes.params, 'the task does not exist, or has expired');
    if (method === 'tasks/cancel') await this.#cancel(record);
    const refusal = method === 'tasks/update' ? await this.#update(record, params.inputResponses) : null;
    if (refusal !== null) return failureOf(id, codes.params, refusal);
    const isRunning = this.#live.get(record.taskId)?.isRunning ?? false;
    const task = method === 'tasks/get' ? taskOf(record, isRunning) : {};
    return resultOf(id, { ...task, resultType: 'complete' });
  }

  /** Leaves what has not ended to the next process. */
  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#closed.abort(new ProxyEndedError());
    await Promise.allSettled(this.#work);
    await this.#ports.files.close();
  }

  /** Work that `close` waits for. */
  #track(work: Promise<unknown>): Promise<unknown> {
    const tracked = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
    return tracked;
  }

  #isOwn(scope: string, owner: string): boolean {
    return scope === this.#ports.scope && owner === this.#ports.owner;
  }

  async #recordOf(taskId: string): Promise<TaskRecord | null> {
    const record = this.#live.get(taskId)?.record ?? (await this.#ports.files.read(taskId));
    const isKept = record !== null && record.expiresAt >= this.#ports.clock.now();
    return isKept && record.owner === this.#ports.owner ? record : null;
  }

  /** Takes answers. @returns why it takes none, for the client; null: it took them */
  async #update(record: TaskRecord, responses: unknown): Promise<string | null> {
    if (typeof responses !== 'object' || responses === null || Array.isArray(responses))
      return 'inputResponses must be an object';
    if (record.end) return null;
    const live = this.#live.get(record.taskId);
    if (!live) return 'another proxy goes on with this task: send the answers there, or again in a minute';
    return (await live.answer(fieldsOf(responses))) ? null : 'each of inputResponses must be an object';
  }

  async #cancel(record: TaskRecord): Promise<void> {
    if (record.end) return;
    const { files } = this.#ports;
    const live = this.#live.get(record.taskId);
    if (live) live.isCancelled = true;
    await files.markCancelled(record.taskId);
    live?.cancelAtServer();
    await live?.end({ status: 'cancelled' });
    this.#withdraw(record);
    live?.cancelled.abort(new Error(cancelledByClient));
  }

  /** The question is nobody's any more. An older hub keeps it: a later approval runs nothing. */
  #withdraw({ approval }: TaskRecord): void {
    if (!approval) return;
    this.#ports.guard.approvals?.withdraw?.(approval.id).catch(() => {});
  }

  /** Goes on with a task of a process that ended. */
  async #resume(record: TaskRecord, runner: () => TaskRunner): Promise<void> {
    const { files } = this.#ports;
    const { taskId } = record;
    if (await files.isCancelled(taskId)) {
      if (record.serverTask) runner().cancelTask(record);
      return this.#finish(record, { status: 'cancelled' });
    }
    const isSent = record.serverTask === null && (await files.isSent(taskId, record.rounds.count));
    if (!isSent) return this.#follow(record, runner);
    // The server got the call, and its answer reached nobody.
    await this.#recordEnd(record, outcomeUnknown);
    await this.#finish(record, failureWith(outcomeUnknown));
  }

  /** Records the end of a call that the server does not bring to an end. */
  async #recordEnd(record: TaskRecord, reason: string): Promise<void> {
    const { guard, writeLog } = this.#ports;
    await recordLostCall(guard, record, reason).catch((failure: unknown) =>
      writeLog(`task ${record.taskId}: ${messageOf(failure)}`),
    );
  }

  #follow(record: TaskRecord, runner: () => TaskRunner): void {
    const live = new LiveTask(record, runner, this.#ports.files, this.#ports.clock);
    this.#live.set(record.taskId, live);
    const work = this.#run(live)
      .catch((failure: unknown) => this.#ports.writeLog(`task ${record.taskId}: ${messageOf(failure)}`))
      .finally(() => this.#live.delete(record.taskId));
    this.#track(work);
  }

  async #run(live: LiveTask): Promise<void> {
    const { approval } = live.record;
    const outcome = approval ? await this.#outcomeOf(live) : null;
    if (this.#closed.signal.aborted) return;
    const late = approval && this.#ports.clock.now() > approval.deadline + latestStart;
    const isLate = late && outcome && 'decision' in outcome && outcome.decision.proceed;
    if (isLate) {
      await this.#call(live, outcome, approvedLate);
      return live.end(failureWith(approvedLate));
    }
    await this.#goOn(live, outcome);
  }

  /** Rounds of the call, until its end. */
  async #goOn(live: LiveTask, decided: Outcome | null): Promise<void> {
    for (let outcome = decided; ; outcome = null) {
      if (live.record.input && !(await live.answered(this.#signalOf(live)))) return this.#abandon(live);
      const response = await this.#call(live, outcome, null);
      const result = fieldsOf(response.result);
      if (result.resultType !== 'input_required') return this.#settle(live, response);
      await live.ask(inputOf(result, live.rounds.count));
    }
  }

  async #settle(live: LiveTask, response: Response): Promise<void> {
    const isLost = this.#closed.signal.aborted && response.error !== undefined;
    // The next process goes on with a call that the server has not got.
    if (isLost && !live.isSent) return;
    if (await this.#ports.files.isCancelled(live.record.taskId)) {
      live.cancelAtServer();
      return live.end({ status: 'cancelled' });
    }
    const { error, result } = response;
    await live.end(error ? { status: 'failed', error } : { status: 'completed', result });
  }

  /** Nobody answers the questions of the tool any more. The next process goes on with what may still be answered. */
  async #abandon(live: LiveTask): Promise<void> {
    const { record, isCancelled } = live;
    if (this.#closed.signal.aborted && !isCancelled) return;
    live.cancelAtServer();
    const reason = isCancelled ? cancelledByClient : 'nobody answered the questions of the tool';
    await this.#recordEnd(record, reason);
    await live.end(failureWith(reason));
  }

  #signalOf({ cancelled }: LiveTask): AbortSignal {
    return AbortSignal.any([this.#closed.signal, cancelled.signal]);
  }

  async #outcomeOf(live: LiveTask): Promise<Outcome> {
    const { approvals } = this.#ports.guard;
    const { approval } = live.record;
    try {
      if (!approval || !approvals?.resume) throw new Error('no hub is configured');
      const { id, deadline, timeoutEffect } = approval;
      const until = deadline + latestStart;
      return { decision: await approvals.resume({ id, until, timeoutEffect }).outcome(this.#signalOf(live)) };
    } catch (failure) {
      if (!live.isCancelled) return { failure };
      return { decision: { ...timedOut('deny'), status: 'denied', reason: 'withdrawn by the client' } };
    }
  }

  #call(live: LiveTask, outcome: Outcome | null, refusal: string | null): Promise<Response> {
    const { record } = live;
    const { denial } = record.approval ?? {};
    const question = denial &&
      outcome && {
        denial,
        outcome: async () => {
          if ('decision' in outcome) return outcome.decision;
          throw outcome.failure;
        },
      };
    return live.runner().runTask({
      record,
      rounds: {
        earlier: record.rounds,
        ...(record.input ? { answers: answersOf(record.input) } : {}),
        isInterim: isInputRequired,
        carry: (result, rounds) => {
          live.rounds = rounds;
          return result;
        },
        ...(question ? { question } : {}),
      },
      refusal: refusal === null ? null : { name: 'approved_not_run', reason: refusal },
      // A call that was cancelled while it waited is recorded as denied.
      signal: live.isCancelled ? this.#closed.signal : this.#signalOf(live),
      use: () => this.#use(live),
    });
  }

  async #use(live: LiveTask): Promise<boolean> {
    const { files } = this.#ports;
    const { taskId, serverTask, input = null, rounds } = live.record;
    const check = (): void => {
      if (live.isCancelled) throw new NotStartedError('the task was cancelled');
      if (this.#closed.signal.aborted) throw new HandedOverError();
    };
    if (await files.isCancelled(taskId)) live.isCancelled = true;
    check();
    const isOnce = serverTask === null || input !== null;
    const isFirst = !isOnce || (await files.markSent(taskId, rounds.count));
    if (serverTask === null && !isFirst) throw new NotStartedError('another process has run the call');
    check();
    live.isSent = serverTask === null;
    live.isRunning = true;
    return isFirst;
  }

  async #finish(record: TaskRecord, end: TaskEnd): Promise<void> {
    await this.#ports.files.end({ ...record, end, updatedAt: this.#ports.clock.now() });
  }
}

type Outcome = { readonly decision: ApprovalOutcome } | { readonly failure: unknown };

const cancelledByClient = 'the client cancelled the task';
const failureWith = (message: string): TaskEnd => ({
  status: 'failed',
  error: { code: codes.server, message },
});

/** True if the client of a request knows tasks. */
export function declaresTasks({ params }: Request): boolean {
  const capabilities = fieldsOf(fieldsOf(params._meta)[clientCapabilitiesKey]);
  return fieldsOf(capabilities.extensions)[tasksKey] !== undefined;
}
