// Tools of the Vercel AI SDK under a guard. Typed by shape: the SDK's package is not needed here.
import { DeniedError, type Governs, type RunOptions } from '../guard/call.ts';
import { ResultReplacedError } from '../guard/output.ts';
import { aFunction, type Checks, checkOptions, oneOf } from '../options.ts';

/** A tool object of the AI SDK. Tools without `execute` run elsewhere and are left as they are. */
export interface AiTool {
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
}

export interface AiGuardOptions {
  /** For every call, made from the input and the SDK's own options. */
  readonly call?: (input: unknown, options: unknown) => RunOptions<unknown>;
  /** A denial is returned to the model as text (default), or thrown. */
  readonly onDeny?: 'return' | 'throw';
}

const checks: Checks<AiGuardOptions> = { call: aFunction, onDeny: oneOf('return', 'throw') };

type Execute = (input: unknown, options: unknown) => unknown;

/**
 * The same tools, each call governed. A tool that yields preliminary results gives its last one only, because post contracts
 * see whole results.
 * @throws TypeError naming an option that cannot be
 */
export function guardTools<T extends { readonly [name: string]: AiTool }>(
  guard: Governs,
  tools: T,
  options: AiGuardOptions = {},
): T {
  checkOptions(options, checks);
  const entries = Object.entries(tools).map(([name, tool]): [string, AiTool] => {
    if (!tool.execute) return [name, tool];
    return [name, { ...tool, execute: governed(guard, name, tool.execute.bind(tool) as Execute, options) }];
  });
  return Object.fromEntries(entries) as T;
}

function governed(guard: Governs, name: string, execute: Execute, options: AiGuardOptions): Execute {
  return async (input, own) => {
    const signal = (own as { readonly abortSignal?: AbortSignal } | undefined)?.abortSignal;
    const given = { ...(signal ? { signal } : {}), ...options.call?.(input, own) };
    try {
      // Input that is no object still has to be seen by the rules.
      if (typeof input !== 'object' || input === null || Array.isArray(input)) {
        return await guard.run(name, { input }, async (args) => whole(await execute(args.input, own)), given);
      }
      return await guard.run(name, input, async (args) => whole(await execute(args, own)), given);
    } catch (failure) {
      // A model reads text as well as anything else.
      if (failure instanceof ResultReplacedError) return failure.text;
      if (!(failure instanceof DeniedError) || options.onDeny === 'throw') throw failure;
      return `Denied: ${failure.message}`;
    }
  };
}

async function whole(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const part of result as AsyncIterable<unknown>) last = part;
  return last;
}
