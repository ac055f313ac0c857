// Tools and agents of the OpenAI Agents SDK under a guard. Typed by shape: the SDK's package is not needed here.
import { isObject } from '../fields.ts';
import type { Governs, RunOptions } from '../guard/call.ts';
import { aFunction, type Checks, checkOptions } from '../options.ts';
import { refusalOf, refusalText } from './refusal.ts';

/** A tool of the SDK. `function` tools are governed, `hosted_tool` ones run at the provider, all others are refused. */
export interface OpenAiTool {
  readonly type: string;
  readonly name?: string;
}

/** An agent of the SDK, as far as its tools go. */
export interface OpenAiAgentLike {
  getAllTools(runContext: never, ...more: never[]): Promise<unknown>;
}

/** Options for governing the calls of these tools. All are optional. */
export interface OpenAiGuardOptions {
  /** For every call, made from the arguments and the SDK's run context. */
  readonly call?: (args: object, runContext: unknown) => RunOptions<unknown>;
}

const checks: Checks<OpenAiGuardOptions> = { call: aFunction };

type Invoke = (runContext: unknown, input: string, details?: { readonly signal?: AbortSignal }) => unknown;

interface FunctionTool {
  readonly name: string;
  invoke: Invoke;
  readonly outputSchema?: unknown;
  readonly errorFunction?: ((runContext: unknown, failure: unknown, details: unknown) => unknown) | null;
}

/** The guard of each tool and agent that has one. */
const guards = new WeakMap<object, Governs>();

/**
 * Puts function tools under the guard, in place: whoever holds such a tool calls it governed. The rules see the
 * arguments as the model sent them. A refused call answers with its reason as text. If the tool has an output schema,
 * the refusal goes to the tool's error function, or throws.
 * @returns the same tools
 * @throws TypeError for a tool that runs in this process and is no function tool (a computer, a shell, an editor). Also
 *   for a tool under another guard
 */
export function guardOpenAiTools<T extends readonly OpenAiTool[]>(
  guard: Governs,
  tools: T,
  options: OpenAiGuardOptions = {},
): T {
  checkOptions(options, checks);
  for (const tool of tools) governTool(guard, tool, options);
  return tools;
}

/**
 * Puts all tools of an agent under the guard, in place: its function tools, other agents as tools, and those of its MCP
 * servers. Agents that it hands over to have guards of their own, or none.
 * @returns the same agent
 * @throws TypeError as `guardOpenAiTools`, when a run looks the tools up
 */
export function guardOpenAiAgent<A extends OpenAiAgentLike>(
  guard: Governs,
  agent: A,
  options: OpenAiGuardOptions = {},
): A {
  checkOptions(options, checks);
  if (!claim(guard, agent, 'agent')) return agent;
  const lookUp = agent.getAllTools.bind(agent) as (...args: unknown[]) => Promise<OpenAiTool[]>;
  const fields = agent as { getAllTools: unknown; clone?: unknown };
  fields.getAllTools = async (...args: unknown[]) => {
    const tools = await lookUp(...args);
    for (const tool of tools) governTool(guard, tool, options);
    return tools;
  };
  const { clone } = fields;
  if (typeof clone === 'function') {
    fields.clone = (...args: unknown[]) =>
      guardOpenAiAgent(guard, clone.apply(agent, args) as OpenAiAgentLike, options);
  }
  return agent;
}

function governTool(guard: Governs, ungoverned: OpenAiTool, options: OpenAiGuardOptions): void {
  if (ungoverned.type === 'hosted_tool') return;
  const tool = ungoverned as unknown as FunctionTool;
  if (ungoverned.type !== 'function' || typeof tool.invoke !== 'function') {
    throw new TypeError(
      `a tool with the type ${ungoverned.type} runs outside the guard: use a function tool instead`,
    );
  }
  if (claim(guard, ungoverned, `tool ${tool.name}`))
    tool.invoke = governed(guard, tool, tool.invoke, options);
}

/** False when the guard has it already. @throws TypeError when another one has */
function claim(guard: Governs, owned: object, what: string): boolean {
  const owner = guards.get(owned);
  if (owner !== undefined && owner !== guard) throw new TypeError(`the ${what} already has another guard`);
  guards.set(owned, guard);
  return owner === undefined;
}

function governed(guard: Governs, tool: FunctionTool, invoke: Invoke, options: OpenAiGuardOptions): Invoke {
  return async (runContext, input, details) => {
    const args = argumentsOf(input);
    try {
      return await guard.run(tool.name, args, () => invoke.call(tool, runContext, input, details), {
        ...(details?.signal ? { signal: details.signal } : {}),
        ...options.call?.(args, runContext),
      });
    } catch (failure) {
      const refusal = refusalOf(failure);
      if (tool.outputSchema === undefined) return refusalText(refusal);
      if (!tool.errorFunction) throw failure;
      return tool.errorFunction(runContext, failure, details);
    }
  };
}

/** Rules also see input that is not the JSON of an object: it becomes the argument `input`. */
function argumentsOf(input: string): { readonly [name: string]: unknown } {
  let read: unknown;
  try {
    read = JSON.parse(input);
  } catch {
    return { input };
  }
  return isObject(read) ? read : { input: read };
}
