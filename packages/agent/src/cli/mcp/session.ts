// One client's session with an MCP server under a guard: judges the calls of tools, hides what is refused anyway, hands
// everything else on.
import { type Clock, sleep } from '../../clock.ts';
import { type Fields, fieldsOf } from '../../fields.ts';
import type { Guard } from '../../guard/guard.ts';
import { foldCase } from '../../rules/fold.ts';
import type { ToolPinSession } from '../../tools/tool-pins.ts';
import { AskingClient } from './asking.ts';
import { answerOf, unsupported } from './call-error.ts';
import { checkCallNames } from './call-names.ts';
import { type Era, eraOf, isChange, isListening, nameIn, subscriptionKey, versionOf } from './era.ts';
import { greetingOf, introductionOf, type ServerFacts, serverFactsOf } from './introduction.ts';
import { type CallPorts, JudgedCall } from './judged-call.ts';
import {
  codes,
  failureOf,
  type Id,
  type Message,
  type Notification,
  type Request,
  type Response,
  type ToolCall,
} from './message.ts';
import { ServerQuestions } from './questions.ts';
import type { ProxyRounds } from './rounds.ts';
import { ProxyEndedError, type TaskRecord } from './tasks/record.ts';
import { answerTaskRequest, cancelledTask, type SessionTasks, taskRequestOf } from './tasks/requests.ts';
import type { TaskCall } from './tasks/task-call.ts';
import { ToolList, visibleList } from './tool-list.ts';

export interface SessionOptions {
  readonly guard: Guard;
  readonly clock: Clock;
  /** Leaves tools out of `tools/list` that contracts refuse whatever the arguments. */
  readonly hide: boolean;
  /** Judges the definitions of tools; null: none. */
  readonly pins: ToolPinSession | null;
  /** Over the guard's own session; `sessionMeta` is the member of `_meta` that names another one. */
  readonly sessionId?: string;
  readonly sessionMeta?: string | undefined;
  /** Of all clients of the proxy. */
  readonly rounds: ProxyRounds;
  /** The client's place: a retry from another one is refused. */
  readonly place: string;
  /** Calls that go on without their client; null: none do. */
  readonly tasks: SessionTasks | null;
  /** @param related the request of the client that the message belongs to; null: none that is known */
  readonly toClient: (message: Message, related: Id | null) => void;
  /** Told whenever no request of the client is under way any more. */
  readonly onIdle?: () => void;
  /** For people. */
  readonly writeLog?: (text: string) => void;
}

/** Requests of a client that are under way. */
const maxOpen = 1000;

/** Receiver of messages from the client. */
interface ServerLink {
  send(message: Message): void;
}

interface Open {
  readonly request: Request;
  readonly era: Era;
  readonly cancelled: AbortController;
  /** Set while the server works on a governed call. */
  onAnswer: ((answer: Response) => void) | null;
}

