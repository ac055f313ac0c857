// Tools of the Vercel AI SDK under a guard. Typed by shape: the SDK's package is not needed here.
import type { Governs, RunOptions } from '../guard/call.ts';
import { aFunction, type Checks, checkOptions, oneOf } from '../options.ts';
import { checkAiTool, manyResultsError } from './ai-shape.ts';
import { isRefusal, type Refusal, refusalOf, refusalText } from './refusal.ts';

/** A tool object of the AI SDK. Tools without `execute` run elsewhere and are left as they are. */
export interface AiTool {
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
}

/** Options for governing the calls of these tools. All are optional. */
export interface AiGuardOptions {
  /** For every call, made from the input and the SDK's own options. */
  readonly call?: (input: unknown, options: unknown) => RunOptions<unknown>;
  /**
   * `return` (default): a refused call ends with a `Refusal` instead of the tool's result, and the model reads why.
   * `throw`: it throws DeniedError or ResultReplacedError, which the SDK makes a tool error of.
   */
  readonly onDeny?: 'return' | 'throw';
  /**
   * Of a tool that yields (`async *execute`), whose intermediate results no contract judges. `all` (default): such a
   * tool is refused. `last`: it gives its last result alone.
   */
  readonly results?: 'all' | 'last';
}

const checks: Checks<AiGuardOptions> = {
  call: aFunction,
  onDeny: oneOf('return', 'throw'),
  results: oneOf('all', 'last'),
};

type Json = null | string | number | boolean | { [name: string]: Json | undefined } | Json[];
type ModelOutput = { type: 'text' | 'error-text'; value: string } | { type: 'json'; value: Json };
type Result<R> = R extends AsyncIterable<infer One> ? One : Awaited<R>;
type OwnModelOutput<T> = T extends { toModelOutput?: (...args: never) => infer M } ? Awaited<M> : never;

/** A tool whose result can be a refusal. */
export type GuardedAiTool<T> = T extends { readonly execute?: infer E }
  ? E extends (input: infer I, options: infer O) => infer R
    ? Omit<T, 'execute' | 'toModelOutput' | 'outputSchema'> & {
        execute: (input: I, options: O) => Promise<Result<R> | Refusal>;
        toModelOutput: (value: unknown) => Promise<ModelOutput | OwnModelOutput<T>>;
      }
    : T
  : T;
/** The tools by name, each as `GuardedAiTool` makes it. */
export type GuardedAiTools<T> = { [K in keyof T]: GuardedAiTool<T[K]> };

type Execute = (input: unknown, options: unknown) => unknown;
type ToModelOutput = (value: unknown) => unknown;

/**
 * The same tools, each call governed; the tools given stay ungoverned themselves.
 * @throws TypeError naming an option that cannot be, or a tool that has not the shape of the AI SDK's: one of Mastra
 *   (`createTool`), an instance of a class, one that runs by another function, one that yields several results
 */
export function guardTools<T extends { readonly [name: string]: AiTool }>(
  guard: Governs,
  tools: T,
  options: AiGuardOptions & { readonly onDeny: 'throw' },
): T;
export function guardTools<T extends { readonly [name: string]: AiTool }>(
  guard: Governs,
  tools: T,
  options?: AiGuardOptions,
): GuardedAiTools<T>;
export function guardTools(
  guard: Governs,
  tools: { readonly [name: string]: AiTool & { readonly toModelOutput?: unknown } },
  options: AiGuardOptions = {},
): unknown {
  checkOptions(options, checks);
  const { results = 'all' } = options;
  const entries = Object.entries(tools).map(([name, tool]) => {
    checkAiTool(name, tool, results);
    if (!tool.execute) return [name, tool];
    const execute = governed(guard, name, tool.execute.bind(tool) as Execute, options);
    if (options.onDeny === 'throw') return [name, { ...tool, execute }];
    const { toModelOutput } = tool;
    const own = typeof toModelOutput === 'function' ? (toModelOutput.bind(tool) as ToModelOutput) : null;
    return [name, { ...tool, execute, toModelOutput: modelOutput(own) }];
  });
  return Object.fromEntries(entries);
}

function governed(guard: Governs, name: string, execute: Execute, options: AiGuardOptions): Execute {
  const whole = options.results === 'last' ? lastOf : single;
  function single(result: unknown): unknown {
    if (isIterable(result)) throw manyResultsError(name);
    return result;
  }
  return async (input, own) => {
    const signal = (own as { readonly abortSignal?: AbortSignal } | undefined)?.abortSignal;
    const callOptions = { ...(signal ? { signal } : {}), ...options.call?.(input, own) };
    try {
      // Input that is no object still has to be seen by the rules.
      if (typeof input !== 'object' || input === null || Array.isArray(input)) {
        return await guard.run(
          name,
          { input },
          async (args) => whole(await execute(args.input, own)),
          callOptions,
        );
      }
      return await guard.run(name, input, async (args) => whole(await execute(args, own)), callOptions);
    } catch (failure) {
      if (options.onDeny === 'throw') throw failure;
      return refusalOf(failure);
    }
  };
}

/** Text for the model: the reason of a refusal; else the output that the tool, or the SDK, makes from a result. */
function modelOutput(own: ToModelOutput | null): ToModelOutput {
  return async (parameters) => {
    // AI SDK 5 hands over the output itself, later ones an object that holds it.
    const isCall =
      typeof parameters === 'object' &&
      parameters !== null &&
      'toolCallId' in parameters &&
      'output' in parameters;
    const output = isCall ? parameters.output : parameters;
    if (isRefusal(output)) return { type: 'error-text', value: refusalText(output) };
    if (own) return own(parameters);
    if (typeof output === 'string') return { type: 'text', value: output };
    return { type: 'json', value: output ?? null };
  };
}

const isIterable = (result: unknown): result is AsyncIterable<unknown> =>
  typeof result === 'object' && result !== null && Symbol.asyncIterator in result;

async function lastOf(result: unknown): Promise<unknown> {
  if (!isIterable(result)) return result;
  let last: unknown;
  for await (const part of result) last = part;
  return last;
}
