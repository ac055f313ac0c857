// Tools of an MCP server under a guard: one gate where the server looks up who answers `tools/call`. Typed by shape:
// the SDK's package is not needed here. The gate refuses servers and calls that it cannot govern.
import { DeniedError, type Governs, type RunOptions } from '../guard/call.ts';
import { aFunction, type Checks, checkOptions } from '../options.ts';
import { RoundStateError } from '../rounds/round-state.ts';
import type { Rounds } from '../rounds/rounds.ts';
import { maxServerLabel } from '../rules/tools/definition.ts';
import { McpListings } from './mcp-listings.ts';
import { denialResult, type McpResult, mcpRunOptions } from './mcp-result.ts';
import { McpRound, serverRounds } from './mcp-rounds.ts';

/** A server of the MCP SDK: its `McpServer`, or its low-level `Server`. */
export type McpServerLike =
  | { registerTool(name: string, config: never, handler: never): unknown }
  | { setRequestHandler(schema: never, handler: never): unknown };

/** Options for governing the calls of the server's tools. All are optional. */
export interface McpGuardOptions {
  /** For every call, made from the arguments and the SDK's `extra`. */
  readonly call?: (args: object, extra: unknown) => RunOptions<McpResult>;
  /**
   * 32 bytes that seal the state of calls that ask their user (revision 2026-07-28). Several processes that serve one
   * address need the same. Default: random, so that a restart ends such calls.
   */
  readonly stateKey?: Uint8Array;
  /** The label under which a guard with a hub reports the server's tools. Default: the name of the server. */
  readonly server?: string;
}

const stateKeyBytes = 32;
const checks: Checks<McpGuardOptions> = {
  call: aFunction,
  stateKey: (value) =>
    value instanceof Uint8Array && value.length === stateKeyBytes
      ? null
      : `a Uint8Array of ${stateKeyBytes} bytes`,
  server: (value) =>
    typeof value === 'string' && value !== '' && value.length <= maxServerLabel
      ? null
      : `a text of 1 to ${maxServerLabel} characters`,
};

type Handler = (...args: unknown[]) => unknown;
type Fields = { [name: string]: unknown };

/** The request of a `tools/call`, as far as it is looked at. */
interface ToolRequest {
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly arguments?: unknown; readonly task?: unknown };
}

const guarded = new WeakSet<object>();

/**
 * Puts every tool of the server under the guard, however it is registered, now or later: by `tool`, `registerTool`,
 * `update` or `setRequestHandler`. Tools of `McpServer` are judged by the arguments that their input schema has read,
 * handlers of the low-level server by those that the client sent. A denial is a result with `isError`. Tools that run
 * as tasks are refused. A tool that asks its user (`input_required`) and its retries are one call.
 * @returns the same server
 * @throws TypeError for a value that is no server of the MCP SDK 1 or 2, and for a server that is guarded already. Also
 *   for an `McpServer` that answers `tools/call` already: guard it before its first tool is registered
 */
export function guardServer<S extends McpServerLike>(
  guard: Governs,
  server: S,
  options: McpGuardOptions = {},
): S {
  checkOptions(options, checks);
  const own = server as unknown as Fields;
  const isHigh = typeof own.registerTool === 'function';
  const low = (isHigh ? own.server : own) as Fields;
  const handlers = low?._requestHandlers;
  if (!(handlers instanceof Map) || (isHigh && typeof own._registeredTools !== 'object')) {
    throw new TypeError(
      'guardServer needs an McpServer or a Server of @modelcontextprotocol/sdk 1 or @modelcontextprotocol/server 2',
    );
  }
  if (guarded.has(low)) throw new TypeError('the server already has a guard');
  if (isHigh && handlers.has('tools/call')) {
    throw new TypeError(
      'guard an McpServer before you register its first tool, and omit `tools` from its capabilities: the McpServer adds them',
    );
  }
  guarded.add(low);
  const gate = new Gate(guard, options);
  if (isHigh) gate.overHighLevel(own, handlers);
  gate.overHandlers(low, handlers);
  return server;
}

