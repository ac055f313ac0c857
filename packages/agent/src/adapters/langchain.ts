// Tools of LangChain.js under a guard. Typed by shape: LangChain's packages are not needed here.
import { isObject } from '../fields.ts';
import type { Governs, RunOptions } from '../guard/call.ts';
import { aFunction, type Checks, checkOptions, oneOf } from '../options.ts';
import { type Refusal, refusalOf, refusalText } from './refusal.ts';

/** A tool of LangChain: `tool(…)`, DynamicTool, DynamicStructuredTool, or a class of one's own. */
export interface LangChainTool {
  readonly name: string;
  invoke(input: never, config?: never): unknown;
}

/** Options for governing the calls of these tools. All are optional. */
export interface LangChainGuardOptions {
  /** For every call, made from the arguments and LangChain's config. */
  readonly call?: (args: object, config: unknown) => RunOptions<unknown>;
  /**
   * `return` (default): the model reads the reason of a denial as the tool's answer, a ToolMessage with the status
   * `error` where the model called the tool. `throw`: DeniedError or ResultReplacedError.
   */
  readonly onDeny?: 'return' | 'throw';
}

const checks: Checks<LangChainGuardOptions> = { call: aFunction, onDeny: oneOf('return', 'throw') };

interface OwnConfig {
  readonly signal?: AbortSignal;
  readonly toolCall?: { readonly id?: string };
}
type Run = (input: unknown, runManager?: unknown, config?: OwnConfig) => unknown;
interface OwnTool {
  readonly name: string;
  readonly responseFormat?: string;
  func?: Run;
  _call?: Run;
}

const guards = new WeakMap<object, Governs>();

/**
 * Puts tools under the guard, in place: `invoke`, `call`, `batch`, `stream` and a ToolNode all run them governed. The
 * rules see the arguments as the tool's schema has read them. A tool that streams events gives its result only, because
 * post contracts see whole results.
 * @returns the same tools
 * @throws TypeError for a tool that cannot be governed: one that is no LangChain tool, or is under another guard
 */
export function guardLangChainTools<T extends readonly LangChainTool[]>(
  guard: Governs,
  tools: T,
  options: LangChainGuardOptions = {},
): T {
  checkOptions(options, checks);
  for (const sourceTool of tools) {
    const tool = sourceTool as unknown as OwnTool;
    const owner = guards.get(sourceTool);
    if (owner === guard) continue;
    if (owner) throw new TypeError(`the tool ${tool.name} already has another guard`);
    // _call of a dynamic tool runs its func, which other code may call directly.
    const property = typeof tool.func === 'function' ? 'func' : '_call';
    const run = tool[property];
    if (typeof run !== 'function') throw new TypeError(`${String(tool.name)} is not a LangChain tool`);
    guards.set(sourceTool, guard);
    let current = governed(guard, tool, run, options);
    Object.defineProperty(tool, property, {
      enumerable: true,
      get: () => current,
      set: (next: Run) => {
        current = governed(guard, tool, next, options);
      },
    });
  }
  return tools;
}

function governed(guard: Governs, tool: OwnTool, run: Run, options: LangChainGuardOptions): Run {
  return async (input, runManager, config) => {
    const args = isObject(input) ? input : { input };
    const pair = tool.responseFormat === 'content_and_artifact';
    try {
      return await guard.run(
        tool.name,
        args,
        async () => whole(await run.call(tool, input, runManager, config)),
        {
          ...(config?.signal ? { signal: config.signal } : {}),
          ...options.call?.(args, config),
        },
      );
    } catch (failure) {
      if (options.onDeny === 'throw') throw failure;
      const answer = await answerOf(refusalOf(failure), tool.name, config?.toolCall?.id);
      return pair ? [answer, null] : answer;
    }
  };
}

type MessageClass = new (fields: {
  readonly content: string;
  readonly artifact: null;
  readonly name: string;
  readonly status: 'error';
  readonly tool_call_id: string;
}) => object;

let messages: Promise<MessageClass | null> | null = null;

/** LangChain's own message; null where its package lies elsewhere, in a bundle for instance. */
function loadMessage(): Promise<MessageClass | null> {
  // Not a literal, so that neither compiler nor bundler insists on the package.
  const name = ['@langchain', 'core', 'messages'].join('/');
  messages ??= import(name).then(
    ({ ToolMessage }: { readonly ToolMessage: MessageClass }) => ToolMessage,
    () => null,
  );
  return messages;
}

/** Answer for the model. LangChain gives every text the status `success`, so a denial is a message of its own. */
async function answerOf(refusal: Refusal, name: string, callId: string | undefined): Promise<unknown> {
  const content = refusalText(refusal);
  const Message = refusal.refusal === 'denied' && callId ? await loadMessage() : null;
  if (!Message || !callId) return content;
  return new Message({ content, artifact: null, name, status: 'error', tool_call_id: callId });
}

/** Of a generator, what it returns. */
async function whole(result: unknown): Promise<unknown> {
  const next = (result as AsyncGenerator | null | undefined)?.next;
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  if (typeof next !== 'function') return result;
  const events = result as AsyncGenerator<unknown, unknown>;
  for (;;) {
    const { done, value } = await events.next();
    if (done) return value;
  }
}
