// One client's session with an MCP server under a guard: judges the calls of tools, hides what is refused anyway, hands
// everything else on.
import { denialResult, type McpResult, mcpRunOptions } from '../../adapters/mcp-result.ts';
import type { Clock } from '../../clock.ts';
import { DeniedError } from '../../guard/call.ts';
import type { Guard } from '../../guard/guard.ts';
import { foldCase } from '../../rules/fold.ts';
import { refusalName, type ToolPinSession } from '../../tools/tool-pins.ts';
import { AskingClient } from './asking.ts';
import type { McpServer } from './connection.ts';
import {
  codes,
  failureOf,
  type Id,
  type Message,
  MessageError,
  type Notification,
  type Request,
  type Response,
  type RpcError,
  toolCallOf,
} from './message.ts';
import { findAmbiguousName } from './names.ts';
import { ToolList } from './tool-list.ts';

export interface SessionOptions {
  readonly guard: Guard;
  readonly clock: Clock;
  /** Leaves tools out of `tools/list` that contracts refuse whatever the arguments. */
  readonly hide: boolean;
  /** Judges the definitions of tools; null: none. */
  readonly pins: ToolPinSession | null;
  /** Over the guard's own session. */
  readonly sessionId?: string;
  /** @param related the request of the client that the message belongs to; null: none that is known */
  readonly toClient: (message: Message, related: Id | null) => void;
  /** Told whenever no request of the client is under way any more. */
  readonly onIdle?: () => void;
  /** For people. */
  readonly told?: (text: string) => void;
}

/** Age of a list of tools after which a call makes the proxy list them again; milliseconds. */
const listAge = 60_000;
/** Requests of a client that are under way. */
const maxOpen = 1000;

/** A call that the server answered with an error: contracts see its text as they see a result's. */
class CallError extends Error {
  readonly answer: Response;

  constructor(answer: Response, { message, data }: RpcError) {
    super(data === undefined ? message : `${message} ${JSON.stringify(data)}`);
    this.name = 'CallError';
    this.answer = answer;
  }
}

interface Open {
  readonly request: Request;
  readonly cancelled: AbortController;
  /** Set while the server works on a governed call. */
  onAnswer: ((answer: Response) => void) | null;
}

type Fields = { readonly [name: string]: unknown };
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

export class McpSession {
  readonly #options: SessionOptions;
  readonly #asking: AskingClient;
  readonly #open = new Map<Id, Open>();
  readonly #tokens = new Map<Id, Id>();
  readonly #tools: ToolList;
  #server: McpServer | null = null;
  #clientName = 'the client';
  #serverName = 'server';
  /** Lists that the server has. */
  #offers: readonly string[] = [];
  #instructions: unknown;
  #info: { readonly name: string; readonly version: string } | null = null;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#asking = new AskingClient(options.clock, options.toClient);
    const { clock, pins, told = () => {} } = options;
    const listed = pins
      ? (tools: readonly unknown[]) =>
          pins.observe({ tools, instructions: this.#instructions, info: this.#info })
      : undefined;
    this.#tools = new ToolList({
      ...{ clock, told, send: (request: Request) => this.#toServer(request) },
      ...(listed ? { listed } : {}),
    });
  }

  /** Where messages of the client go. */
  attach(server: McpServer): void {
    this.#server = server;
  }

  /** Calls under way. */
  get size(): number {
    return this.#open.size;
  }