class Gate {
  readonly #guard: Governs;
  readonly #options: McpGuardOptions;
  readonly #rounds: Rounds;
  /** The round of each request under way, by its signal. */
  readonly #current = new WeakMap<AbortSignal, McpRound>();
  /** Registered tools whose handler is governed by itself, with the arguments as their schema has read them. */
  readonly #tools = new WeakSet<object>();
  /** The handler of `tools/call` that McpServer brings itself. */
  #own: unknown = null;
  #registered: () => Fields = () => ({});

  constructor(guard: Governs, options: McpGuardOptions) {
    this.#guard = guard;
    this.#options = options;
    this.#rounds = serverRounds(guard, options.stateKey);
  }

  overHighLevel(server: Fields, handlers: Map<unknown, unknown>): void {
    this.#registered = () => server._registeredTools as Fields;
    for (const method of ['tool', 'registerTool']) {
      const register = server[method];
      if (typeof register !== 'function') continue;
      server[method] = (name: string, ...rest: unknown[]): unknown => {
        const before = handlers.has('tools/call');
        const tool: unknown = register.call(server, name, ...rest);
        // The first tool makes McpServer install its handler; one that somebody else installed is judged like any
        // other.
        if (!before) this.#own = Map.prototype.get.call(handlers, 'tools/call');
        this.#overTool(name, tool);
        return tool;
      };
    }
    const tasks = (server.experimental as { readonly tasks?: Fields } | undefined)?.tasks;
    if (tasks) {
      tasks.registerToolTask = () => {
        throw new TypeError(
          'a guarded server cannot have tools that run as tasks, because contracts cannot judge their results',
        );
      };
    }
  }

  /** Every look-up of the handler of `tools/call` returns a governed one, and so does the fallback handler. */
  overHandlers(low: Fields, handlers: Map<unknown, unknown>): void {
    const listings = new McpListings(low, (listing) => {
      const { server = listing.info?.name.slice(0, maxServerLabel) || 'server' } = this.#options;
      this.#guard.reportTools?.(server, listing);
    });
    const get = (method: unknown): unknown => {
      const handler: unknown = Map.prototype.get.call(handlers, method);
      if (typeof handler !== 'function') return handler;
      if (method === 'tools/call') return this.#gated(handler as Handler);
      return method === 'tools/list' ? listing(handler as Handler, listings) : handler;
    };
    Object.defineProperty(handlers, 'get', { value: get });
    let fallback = low.fallbackRequestHandler;
    Object.defineProperty(low, 'fallbackRequestHandler', {
      get: () => (typeof fallback === 'function' ? this.#fallback(fallback as Handler) : fallback),
      set: (next: unknown) => {
        fallback = next;
      },
    });
  }

  #fallback(handler: Handler): Handler {
    const gated = this.#gated(handler);
    return (request, ...rest) =>
      ((request as ToolRequest).method === 'tools/call' ? gated : handler)(request, ...rest);
  }

  #gated(handler: Handler): Handler {
    return async (request, extra) => {
      const { name, arguments: args = {}, task } = (request as ToolRequest).params ?? {};
      if (typeof name !== 'string' || typeof args !== 'object' || args === null || Array.isArray(args)) {
        throw protocolError('tools/call needs a name, and an object of arguments');
      }
      if (task !== undefined) throw protocolError('this server does not run tools as tasks');
      const round = await this.#begin(name, args, extra);
      const signal = signalOf(extra);
      if (signal) this.#current.set(signal, round);
      const context = round.contextOf(extra);
      const tool = Object.hasOwn(this.#registered(), name) ? this.#registered()[name] : undefined;
      const isOwn = handler === this.#own && this.#tools.has(tool as object);
      try {
        const result = isOwn
          ? await handler(request, context)
          : await this.#run(name, args, context, () => handler(request, context));
        return await round.answer(result);
      } catch (failure) {
        throw failure instanceof RoundStateError ? protocolError(failure.message) : failure;
      } finally {
        round.end();
      }
    };
  }