export class McpSession {
  readonly #options: SessionOptions;
  readonly #asking: AskingClient;
  readonly #questions = new ServerQuestions({
    toServer: (message) => this.#toServer(message),
    endCall: (id, answer) => this.#open.get(id)?.onAnswer?.(answer),
  });
  readonly #open = new Map<Id, Open>();
  readonly #tokens = new Map<Id, Id>();
  readonly #tools: ToolList;
  #server: ServerLink | null = null;
  /** From the handshake. */
  #clientName = nameIn(null);
  #serverName = 'server';
  /** The client has made its handshake. */
  #isGreeted = false;
  /** `_meta` of the client's last modern request; null: there was none. */
  #modernMeta: Fields | null = null;
  /** Lists that the server has. */
  #offers: readonly string[] = [];
  #instructions: unknown;
  #info: ServerFacts['info'] = null;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#asking = new AskingClient(options.clock, options.toClient);
    const { clock, pins, writeLog = () => {} } = options;
    this.#tools = new ToolList({
      ...{ clock, writeLog, send: (message) => this.#listTools(message) },
      listed: async (tools) => pins?.observe({ tools, instructions: this.#instructions, info: this.#info }),
    });
  }

  attach(server: ServerLink): void {
    this.#server = server;
  }

  /**
   * Resolves when the proxy has a list of the server's tools.
   * @param request of a modern client that needs it
   * @throws MessageError when the server does not answer
   */
  async listTools(request: Request): Promise<void> {
    this.#eraOf(request);
    await this.#tools.ready();
  }

  /** True while a request is under way that ends by itself. */
  get isBusy(): boolean {
    return [...this.#open.values()].some(({ request }) => request.method !== 'subscriptions/listen');
  }

  fromClient(message: Message): void {
    if (message.kind === 'response') {
      if (this.#asking.take(message)) return;
      this.#questions.answered(message);
      this.#toServer(message);
    } else if (message.kind === 'notification') this.#notified(message);
    else this.#requested(message);
  }

  /** @param related the client's request that the message belongs to; null: none that is known */
  fromServer(message: Message, related: Id | null = null): void {
    const { toClient } = this.#options;
    if (message.kind !== 'response') {
      if (message.method === 'notifications/tools/list_changed') this.#tools.refresh();
      if (this.#modernMeta && message.kind === 'notification' && this.#spread(message)) return;
      const admitted = message.kind === 'request' ? this.#questions.admit(message, related) : message;
      return void (admitted && toClient(admitted, this.#relatedTo(message) ?? related));
    }
    if (this.#tools.take(message)) return;
    const open = this.#open.get(message.id);
    // One that was cancelled is awaited by nobody.
    if (!open) return;
    if (open.onAnswer) return void open.onAnswer(message);
    // The server answers a call that it was not sent: nobody has judged that.
    if (open.request.method === 'tools/call') return;
    const end = (): void => this.#end(open, message);
    // The client gets a list when the proxy has seen one, so that what is accepted as first seen is in it.
    if (this.#options.pins && open.request.method === 'tools/list') this.#tools.ready().then(end, end);
    else end();
  }

  #end(open: Open, answer: Response): void {
    this.#close(open);
    this.#options.toClient(this.#adjusted(open, answer), answer.id);
    this.#answered();
  }

  /** @param result the server's introduction, which a modern client may never ask for */
  introduced(result: unknown): void {
    const { info, instructions, offers } = serverFactsOf(result);
    this.#serverName = info?.name.slice(0, 128) ?? this.#serverName;
    this.#info = info ?? this.#info;
    this.#instructions = instructions;
    this.#offers = offers;
  }

  /** The server is another one now: what it offers may have changed. */
  restarted(): void {
    this.#tools.startAnew();
    for (const what of this.#offers) this.#changed(what);
  }

  /** Other contracts may hide other tools. */
  toolsChanged(): void {
    if (this.#offers.includes('tools')) this.#changed('tools');
  }

  #changed(what: string): void {
    const method = `notifications/${what}/list_changed`;
    const change = { kind: 'notification', method, params: {} } as const;
    if (!this.#modernMeta) return void this.#options.toClient(change, null);
    this.#spread(change);
  }

  /** Hands a change to the modern requests that await it. False: it is no change. */
  #spread({ method, params }: Notification): boolean {
    if (!isChange(method)) return false;
    for (const { request } of this.#open.values()) {
      if (!isListening(request, method, params)) continue;
      const _meta = { ...fieldsOf(params._meta), [subscriptionKey]: request.id };
      this.#options.toClient({ kind: 'notification', method, params: { ...params, _meta } }, request.id);
    }
    return true;
  }

  #listTools(message: Request | Notification): void {
    const { kind, params } = message;
    const isModern = this.#modernMeta && kind === 'request';
    this.#toServer(isModern ? { ...message, params: { ...params, _meta: this.#modernMeta } } : message);
  }

  /** Ends what waits for people. */
  close(): void {
    this.#tools.close();
    for (const { cancelled } of this.#open.values()) cancelled.abort(new Error('the session ended'));
  }

  #toServer(message: Message): void {
    this.#server?.send(message);
  }

  #notified(message: Notification): void {
    // A call without an id would run, and its refusal would reach nobody.
    if (message.method === 'tools/call') return;
    if (message.method === 'notifications/cancelled') {
      const id = message.params.requestId as Id;
      const open = this.#open.get(id);
      if (open?.request.method === 'tools/call') {
        const isAtServer = open.onAnswer !== null;
        open.cancelled.abort(new Error('the client cancelled the call'));
        if (!isAtServer) return;
      }
      if (open) this.#close(open);
    }
    this.#toServer(message);
    if (message.method === 'notifications/initialized') this.#tools.startAnew();
  }

  #requested(request: Request): void {
    const { toClient } = this.#options;
    const { id, method } = request;
    if (this.#open.has(id))
      return void toClient(failureOf(id, codes.invalid, 'a request with this id is already running'), id);
    if (this.#open.size >= maxOpen)
      return void toClient(
        failureOf(
          id,
          codes.server,
          `${maxOpen} requests are running, which is the limit; wait for one to end`,
        ),
        id,
      );
    // A server may make a task of a call by itself: its result would come past every contract.
    if (foldCase(method).startsWith('tasks/')) return void this.#handleTaskRequest(request);
    const era = this.#eraOf(request);
    if (!era) return void toClient(unsupported(request), id);
    if (method === 'initialize') this.#greeted(request);
    const open: Open = { request, era, cancelled: new AbortController(), onAnswer: null };
    this.#open.set(id, open);
    const token = fieldsOf(request.params._meta).progressToken;
    if (token !== undefined) this.#tokens.set(token as Id, id);
    if (method === 'tools/call') void this.#call(open);
    else this.#toServer(method === 'initialize' ? greetingOf(request) : request);
  }

  async #handleTaskRequest(request: Request): Promise<void> {
    const { toClient, tasks, writeLog = () => {} } = this.#options;
    const isServed = versionOf(request) !== null && this.#eraOf(request)?.isModern === true;
    toClient(await answerTaskRequest((isServed && tasks?.tasks) || null, request, writeLog), request.id);
  }

  /** Runs a call that goes on without its client. */
  async runTask(task: TaskCall): Promise<Response> {
    const { record, signal } = task;
    const request = taskRequestOf(record);
    const era = this.#eraOf(request) ?? eraOf(request);
    const open: Open = { request, era, cancelled: new AbortController(), onAnswer: null };
    const cancel = (): void => {
      const isEnd = signal.reason instanceof ProxyEndedError;
      // A task of the server's own is cancelled by its id.
      const isCall = open.onAnswer !== null && record.serverTask === null;
      if (isCall && !isEnd) this.#toServer(cancelledTask(record, request));
      open.cancelled.abort(signal.reason);
    };
    const send = async (upstream: Request): Promise<Response> => {
      this.#open.set(request.id, open);
      return this.#atServer(open, upstream);
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      if (signal.aborted) cancel();
      signal.throwIfAborted();
      const call = { request, era, send, signal, openRounds: null };
      return await new JudgedCall(this.#callPorts, call, task).run();
    } catch (failure) {
      return answerOf(failure, era, request.id);
    } finally {
      signal.removeEventListener('abort', cancel);
      this.#close(open);
      this.#answered();
    }
  }

  cancelTask(record: TaskRecord): void {
    this.#toServer(cancelledTask(record, taskRequestOf(record)));
  }

  /** Null: the request names a revision that the proxy does not serve. */
  #eraOf(request: Request): Era | null {
    const era = eraOf(this.#isGreeted ? { ...request, params: {} } : request);
    if (era.isModern) {
      this.#modernMeta = era.meta(request);
      return era;
    }
    return this.#isGreeted || versionOf(request) === null ? era : null;
  }

  #close(open: Open): void {
    const { id, params } = open.request;
    // The id may be another request's by now.
    if (this.#open.get(id) !== open) return;
    const token = fieldsOf(params._meta).progressToken;
    if (token !== undefined) this.#tokens.delete(token as Id);
    this.#open.delete(id);
  }

  /** After the answer was handed on. */
  #answered(): void {
    if (!this.isBusy) this.#options.onIdle?.();
  }

  #greeted({ params }: Request): void {
    this.#clientName = nameIn(params.clientInfo);
    this.#asking.greet(params.capabilities, this.#clientName);
  }

  async #call(open: Open): Promise<void> {
    const { id } = open.request;
    const { signal } = open.cancelled;
    let answer: Response;
    const send = (upstream: Request): Promise<Response> => this.#atServer(open, upstream);
    const callQuestions = open.era.isModern ? null : this.#questions.begin(id);
    try {
      const openRounds = callQuestions?.rounds ?? null;
      answer = await new JudgedCall(this.#callPorts, { ...open, openRounds, send, signal }).run();
    } catch (failure) {
      answer = answerOf(failure, open.era, id);
    }
    callQuestions?.end();
    this.#close(open);
    // Nobody waits for the answer of a call that was cancelled.
    if (!signal.aborted) this.#options.toClient(answer, id);
    this.#answered();
  }

  get #callPorts(): CallPorts {
    const { guard, sessionId, sessionMeta, pins, rounds, place, tasks } = this.#options;
    return {
      ...{ guard, sessionId, sessionMeta, pins, rounds, place, asking: this.#asking },
      tasks: tasks && {
        canAsk: tasks.tasks.canAsk,
        isFor: (request) => tasks.tasks.isFor(request),
        create: (draft) => tasks.tasks.create(draft, tasks.runner),
      },
      wait: (ms, signal) => sleep(this.#options.clock, ms, signal),
      names: () => ({ server: this.#serverName, client: this.#clientName }),
      checkNames: ({ name, args, request }: ToolCall) =>
        checkCallNames({ guard, pins, tools: this.#tools }, name, args, request.id),
    };
  }

  #atServer(open: Open, request: Request): Promise<Response> {
    const { signal } = open.cancelled;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const abort = (): void => reject(signal.reason);
      open.onAnswer = (answer) => {
        signal.removeEventListener('abort', abort);
        resolve(answer);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#toServer(request);
    });
  }

  #relatedTo(message: Message): Id | null {
    if (message.kind !== 'notification' || message.method !== 'notifications/progress') return null;
    return this.#tokens.get(message.params.progressToken as Id) ?? null;
  }

  #adjusted({ request: { method }, era }: Open, answer: Response): Response {
    if (answer.error) return answer;
    if (method === 'initialize' || (era.isModern && method === 'server/discover'))
      return this.#introduced(era, answer);
    return method === 'tools/list' ? visibleList(era, answer, this.#options, this.#tools) : answer;
  }

  #introduced(era: Era, answer: Response): Response {
    this.introduced(answer.result);
    if (!era.isModern) {
      this.#isGreeted = true;
      this.#modernMeta = null;
    }
    return introductionOf(era, answer, this.#options.pins, this.#options.tasks?.tasks ?? null);
  }
}
