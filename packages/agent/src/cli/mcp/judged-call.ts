// A `tools/call` under a guard: judged once, over all rounds in which the tool or a contract asks the client's user.
import { isInputRequired, type McpResult, mcpRunOptions } from '../../adapters/mcp-result.ts';
import { HandedOverError, timedOut } from '../../approvals.ts';
import { type Fields, fieldsOf, without } from '../../fields.ts';
import type { CallerRefusal, RoundOptions, RunOptions } from '../../guard/call.ts';
import type { Guard } from '../../guard/guard.ts';
import { LateApprovalError, maxRounds, RoundStateError } from '../../rounds/round-state.ts';
import { refusalName, type ToolPinSession } from '../../tools/tool-pins.ts';
import type { AskingClient } from './asking.ts';
import { CallError, unended } from './call-error.ts';
import { sessionOf } from './counting-session.ts';
import { clientCapabilitiesKey, clientNameOf, type Era } from './era.ts';
import { codes, MessageError, type Request, type Response, type ToolCall, toolCallOf } from './message.ts';
import { ProxyRound, type ProxyRounds } from './rounds.ts';
import { answering, answersOf } from './tasks/input.ts';
import { ProxyEndedError, type ServerTask, type TaskRecord } from './tasks/record.ts';
import { declaringTasks, taskLook, taskUpdate } from './tasks/requests.ts';
import type { TaskCall, TaskDraft } from './tasks/task-call.ts';
import { withActiveSpan } from './trace.ts';
import { unanswerable } from './translation.ts';

/** Calls that go on as tasks. */
export interface CallTasks {
  /** True if the request may become a task. */
  isFor(request: Request): boolean;
  /** True if a task may wait for an approval. */
  readonly canAsk: boolean;
  /** The result that names the new task. */
  create(draft: TaskDraft): Promise<Fields>;
}

/** The session's parts that a call uses. */
export interface CallPorts {
  readonly guard: Guard;
  readonly pins: ToolPinSession | null;
  readonly asking: AskingClient;
  readonly rounds: ProxyRounds;
  /** The client's place: a retry from another one is refused. */
  readonly place: string;
  /** Over the guard's own session. */
  readonly sessionId: string | undefined;
  /** The member of `_meta` that names another session; absent: none does. */
  readonly sessionMeta: string | undefined;
  /** Null: calls become no tasks. */
  readonly tasks: CallTasks | null;
  wait(ms: number, signal: AbortSignal): Promise<void>;
  names(): { readonly server: string; readonly client: string };
  /** @throws MessageError for a name that another reader may take for a name that is judged; TypeError as a guard */
  checkNames(call: ToolCall): Promise<void>;
}

/** A request under way. */
export interface CallRequest {
  readonly request: Request;
  readonly era: Era;
  readonly signal: AbortSignal;
  /** Of a legacy client, which the server may ask while the call is open; null: another client. */
  readonly openRounds: RoundOptions<McpResult> | null;
  /** Sends the request to the server. Rejects when the client cancels. */
  send(request: Request): Promise<Response>;
}

/** Characters of the id of a server's task. */
const maxTaskId = 1024;
/** Milliseconds between two looks at a server's task. */
const shortestPoll = 100;
const longestPoll = 5000;
/** Looks at a task that shows questions which were answered, before they are asked again. */
const maxOldLooks = 3;

export class JudgedCall {
  readonly #ports: CallPorts;
  readonly #sent: CallRequest;
  readonly #call: ToolCall;
  readonly #task: TaskCall | null;
  #round: ProxyRound | null = null;
  #answer: Response | null = null;

  /**
   * @param task whose call this is; null: a client awaits the response
   * @throws MessageError for a request that is no call
   */
  constructor(ports: CallPorts, sent: CallRequest, task: TaskCall | null = null) {
    this.#ports = ports;
    this.#sent = sent;
    this.#task = task;
    this.#call = toolCallOf(sent.request, sent.era.meta(sent.request), sent.era.isModern);
  }

