// Tools of an MCP server under a guard. Typed by shape: the SDK's package is not needed here.
import { DeniedError, type Governs, type RunOptions } from '../guard/call.ts';
import { aFunction, type Checks, checkOptions } from '../options.ts';

/** The part of an MCP server that registers tools. */
export interface McpServerLike {
  registerTool(name: string, config: never, handler: never): unknown;
}

/** What a tool handler answers. */
export interface McpResult {
  readonly content?: readonly {
    readonly type: string;
    readonly text?: string;
    readonly resource?: { readonly text?: string };
  }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

export interface McpGuardOptions {
  /** For every call, made from the arguments and the SDK's `extra`. */
  readonly call?: (args: object, extra: unknown) => RunOptions<McpResult>;
}

const checks: Checks<McpGuardOptions> = { call: aFunction };

type Handler = (...given: unknown[]) => unknown;

/**
 * The server, with every tool registered through the returned object governed. A denial is a result with `isError`. Tools registered
 * on the server itself, before or after, are not governed.
 */
export function guardServer<S extends McpServerLike>(
  guard: Governs,
  server: S,
  options: McpGuardOptions = {},
): S {
  checkOptions(options, checks);
  const registerTool = (
    name: string,
    config: { readonly inputSchema?: unknown },
    handler: Handler,
  ): unknown => {
    const hasInput = config?.inputSchema !== undefined;
    const registered = server.registerTool(
      name,
      config as never,
      governed(guard, name, hasInput, handler, options) as never,
    );
    return governedUpdates(registered, (next) => governed(guard, name, hasInput, next, options));
  };
  return new Proxy(server, {
    get(target, property) {
      if (property === 'registerTool') return registerTool;
      const value: unknown = Reflect.get(target, property, target);
      // Methods of a class with private fields work on the server itself only.
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A registered tool can be given another handler later: that one is governed too. */
function governedUpdates(registered: unknown, wrap: (handler: Handler) => Handler): unknown {
  const tool = registered as { update?: (changes: { callback?: Handler }) => unknown } | null | undefined;
  if (typeof tool !== 'object' || tool === null || typeof tool.update !== 'function') return registered;
  const update = tool.update.bind(tool);
  tool.update = (changes) =>
    update(changes.callback ? { ...changes, callback: wrap(changes.callback) } : changes);
  return registered;
}

function governed(
  guard: Governs,
  name: string,
  hasInput: boolean,
  handler: Handler,
  options: McpGuardOptions,
): Handler {
  return async (...given) => {
    // Without an input schema the SDK calls handler(extra).
    const args = (hasInput ? given[0] : {}) as object;
    const rest = hasInput ? given.slice(1) : given;
    const signal = (rest[0] as { readonly signal?: AbortSignal } | undefined)?.signal;
    try {
      return await guard.run(
        name,
        args,
        async (seen) => (await (hasInput ? handler(seen, ...rest) : handler(...rest))) as McpResult,
        {
          success: (result) => result?.isError !== true,
          outputText: textOf,
          replaceText: (result, text) => ({
            ...withoutStructure(result),
            content: [{ type: 'text', text }],
          }),
          ...(signal ? { signal } : {}),
          ...options.call?.(args, rest[0]),
        },
      );
    } catch (failure) {
      if (!(failure instanceof DeniedError)) throw failure;
      return { isError: true, content: [{ type: 'text', text: `Denied: ${failure.message}` }] };
    }
  };
}

function textOf(result: McpResult): string {
  const parts = (result?.content ?? [])
    .map((part) => part.text ?? part.resource?.text)
    .filter((text) => text !== undefined);
  if (result?.structuredContent !== undefined) parts.push(JSON.stringify(result.structuredContent));
  return parts.join('\n');
}

/** Replaced text has no structure any more; without `isError` the SDK would insist on it. */
function withoutStructure(result: McpResult): McpResult {
  const { structuredContent, ...rest } = result;
  return structuredContent === undefined ? rest : { ...rest, isError: true };
}
