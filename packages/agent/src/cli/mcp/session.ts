// One client's session with an MCP server under a guard: judges the calls of tools, hides what is refused anyway, hands
// everything else on.
import { denialResult, type McpResult, mcpRunOptions } from '../../adapters/mcp-result.ts';
import type { Clock } from '../../clock.ts';
import { DeniedError } from '../../guard/call.ts';
import type { Guard } from '../../guard/guard.ts';
import { foldCase } from '../../rules/fold.ts';
import { AskingClient } from './asking.ts';
import type { McpServer } from './connection.ts';
import { clientNameOf, type Era, eraOf, modernVersion, serverNameOf, versionOf } from './era.ts';
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
  /** Over the guard's own session. */
  readonly sessionId?: string;
  /** @param related the request of the client that the message belongs to; null: none that is known */
  readonly toClient: (message: Message, related: Id | null) => void;
  /** Told whenever no request of the client is under way any more. */
  readonly onIdle?: () => void;
  /** For people. */
  readonly told?: (text: string) => void;
}

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
  readonly era: Era;
  readonly cancelled: AbortController;
  /** Set while the server works on a governed call. */
  onAnswer: ((answer: Response) => void) | null;
}

type Fields = { readonly [name: string]: unknown };
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

/** True for the open request of a modern client that awaits changes of this list. */
const isListening = ({ method, params }: Request, list: string): boolean =>
  method === 'subscriptions/listen' && fieldsOf(params.notifications)[`${list}ListChanged`] === true;