  /** @throws DeniedError, CallError, MessageError, TypeError; the failures of a guard */
  async run(): Promise<Response> {
    const { rounds } = this.#ports;
    const { era, request, signal } = this.#sent;
    const begun = era.isModern && !this.#task ? await this.#begin() : null;
    if (begun !== null && !(begun instanceof ProxyRound)) return begun;
    this.#round = begun;
    try {
      await this.#ports.checkNames(this.#call);
      signal.throwIfAborted();
      const response = await this.#judged();
      if (begun) rounds.keep(begun, response);
      return response;
    } catch (failure) {
      const isHandedOver = failure instanceof HandedOverError;
      const result = isHandedOver ? ((await begun?.question()) ?? (await this.#createTask())) : null;
      if (result) return { kind: 'response', id: request.id, result };
      throw failure instanceof RoundStateError ? this.#refused(failure) : failure;
    } finally {
      begun?.end();
    }
  }

  /** A retry that may not go on is recorded as a refused call, and nothing runs. */
  async #begin(): Promise<ProxyRound | Response> {
    const { name, args } = this.#call;
    const { guard, rounds } = this.#ports;
    try {
      return await rounds.begin({ tool: name, args, session: this.#place }, this.#sent.request);
    } catch (failure) {
      if (!(failure instanceof RoundStateError)) throw failure;
      const options = { ...this.#baseOptions, ...recordedAs(failure) };
      await guard.run<object, McpResult>(name, args, () => ({}), options).catch(() => {});
      throw this.#refused(failure);
    }
  }

  /**
   * The result that names the task; null: the call becomes none.
   * @param serverTask the server has made the call a task
   */
  async #createTask(serverTask: ServerTask | null = null): Promise<Fields | null> {
    const { guard, tasks } = this.#ports;
    const sessionId = this.#sessionId ?? guard.sessionId;
    const draft = serverTask ? this.#round?.interimTask : this.#round?.handedOver;
    if (!draft || !tasks) return null;
    const { name: tool, args, request } = this.#call;
    const meta = without(fieldsOf(request.params._meta), 'progressToken');
    return tasks.create({ ...draft, tool, args, meta, sessionId, serverTask });
  }

  #refused({ message }: RoundStateError): MessageError {
    return new MessageError(codes.params, message, this.#sent.request.id);
  }

  async #judged(): Promise<Response> {
    const { guard, pins } = this.#ports;
    const { era, request } = this.#sent;
    const { name, args } = this.#call;
    const result = await guard.run(name, args, () => this.#runTool(), {
      ...this.#baseOptions,
      refusal: this.#pinRefusal ?? this.#task?.refusal ?? null,
      refusalAfterApproval: () => (pins ? this.#lateRefusal() : Promise.resolve(null)),
    });
    const task = this.#round && serverTaskOf(result);
    const created = task && (await this.#createTask(task));
    if (created) return { kind: 'response', id: request.id, result: created };
    if (isInputRequired(result)) {
      const questions = fieldsOf(result);
      const interim = this.#round ? await this.#round.interim(questions) : questions;
      return { kind: 'response', id: request.id, result: interim };
    }
    const untouched = this.#answer;
    return untouched && untouched.result === result
      ? untouched
      : { kind: 'response', id: request.id, result: era.encode(result) };
  }

  /** The refusal of an approved call. The list must not be older than that for a new call. */
  async #lateRefusal(): Promise<CallerRefusal | null> {
    try {
      await this.#ports.checkNames(this.#call);
    } catch (failure) {
      if (!(failure instanceof MessageError)) throw failure;
      return { name: refusalName, reason: failure.message };
    }
    return this.#pinRefusal;
  }

  /** The refusal by the pins in force; null: the definition of the tool is allowed. */
  get #pinRefusal(): CallerRefusal | null {
    const { verdict, reason } = this.#ports.pins?.judge(this.#call.name) ?? {
      verdict: 'allowed',
      reason: null,
    };
    return verdict === 'allowed' ? null : { name: refusalName, reason: reason ?? refusalName };
  }

  get #baseOptions(): RunOptions<McpResult> {
    const { asking } = this.#ports;
    const sessionId = this.#sessionId;
    const { signal, request, openRounds } = this.#sent;
    const { progressToken, name } = this.#call;
    const { server, client } = this.#names;
    const { traceparent } = fieldsOf(this.#call.request.params._meta);
    const traced = typeof traceparent === 'string' ? { traceparent } : {};
    const round = this.#round;
    const rounds = round?.options ?? openRounds;
    const { tasks } = this.#ports;
    const canHandOver = tasks?.canAsk === true && tasks.isFor(request);
    const modern = round && { round, capabilities: this.#capabilities, clientName: client, canHandOver };
    if (this.#task) return { ...mcpRunOptions, ...traced, ...this.#taskOptions(this.#task) };
    return {
      ...mcpRunOptions,
      ...traced,
      signal,
      metadata: { mcp: { server, client } },
      approvals: (own) => asking.approvals(own, { id: request.id, progressToken, tool: name }, modern),
      ...(rounds ? { rounds } : {}),
      ...(sessionId === undefined ? {} : { sessionId }),
    };
  }

  #taskOptions({ record, rounds, signal }: TaskCall): RunOptions<McpResult> {
    const { server, client } = this.#names;
    return {
      ...{ signal, rounds, sessionId: record.sessionId, approvals: () => null },
      metadata: { mcp: { server, client } },
    };
  }

  /** Several modern clients may share a session, so the name is the one in the request. */
  get #names(): { readonly server: string; readonly client: string } {
    const { era, request } = this.#sent;
    const { server, client } = this.#ports.names();
    return { server, client: era.isModern ? clientNameOf(request) : client };
  }

  get #chosenSession(): string | null {
    return sessionOf(this.#sent.request, this.#ports.sessionMeta);
  }

