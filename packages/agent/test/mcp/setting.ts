// A client's session with the proxy's own parts, in one process: a scripted client before it, a scripted server behind
// it, a clock by hand.

import { McpServer } from '../../src/cli/mcp/connection.ts';
import {
  type Message,
  MessageError,
  type Request,
  type Response,
  readMessages,
  readServerMessages,
  textOf,
} from '../../src/cli/mcp/message.ts';
import type { ProxyParts } from '../../src/cli/mcp/proxy-parts.ts';
import { ProxyRounds } from '../../src/cli/mcp/rounds.ts';
import { McpSession } from '../../src/cli/mcp/session.ts';
import type { Clock } from '../../src/clock.ts';
import type { GuardOptions } from '../../src/guard/options.ts';
import { Guard } from '../../src/index.ts';
import { MemoryStates } from '../../src/rounds/large-states.ts';
import { RoundSeal } from '../../src/rounds/round-state.ts';
import { Rounds } from '../../src/rounds/rounds.ts';
import { MemoryNonces } from '../../src/rounds/used-nonces.ts';
import type { ToolPins } from '../../src/tools/tool-pins.ts';
import { ManualClock, until } from '../manual-clock.ts';

export type Json = { readonly [name: string]: unknown };

/** Rounds of calls that end with the process. */
export const memoryRounds = (clock: Clock): ProxyRounds => {
  const nonces = new MemoryNonces(clock);
  return new ProxyRounds(
    new Rounds({ seal: new RoundSeal(), nonces, states: new MemoryStates(clock), clock, server: 'test' }),
    clock,
  );
};

/** A proxy's parts that most tests have alike: no pins, no tasks, rounds in memory, a minute for questions. */
export const plainParts = (guard: Guard, clock: Clock): Omit<ProxyParts, 'connect'> => ({
  ...{ guard, clock, hide: false, pins: null, tasks: null },
  rounds: memoryRounds(clock),
  eras: { legacy: null, modern: null },
  inputTimeout: 60_000,
  writeLog: () => {},
});

/** Messages at the client, and at the server. */
export class Setting {
  readonly clock = new ManualClock();
  readonly guard: Guard;
  readonly session: McpSession;
  readonly server: McpServer;
  /** As JSON texts. */
  readonly got: Json[] = [];
  readonly atServer: Json[] = [];
  /** The same messages, as the server read them. */
  readonly textsAtServer: string[] = [];
  readonly told: string[] = [];
  /** The server's list when the proxy asks for itself; undefined: an error. */
  tools: readonly object[] | undefined = [];
  /** How often the proxy has asked. */
  listings = 0;
  /** How often the server was started. */
  starts = 0;
  /** Ends the running server. */
  end: (reason: string) => void = () => {};
  /** The server's answer; undefined: nothing, for now. */
  answer: (request: Request) => Partial<Response> | undefined;
  #say: (message: Message) => void = () => {};
  /** The server never lists its tools. */
  readonly #silentTools: boolean;

  constructor(
    yaml: string,
    answer: (request: Request) => Partial<Response> | undefined,
    options: GuardOptions & {
      readonly hide?: boolean;
      readonly silentTools?: boolean;
      readonly pins?: ToolPins;
    } = {},
  ) {
    const { hide = false, silentTools = false, pins, ...own } = options;
    this.#silentTools = silentTools;
    this.answer = answer;
    this.guard = Guard.fromYaml(yaml, { openTelemetry: null, ...own });
    this.session = new McpSession({
      guard: this.guard,
      clock: this.clock,
      hide,
      pins: pins?.session() ?? null,
      rounds: memoryRounds(this.clock),
      place: 'test',
      tasks: null,
      writeLog: (text) => this.told.push(text),
      toClient: (message) => this.got.push(JSON.parse(textOf(message))),
    });
    this.server = new McpServer(
      (events) => {
        this.starts += 1;
        this.end = events.ended;
        this.#say = events.message;
        return {
          send: (message) => {
            if (message.kind === 'request' && String(message.id).startsWith('reeve:tools:')) {
              return this.#list(message, events.message);
            }
            this.textsAtServer.push(textOf(message));
            this.atServer.push(JSON.parse(textOf(message)));
            const [read] = readMessages(textOf(message));
            if (read?.kind !== 'request') return;
            const answered = this.answer(read);
            if (answered)
              queueMicrotask(() => events.message({ kind: 'response', id: read.id, ...answered }));
          },
          close: async () => {},
        };
      },
      this.clock,
      {
        message: (message) => this.session.fromServer(message),
        restarted: () => this.session.restarted(),
        failed: (reason) => this.told.push(`failed: ${reason}`),
        writeLog: (text) => this.told.push(text),
      },
    );
    this.session.attach(this.server);
  }

  #list({ id }: Request, answer: (message: Message) => void): void {
    this.listings += 1;
    if (this.#silentTools) return;
    const { tools } = this;
    const error = { code: -32_601, message: 'no such method' };
    queueMicrotask(() => answer({ kind: 'response', id, ...(tools ? { result: { tools } } : { error }) }));
  }

  /** The client says something. */
  say(message: object): void {
    for (const one of readMessages(JSON.stringify({ jsonrpc: '2.0', ...message })))
      this.session.fromClient(one);
  }

  /** The client writes a text; an error is its answer. */
  sayText(text: string): void {
    try {
      for (const one of readMessages(text)) this.session.fromClient(one);
    } catch (failure) {
      if (!(failure instanceof MessageError)) throw failure;
      this.got.push({ id: failure.id, error: { code: failure.code, message: failure.message } });
    }
  }

  /** The server says something by itself. */
  serve(message: object): void {
    for (const one of readMessages(JSON.stringify({ jsonrpc: '2.0', ...message }))) this.#say(one);
  }

  /** The server writes a text. */
  write(text: string): void {
    for (const one of readServerMessages(text)) this.#say(one);
  }

  /** The answer to a request of the client, once it is there. */
  async answered(id: number | string): Promise<Json> {
    const find = (): Json | undefined => this.got.find((one) => one.id === id && one.method === undefined);
    await until(() => find() !== undefined, `an answer to ${id}`);
    return find() ?? {};
  }

  /** The first message to the client of this method, once it is there. */
  async heard(method: string): Promise<Json> {
    const find = (): Json | undefined => this.got.find((one) => one.method === method);
    await until(() => find() !== undefined, method);
    return find() ?? {};
  }

  call(id: number, name: string, args: object = {}, more: object = {}): void {
    this.say({ id, method: 'tools/call', params: { name, arguments: args, ...more } });
  }

  async greet(capabilities: object = {}): Promise<Json> {
    const params = {
      protocolVersion: '2025-06-18',
      capabilities,
      clientInfo: { name: 'tester', version: '1' },
    };
    this.say({ id: 'hello', method: 'initialize', params });
    return this.answered('hello');
  }
}

export const rules = (...contracts: string[]): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
tools: { read: { side_effect: read } }
contracts:
${contracts.map((one) => `  - ${one}\n`).join('')}`;

export const noEnv =
  '{ id: no-env, type: pre, tool: "*", when: { args.path: { contains: ".env" } }, then: { effect: deny, message: "secrets" } }';