  /** A retry that may not go on is recorded as a refused call, and nothing runs. */
  async #begin(name: string, args: object, extra: unknown): Promise<McpRound> {
    const session = (): string => this.#ownOptions(args, extra).sessionId ?? '';
    try {
      return await McpRound.begin(this.#rounds, { tool: name, args, session }, extra);
    } catch (failure) {
      if (!(failure instanceof RoundStateError)) throw failure;
      const refusal = { name: 'request_state', reason: failure.message };
      await this.#guard
        .run<object, McpResult>(name, args, () => ({}), { ...this.#ownOptions(args, extra), refusal })
        .catch(() => {});
      throw protocolError(failure.message);
    }
  }

  /** A registered tool, also after it was renamed or given another handler. */
  #overTool(first: string, registered: unknown): void {
    const tool = registered as Fields;
    // SDK 2 runs what it made of the handler; SDK 1 the handler, or what it called so before.
    const property =
      ['executor', 'handler', 'callback'].find((one) => typeof tool?.[one] === 'function') ?? 'handler';
    if (typeof tool?.[property] !== 'function' || typeof tool.update !== 'function') {
      throw new TypeError(
        'guardServer does not support this version of the MCP SDK: it cannot find the tool handlers',
      );
    }
    let name = first;
    let handler = this.#toolHandler(() => name, tool[property] as Handler);
    Object.defineProperty(tool, property, {
      enumerable: true,
      get: () => handler,
      set: (next: unknown) => {
        if (typeof next !== 'function')
          throw new TypeError('the handler of a guarded tool must be a function');
        handler = this.#toolHandler(() => name, next as Handler);
      },
    });
    const update = tool.update as Handler;
    tool.update = (changes: { readonly name?: unknown }) => {
      const result = update(changes);
      if (typeof changes.name === 'string') name = changes.name;
      return result;
    };
    this.#tools.add(tool);
  }

  #toolHandler(name: () => string, handler: Handler): Handler {
    return (...handlerArgs) => {
      // Without an input schema the SDK calls handler(extra).
      const [args, extra] =
        handlerArgs.length > 1 ? [(handlerArgs[0] ?? {}) as object, handlerArgs[1]] : [{}, handlerArgs[0]];
      return this.#run(name(), args, extra, () => handler(...handlerArgs));
    };
  }

  async #run(name: string, args: object, extra: unknown, call: () => unknown): Promise<unknown> {
    const signal = signalOf(extra);
    const round = signal && this.#current.get(signal);
    const runTool = async (): Promise<McpResult> => {
      await round?.use();
      return (await call()) as McpResult;
    };
    try {
      return await this.#guard.run(name, args, runTool, {
        ...mcpRunOptions,
        ...(round ? { rounds: round.optionsOf(extra) } : {}),
        ...(signal ? { signal } : {}),
        ...this.#ownOptions(args, extra),
      });
    } catch (failure) {
      if (!(failure instanceof DeniedError)) throw failure;
      return denialResult(failure.message);
    }
  }

  #ownOptions(args: object, extra: unknown): RunOptions<McpResult> {
    return this.#options.call?.(args, extra) ?? {};
  }
}

/** The handler of `tools/list`, which reports the listed tools. A failed report fails no listing. */
const listing =
  (handler: Handler, listings: McpListings): Handler =>
  async (request, ...rest) => {
    const result = await handler(request, ...rest);
    try {
      listings.take(request, result);
    } catch {
      // The SDK refuses to send what is no JSON.
    }
    return result;
  };

/** Ends with the request: in `extra` of SDK 1, in its `mcpReq` in SDK 2. */
const signalOf = (extra: unknown): AbortSignal | undefined => {
  const { signal, mcpReq } = (extra ?? {}) as {
    readonly signal?: AbortSignal;
    readonly mcpReq?: { readonly signal?: AbortSignal };
  };
  return signal ?? mcpReq?.signal;
};

/** Answered as JSON-RPC's "invalid params". */
const protocolError = (message: string): Error => Object.assign(new Error(message), { code: -32602 });