export class McpSession {
  readonly #options: SessionOptions;
  readonly #asking: AskingClient;
  readonly #open = new Map<Id, Open>();
  readonly #tokens = new Map<Id, Id>();
  readonly #tools: ToolList;
  #server: McpServer | null = null;
  #clientName = 'the client';
  #serverName = 'server';
  /** The client has made its handshake. */
  #isGreeted = false;
  /** What the client's last modern request says of itself; null: there was none. */
  #modernMeta: Fields | null = null;
  /** Lists that the server has. */
  #offers: readonly string[] = [];

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#asking = new AskingClient(options.clock, options.toClient);
    const { clock, told = () => {} } = options;
    this.#tools = new ToolList({ clock, told, send: (request) => this.#listTools(request) });
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
    this.#close(open);
    toClient(this.#adjusted(open, message), message.id);
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
    const { toClient } = this.#options;
    if (!this.#modernMeta) return void toClient({ kind: 'notification', method, params: {} }, null);
    for (const { request } of this.#open.values()) {
      if (!isListening(request, what)) continue;
      const params = { _meta: { [subscriptionKey]: request.id } };
      toClient({ kind: 'notification', method, params }, request.id);
    }
  }

  #listTools(request: Request): void {
    const { params } = request;
    this.#toServer(
      this.#modernMeta ? { ...request, params: { ...params, _meta: this.#modernMeta } } : request,
    );
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
    const era = this.#eraOf(request);
    if (!era) return void toClient(unsupported(request), id);
    if (method === 'initialize') this.#greeted(request);
    const open: Open = { request, era, cancelled: new AbortController(), onAnswer: null };
    this.#open.set(id, open);
    const token = fieldsOf(request.params._meta).progressToken;
    if (token !== undefined) this.#tokens.set(token as Id, id);
    if (method === 'tools/call') void this.#call(open);
    else this.#toServer(request);
  }

  /** Null: the request names a revision that the proxy does not serve. */
  #eraOf(request: Request): Era | null {
    const era = eraOf(this.#isGreeted ? { ...request, params: {} } : request);
    if (era.isModern) {
      this.#modernMeta = era.meta(request);
      this.#clientName = clientNameOf(request)?.slice(0, 128) ?? this.#clientName;
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
        answer = { kind: 'response', id, result: open.era.encode(denialResult(failure.message)) };
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
    const { era } = open;
    const retry = era.retryMember(open.request);
    if (retry !== null) {
      const reason = `${retry} belongs to no call that the proxy knows`;
      throw new MessageError(codes.params, reason, open.request.id);
    }
    const { name, args, request, progressToken } = toolCallOf(open.request, era.meta(open.request));
    await this.#checkNames(name, args, request.id);
    signal.throwIfAborted();
    const asked = { id: request.id, progressToken, tool: name };
    let given: Response | null = null;
    const result = await guard.run(
      name,
      args,
      async () => {
        given = await this.#atServer(open, request);
        if (given.error) throw new CallError(given, given.error);
        const reason = era.unendedReason(given.result);
        if (reason !== null) throw unended(given, era, reason);
        return era.decode(given.result) as McpResult;
      },
      {
        ...mcpRunOptions,
        signal,
        metadata: { mcp: { server: this.#serverName, client: this.#clientName } },
        approvals: (own) => this.#asking.approvals(own, asked),
        ...(sessionId === undefined ? {} : { sessionId }),
      },
    );
    const untouched = given as Response | null;
    return untouched && untouched.result === result
      ? untouched
      : { kind: 'response', id: request.id, result: era.encode(result) };
  }

  /** @throws MessageError for a name that another reader may take for a name that is judged; TypeError as a guard */
  async #checkNames(tool: string, args: object, id: Id): Promise<void> {
    await this.#tools.ready();
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

  #adjusted({ request: { method }, era }: Open, answer: Response): Response {
    if (answer.error) return answer;
    if (method === 'initialize' || (era.isModern && method === 'server/discover'))
      return this.#introduced(era, answer);
    const list = fieldsOf(answer.result);
    if (method !== 'tools/list' || !Array.isArray(list.tools)) return answer;
    if (!era.isModern && !this.#options.hide) return answer;
    const tools = this.#options.hide ? list.tools.filter((tool) => this.#isShown(tool)) : list.tools;
    return { kind: 'response', id: answer.id, result: era.encodeList({ ...list, tools }) };
  }

  #isShown(tool: unknown): boolean {
    const { name } = fieldsOf(tool);
    return typeof name !== 'string' || !this.#options.guard.refusesAlways(name);
  }

  /** The server's introduction, with what the proxy changes: no calls as tasks, and lists of tools that may change. */
  #introduced(era: Era, answer: Response): Response {
    const result = fieldsOf(answer.result);
    const { tasks, ...capabilities } = fieldsOf(result.capabilities);
    const { name = serverNameOf(result) } = fieldsOf(result.serverInfo);
    if (typeof name === 'string') this.#serverName = name.slice(0, 128);
    if (!era.isModern) {
      this.#isGreeted = true;
      this.#modernMeta = null;
    }
    this.#offers = ['tools', 'resources', 'prompts'].filter((list) => capabilities[list] !== undefined);
    if (!era.isModern && this.#offers.length === 0 && tasks === undefined) return answer;
    // Every list may change: with other contracts, or when the server is started again.
    const lists = Object.fromEntries(
      this.#offers.map((list) => [list, { ...fieldsOf(capabilities[list]), listChanged: true }]),
    );
    return {
      kind: 'response',
      id: answer.id,
      result: era.encodeDiscovery(result, { ...capabilities, ...lists }),
    };
  }
}

/** A request of a revision that the proxy does not serve. */
const unsupported = (request: Request): Response => ({
  kind: 'response',
  id: request.id,
  error: {
    code: codes.unsupportedVersion,
    message: 'Unsupported protocol version',
    data: { supported: [modernVersion], requested: versionOf(request) },
  },
});

/** A result that ends no call, as an error that the model can read. */
function unended({ id }: Response, era: Era, reason: string): CallError {
  const result = era.encode({ isError: true, content: [{ type: 'text', text: reason }] });
  return new CallError({ kind: 'response', id, result }, { code: codes.server, message: reason });
}
