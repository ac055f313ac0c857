// The server behind the proxy as its client's era sees it (promise P69). The first message shows the client's era. The
// bridge asks the server in the same era first, and translates if the server rejects that era.
import { type Clock, sleep } from '../../clock.ts';
import { type Fields, fieldsOf } from '../../fields.ts';
import { type Connect, McpServer, type ServerEvents } from './connection.ts';
import { clientCapabilitiesKey, clientInfoKey, eraOf, modernVersion, versionKey } from './era.ts';
import { type ParamDeclaration, paramDeclarations } from './headers.ts';
import { LegacyClient } from './legacy-client.ts';
import { LegacyServer } from './legacy-server.ts';
import { codes, failureOf, type Id, type Message, type Request, type Response } from './message.ts';
import { ModernPassage } from './modern-passage.ts';
import { withValidTrace } from './trace.ts';
import {
  clientCapabilitiesOf,
  notification,
  Passage,
  request,
  type Translation,
  type Wire,
} from './translation.ts';

/** Eras of the server, as earlier connections have shown them. */
export interface ServerEras {
  /** False: the server has rejected the era; null: nothing is known. */
  legacy: boolean | null;
  modern: boolean | null;
}

export interface BridgeOptions {
  readonly connect: Connect;
  readonly clock: Clock;
  readonly eras: ServerEras;
  /** Milliseconds that a server's question may wait for the client's answer. */
  readonly inputTimeout: number;
  /** Several clients share the server. */
  readonly isShared: boolean;
}

/** Milliseconds for the answer to `server/discover`: older servers may ignore a request before the handshake. */
const probeTimeout = 10_000;
const maxQueued = 1000;
/** Capabilities for a server that several clients share; each request contains those of its own client. */
const allCapabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const ownInfo = { name: 'reeve-agent', version: '1' };

export interface BridgeEvents extends ServerEvents {
  /** Takes the server's introduction to the bridge itself, in either era. */
  introduced(result: Fields): void;
}

export class EraBridge {
  readonly #options: BridgeOptions;
  readonly #events: BridgeEvents;
  readonly #wire: Wire;
  #server: McpServer;
  #translation: Translation | null = null;
  /** Messages of the client while its first one is answered; null: none is. */
  #queue: Message[] | null = null;
  #isClientModern = false;
  /** Aborted when the client changes to the handshake: nothing from before may touch the next server. */
  #opening = new AbortController();
  /** The server may end for a request of the other era. */
  #isProbing = false;
  /** The end of a server that never answered and is not started again; null: none. */
  #failure: Response['error'] | null = null;
  #isClosed = false;
  /** Requests of the bridge, and the client's handshake, without an answer. */
  readonly #awaited = new Map<Id, (answer: Response) => void>();
  readonly #listRequests = new Set<Id>();
  readonly #declarations = new Map<string, readonly ParamDeclaration[]>();
  #count = 0;