  fromClient(message: Message): void {
    if (message.kind === 'response') {
      if (!this.#asking.take(message)) this.#toServer(message);
    } else if (message.kind === 'notification') this.#notified(message);
    else this.#requested(message);
  }

  fromServer(message: Message): void {
    const { toClient } = this.#options;
    if (message.kind !== 'response') {
      if (message.method === 'notifications/tools/list_changed') this.#tools.refresh();
      return void toClient(message, this.#relatedTo(message));
    }
    if (this.#tools.take(message)) return;
    const open = this.#open.get(message.id);
    // One that was cancelled is awaited by nobody.
    if (!open) return;
    if (open.onAnswer) return void open.onAnswer(message);
    // The server answers a call that it was not sent: nobody has judged that.
    if (open.request.method === 'tools/call') return;
    if (this.#options.pins && open.request.method === 'tools/list') return void this.#listed(open, message);
    this.#close(open);
    toClient(this.#adjusted(open.request, message), message.id);
    this.#answered();
  }

  /** The client gets a list when the proxy has seen one, so that what is accepted as first seen is in it. */
  async #listed(open: Open, answer: Response): Promise<void> {
    await this.#tools.ready().catch(() => {});
    this.#close(open);
    this.#options.toClient(this.#adjusted(open.request, answer), answer.id);
    this.#answered();
  }

  /** The server is another one now: what it offers may have changed. */
  restarted(): void {
    this.#tools.refresh();
    for (const what of this.#offers) this.#changed(what);
  }

  /** Other contracts may hide other tools. */
  toolsChanged(): void {
    if (this.#offers.includes('tools')) this.#changed('tools');
  }

  #changed(what: string): void {
    const method = `notifications/${what}/list_changed`;
    this.#options.toClient({ kind: 'notification', method, params: {} }, null);
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
    // A call without an id would run, and nobody could be told that it was refused.
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
    if (message.method === 'notifications/initialized') this.#tools.refresh();
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
    if (foldCase(method).startsWith('tasks/'))
      return void toClient(
        failureOf(id, codes.invalid, 'tasks are refused, because contracts cannot govern them'),
        id,
      );
    if (method === 'initialize') this.#greeted(request);
    const open: Open = { request, cancelled: new AbortController(), onAnswer: null };
    this.#open.set(id, open);
    const token = fieldsOf(request.params._meta).progressToken;
    if (token !== undefined) this.#tokens.set(token as Id, id);
    if (method === 'tools/call') void this.#call(open);
    else this.#toServer(request);
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
    if (this.#open.size === 0) this.#options.onIdle?.();
  }

  #greeted({ params }: Request): void {
    const { name } = fieldsOf(params.clientInfo);
    if (typeof name === 'string') this.#clientName = name.slice(0, 128);
    this.#asking.greet(params.capabilities, this.#clientName);
  }

  async #call(open: Open): Promise<void> {
    const { id } = open.request;
    const { signal } = open.cancelled;
    let answer: Response;
    try {
      answer = await this.#judged(open);
    } catch (failure) {
      if (failure instanceof CallError) answer = failure.answer;
      else if (failure instanceof DeniedError)
        answer = { kind: 'response', id, result: denialResult(failure.message) };
      else if (failure instanceof MessageError) answer = failureOf(id, failure.code, failure.message);
      else if (failure instanceof TypeError) answer = failureOf(id, codes.params, failure.message);
      else
        answer = failureOf(id, codes.internal, failure instanceof Error ? failure.message : String(failure));
    }
    this.#close(open);
    // Nobody waits for the answer of a call that was cancelled.
    if (!signal.aborted) this.#options.toClient(answer, id);
    this.#answered();
  }

  async #judged(open: Open): Promise<Response> {
    const { guard, sessionId } = this.#options;
    const { signal } = open.cancelled;
    const { name, args, request, progressToken } = toolCallOf(open.request);
    await this.#checkNames(name, args, request.id);
    signal.throwIfAborted();
    const { verdict, reason } = this.#options.pins?.judge(name) ?? { verdict: 'allowed', reason: null };
    const asked = { id: request.id, progressToken, tool: name };
    let given: Response | null = null;
    const result = await guard.run(
      name,
      args,
      async () => {
        given = await this.#atServer(open, request);
        if (given.error) throw new CallError(given, given.error);
        return given.result as McpResult;
      },
      {
        ...mcpRunOptions,
        signal,
        refusal: verdict === 'allowed' ? null : { name: refusalName, reason: reason ?? refusalName },
        metadata: { mcp: { server: this.#serverName, client: this.#clientName } },
        approvals: (own) => this.#asking.approvals(own, asked),
        ...(sessionId === undefined ? {} : { sessionId }),
      },
    );
    const untouched = given as Response | null;
    return untouched && untouched.result === result
      ? untouched
      : { kind: 'response', id: request.id, result };
  }

  /** @throws MessageError for a name that another reader may take for a name that is judged; TypeError as a guard */
  async #checkNames(tool: string, args: object, id: Id): Promise<void> {
    const { pins } = this.#options;
    // Where nothing is refused, the call does not wait for the list.
    const isOld = pins !== null && this.#tools.isOlderThan(listAge);
    if (isOld && pins.mode !== 'observe') this.#tools.refresh();
    await this.#tools.ready();
    if (isOld && pins.mode === 'observe') this.#tools.refresh();
    const wrong = (what: string, name: string, meant: string): MessageError => {
      const reason = `${what} ${JSON.stringify(name)} is refused, because the server may read it as ${JSON.stringify(meant)}`;
      return new MessageError(codes.params, reason, id);
    };
    const otherTool = this.#tools.toolInOtherCase(tool);
    if (otherTool !== null) throw wrong('the tool', tool, otherTool);
    const paths = this.#options.guard.argumentPaths(tool);
    const ambiguous = findAmbiguousName(args, paths, this.#tools.schemaOf(tool));
    if (ambiguous) throw wrong('the argument', ambiguous.name, ambiguous.meant);
  }

  #atServer(open: Open, request: Request): Promise<Response> {
    const { signal } = open.cancelled;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      open.onAnswer = resolve;
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#toServer(request);
    });
  }

  #relatedTo(message: Message): Id | null {
    if (message.kind !== 'notification' || message.method !== 'notifications/progress') return null;
    return this.#tokens.get(message.params.progressToken as Id) ?? null;
  }

  #adjusted({ method }: Request, answer: Response): Response {
    if (answer.error) return answer;
    if (method === 'initialize') return this.#introduced(answer);
    const { tools } = fieldsOf(answer.result);
    const { hide, pins } = this.#options;
    if (method !== 'tools/list' || !Array.isArray(tools) || (!hide && !pins)) return answer;
    const permitted = pins ? pins.visible(tools, () => this.#tools.refresh()) : tools;
    if (!hide && permitted.length === tools.length) return answer;
    const visibleTools = permitted.filter((tool) => {
      const { name } = fieldsOf(tool);
      return !hide || typeof name !== 'string' || !this.#options.guard.refusesAlways(name);
    });
    return { kind: 'response', id: answer.id, result: { ...fieldsOf(answer.result), tools: visibleTools } };
  }

  /** The server's introduction, with what the proxy changes: no calls as tasks, and lists of tools that may change. */
  #introduced(answer: Response): Response {
    const result = fieldsOf(answer.result);
    const { tasks, ...capabilities } = fieldsOf(result.capabilities);
    const { name, version } = fieldsOf(result.serverInfo);
    if (typeof name === 'string') {
      this.#serverName = name.slice(0, 128);
      this.#info = {
        name: name.slice(0, 256),
        version: typeof version === 'string' ? version.slice(0, 256) : '',
      };
    }
    this.#instructions = result.instructions;
    const { pins } = this.#options;
    const isSilenced =
      typeof result.instructions === 'string' && pins?.permits(result.instructions) === false;
    this.#offers = ['tools', 'resources', 'prompts'].filter((list) => capabilities[list] !== undefined);
    if (this.#offers.length === 0 && tasks === undefined && !isSilenced) return answer;
    // Every list may change: with other contracts, or when the server is started again.
    const lists = Object.fromEntries(
      this.#offers.map((list) => [list, { ...fieldsOf(capabilities[list]), listChanged: true }]),
    );
    return {
      kind: 'response',
      id: answer.id,
      result: {
        ...result,
        ...(isSilenced ? { instructions: undefined } : {}),
        capabilities: { ...capabilities, ...lists },
      },
    };
  }
}