  /** The session that counts the call; undefined: the guard's own. */
  get #sessionId(): string | undefined {
    return this.#chosenSession ?? this.#ports.sessionId;
  }

  get #place(): string {
    const { place } = this.#ports;
    const chosen = this.#chosenSession;
    return chosen === null ? place : `${place} ${chosen}`;
  }

  get #capabilities() {
    return fieldsOf(fieldsOf(this.#sent.request.params._meta)[clientCapabilitiesKey]);
  }

  async #runTool(): Promise<McpResult> {
    const { era, send } = this.#sent;
    const round = this.#round;
    await round?.use();
    const mayAnswer = await this.#task?.use();
    const { record } = this.#task ?? {};
    if (record?.serverTask)
      return this.#serverResult(record, record.serverTask, mayAnswer === true).catch((failure: unknown) => {
        throw failure instanceof ProxyEndedError ? new HandedOverError() : failure;
      });
    const isTasked = round !== null && this.#ports.tasks?.isFor(this.#sent.request) === true;
    const judged = withActiveSpan(this.#call.request);
    const request = isTasked ? declaringTasks(judged) : judged;
    const upstream = record ? answering(request, record.input ?? null) : request;
    const answer = await send(round ? round.upstream(upstream) : upstream);
    this.#answer = answer;
    if (answer.error) throw new CallError(answer, answer.error);
    if (fieldsOf(answer.result).resultType === 'input_required' && (round || record))
      return this.#inputRequired(answer, fieldsOf(answer.result));
    if (isTasked && serverTaskOf(answer.result)) return answer.result as McpResult;
    const reason = era.unendedReason(answer.result);
    if (reason !== null) throw unended(answer, era, reason);
    return era.decode(answer.result) as McpResult;
  }

  /** Questions of the server. @throws CallError if its client cannot answer them, or after too many rounds */
  #inputRequired(answer: Response, result: Fields): McpResult {
    const { era } = this.#sent;
    const earlierCount = this.#task?.record.rounds.count ?? this.#round?.earlierCount ?? 0;
    if (earlierCount + 1 >= maxRounds)
      throw unended(answer, era, `The tool did not finish after ${maxRounds} rounds.`);
    const missing = unanswerable(result, this.#capabilities);
    if (missing === null) return result as McpResult;
    const error = { code: codes.missingCapability, message: missing };
    throw new CallError({ kind: 'response', id: answer.id, error }, error);
  }

  /**
   * The result of a task that the server has made of the call, or its questions.
   * @param mayAnswer false: the server has got the answers before
   */
  async #serverResult(record: TaskRecord, { pollMs }: ServerTask, mayAnswer: boolean): Promise<McpResult> {
    const { era, send, signal } = this.#sent;
    const answers = record.input ? answersOf(record.input) : {};
    if (record.input && mayAnswer) {
      const { id, error } = await send(taskUpdate(record, answers));
      if (error) throw new CallError({ kind: 'response', id, error }, error);
    }
    for (let looks = 0; ; looks++) {
      const answer = await send(taskLook(record));
      this.#answer = answer;
      if (answer.error) throw new CallError(answer, answer.error);
      const { status, result, error } = fieldsOf(answer.result);
      this.#answer = { kind: 'response', id: answer.id, result: era.encode(result) };
      if (status === 'completed') return era.decode(result) as McpResult;
      if (status === 'failed') {
        const { code, message } = fieldsOf(error);
        const own = { code: typeof code === 'number' ? code : codes.server, message: String(message) };
        throw new CallError({ kind: 'response', id: answer.id, error: own }, own);
      }
      if (status === 'input_required') {
        const { inputRequests } = fieldsOf(answer.result);
        const isOld = Object.keys(fieldsOf(inputRequests)).every((key) => Object.hasOwn(answers, key));
        // A server may show for a moment what was answered.
        if (!isOld || looks >= maxOldLooks)
          return this.#inputRequired(answer, { resultType: 'input_required', inputRequests });
      } else if (status !== 'working')
        throw unended(answer, era, 'The tool did not finish: its task is cancelled.');
      await this.#ports.wait(pollMs, signal);
    }
  }
}

/** A result that names a task; null: another kind. */
function serverTaskOf(result: unknown): ServerTask | null {
  const { resultType, taskId, pollIntervalMs } = fieldsOf(result);
  if (resultType !== 'task' || typeof taskId !== 'string' || taskId.length > maxTaskId) return null;
  const pollInterval = typeof pollIntervalMs === 'number' ? pollIntervalMs : longestPoll;
  return { taskId, pollMs: Math.min(longestPoll, Math.max(shortestPoll, pollInterval)) };
}

/** Options with which a guard records a retry that may not go on, without running the tool. */
function recordedAs(failure: RoundStateError): Partial<RunOptions<McpResult>> {
  const name = 'request_state';
  if (!(failure instanceof LateApprovalError)) return { refusal: { name, reason: failure.message } };
  const denial = { source: 'hook', name, reason: 'The user of the client was asked.' };
  const question = { denial, outcome: async () => timedOut('deny') };
  const { earlier } = failure;
  return { rounds: { earlier, question, isInterim: () => false, carry: (result) => result } };
}