  constructor(options: BridgeOptions, events: BridgeEvents) {
    this.#options = options;
    this.#events = events;
    const { clock, inputTimeout, isShared } = options;
    this.#wire = {
      ...{ clock, inputTimeout, isShared },
      toServer: (message) => this.#toServer(message),
      toClient: (message, related) => this.#toClient(message, related),
    };
    this.#server = this.#start();
  }

  get output(): McpServer['output'] {
    return this.#server.output;
  }

  send(message: Message): void {
    if (message.kind === 'request' && message.method === 'tools/list') this.#listRequests.add(message.id);
    if (message.kind === 'notification' && message.method === 'notifications/cancelled')
      this.#listRequests.delete(message.params.requestId as Id);
    const isGreeting = message.kind === 'request' && message.method === 'initialize';
    const isModern = message.kind === 'request' && eraOf(message).isModern;
    if (isGreeting && !isModern && this.#isClientModern && !this.#options.isShared) this.#startAnew();
    if (this.#translation) return void this.#translation.fromClient(message);
    if (this.#failure) {
      if (message.kind === 'request')
        this.#toClient({ kind: 'response', id: message.id, error: this.#failure }, message.id);
      return;
    }
    if (this.#queue) {
      if (this.#queue.length < maxQueued) return void this.#queue.push(message);
      if (message.kind === 'request')
        this.#toClient(failureOf(message.id, codes.server, 'too many requests wait'), message.id);
      return;
    }
    // Before the handshake, the server is the judge.
    if (message.kind !== 'request' || (!isModern && !isGreeting)) return void this.#toServer(message);
    this.#isClientModern = isModern;
    this.#queue = [message];
    void (isModern ? this.#openModern(message) : this.#openLegacy(message));
  }

  /** Arguments of the tool that its requests repeat in headers. */
  declarationsOf(tool: unknown): readonly ParamDeclaration[] {
    return this.#declarations.get(String(tool)) ?? [];
  }

  /** True while calls stay open at the server until their clients answer. */
  get hasHeldCalls(): boolean {
    return this.#translation?.hasHeldCalls ?? false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#translation?.close();
    await this.#server.close();
  }

  #start(): McpServer {
    const server: McpServer = new McpServer(this.#options.connect, this.#options.clock, {
      message: (message, related) => {
        if (server === this.#server) this.#fromServer(message, related);
      },
      restarted: () => {
        if (server !== this.#server) return;
        this.#translation?.restarted();
        this.#events.restarted();
      },
      failed: (reason) => {
        if (server === this.#server) this.#failed(reason);
      },
      writeLog: (text) => this.#events.writeLog(text),
    });
    return server;
  }

  /** The client changed to the handshake: the server must not know it from before. */
  #startAnew(): void {
    this.#opening.abort(new Error('the client changed to the handshake'));
    this.#opening = new AbortController();
    this.#isProbing = false;
    this.#awaited.clear();
    this.#translation?.close();
    this.#translation = null;
    this.#queue = null;
    this.#isClientModern = false;
    const old = this.#server;
    this.#server = this.#start();
    void old.close();
  }

  #failed(reason: string): void {
    if (this.#isProbing) this.#server = this.#start();
    const error = { code: codes.server, message: `the MCP server ${reason}` };
    const awaited = [...this.#awaited];
    this.#awaited.clear();
    for (const [id, resolve] of awaited) resolve({ kind: 'response', id, error });
    if (this.#isProbing) return;
    this.#failure = error;
    this.#events.failed(reason);
  }

  #fromServer(message: Message, related: Id | null): void {
    if (message.kind === 'response') {
      const resolve = this.#awaited.get(message.id);
      if (resolve) {
        this.#awaited.delete(message.id);
        return void resolve(message);
      }
    }
    if (this.#translation) this.#translation.fromServer(message, related);
    else this.#toClient(message, related);
  }

  #toServer(message: Message): void {
    const isCall = message.kind === 'request' && message.method === 'tools/call';
    this.#server.send(withValidTrace(message), isCall ? this.declarationsOf(message.params.name) : []);
  }

  #toClient(message: Message, related: Id | null): void {
    if (message.kind === 'response' && this.#listRequests.delete(message.id)) this.#learn(message.result);
    this.#events.message(message, related);
  }

  #learn(result: unknown): void {
    const { tools } = fieldsOf(result);
    for (const tool of Array.isArray(tools) ? tools : []) {
      const { name, inputSchema } = fieldsOf(tool);
      if (typeof name !== 'string') continue;
      const declarations = paramDeclarations(inputSchema);
      if (declarations.length > 0) this.#declarations.set(name, declarations);
      else this.#declarations.delete(name);
    }
  }

  #ask(method: string, params: Fields): Promise<Response> {
    this.#count += 1;
    return this.#await(request(`reeve:era:${this.#count}`, method, params));
  }

  #await(message: Request): Promise<Response> {
    return new Promise((resolve) => {
      this.#awaited.set(message.id, resolve);
      this.#toServer(message);
    });
  }

  /** The server's answer to `server/discover`; null: it does not speak the modern revision. */
  async #discover(meta: Fields): Promise<Fields | null> {
    const { clock } = this.#options;
    const { signal } = this.#opening;
    this.#isProbing = true;
    const late = new AbortController();
    const probe = this.#ask('server/discover', { _meta: meta });
    const answer = await Promise.race([
      // A server that names the revision as one of its own is asked again.
      probe.then((first) => (namesModern(first) ? this.#ask('server/discover', { _meta: meta }) : first)),
      sleep(clock, probeTimeout, AbortSignal.any([late.signal, signal])).then(
        () => null,
        () => null,
      ),
    ]);
    late.abort();
    if (signal.aborted) return null;
    this.#isProbing = false;
    const result = fieldsOf(answer?.result);
    const { supportedVersions } = result;
    return Array.isArray(supportedVersions) && supportedVersions.includes(modernVersion) ? result : null;
  }

  async #openLegacy(greeting: Request): Promise<void> {
    const { eras } = this.#options;
    let answer: Response | null = null;
    if (eras.legacy !== false) {
      answer = await this.#await(greeting);
      if (!answer.error) {
        eras.legacy = true;
        const passage = new Passage(this.#wire);
        this.#toClient(answer, greeting.id);
        return this.#open(passage, greeting);
      }
      if (this.#failure) return this.#giveUp(answer.error);
    }
    const { capabilities, clientInfo = ownInfo } = greeting.params;
    const discovery = await this.#discover(envelope(clientInfo, clientCapabilitiesOf(capabilities)));
    if (discovery) {
      eras.legacy = false;
      return this.#open(new LegacyClient(this.#wire, greeting, discovery));
    }
    eras.legacy = null;
    this.#giveUp(answer?.error ?? { code: codes.server, message: 'the MCP server does not answer' });
  }

  async #openModern({ params }: Request): Promise<void> {
    const { eras, isShared } = this.#options;
    const { signal } = this.#opening;
    const meta = fieldsOf(params._meta);
    const clientInfo = isShared ? ownInfo : (meta[clientInfoKey] ?? ownInfo);
    const capabilities = isShared ? allCapabilities : clientCapabilitiesOf(meta[clientCapabilitiesKey]);
    if (eras.modern !== false) {
      const own = envelope(clientInfo, capabilities);
      const discovery = await this.#discover(own);
      if (signal.aborted) return;
      if (discovery) {
        eras.modern = true;
        this.#events.introduced(discovery);
        return this.#open(new ModernPassage(this.#wire, fieldsOf(discovery.capabilities), own));
      }
    }
    const greeting = { protocolVersion: '2025-11-25', capabilities, clientInfo };
    const { result, error } = await this.#ask('initialize', greeting);
    if (signal.aborted) return;
    if (error) {
      eras.modern = null;
      return this.#giveUp(error);
    }
    eras.modern = false;
    this.#toServer(notification('notifications/initialized', {}));
    this.#events.introduced(fieldsOf(result));
    this.#open(new LegacyServer(this.#wire, fieldsOf(result)));
  }

  /** @param answered the message of the queue that has its answer already */
  #open(translation: Translation, answered: Request | null = null): void {
    if (this.#isClosed) return void translation.close();
    const queue = this.#queue ?? [];
    this.#queue = null;
    this.#translation = translation;
    for (const message of queue) if (message !== answered) translation.fromClient(message);
  }

  /** The next request of the client tries again. */
  #giveUp(error: NonNullable<Response['error']>): void {
    const queue = this.#queue ?? [];
    this.#queue = null;
    for (const message of queue)
      if (message.kind === 'request') this.#toClient({ kind: 'response', id: message.id, error }, message.id);
  }
}

const namesModern = ({ error }: Response): boolean => {
  const { supported } = fieldsOf(error?.data);
  return (
    error?.code === codes.unsupportedVersion && Array.isArray(supported) && supported.includes(modernVersion)
  );
};

/** The `_meta` of the proxy's own requests. */
const envelope = (clientInfo: unknown, capabilities: Fields): Fields => ({
  [versionKey]: modernVersion,
  [clientInfoKey]: clientInfo,
  [clientCapabilitiesKey]: capabilities,
});
