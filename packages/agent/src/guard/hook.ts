// Before-hooks: code of the agent's own that may deny a call before any contract is asked.
import { kindOf } from '../options.ts';
import type { HookEvaluated, Principal } from '../record.ts';
import type { ToolArgs } from './call.ts';

/** The call as hooks see it. The arguments are a frozen copy of those that the tool will get. */
export interface HookCall {
  /** The name of the tool. */
  readonly tool: string;
  readonly args: ToolArgs;
  /** Of the call, or else of the guard. */
  readonly environment: string;
  /** The person behind the call; null if there is none. */
  readonly principal: Principal | null;
  /** As the call was given it; empty by default. */
  readonly metadata: { readonly [name: string]: unknown };
  /** The folder the tool runs in; null when the caller gave none. */
  readonly cwd: string | null;
}

/** Nothing or true: allowed. False or a reason: denied. Any other value, such as a text, denies as a failure does. */
export type HookAnswer = undefined | null | boolean | { readonly deny: string };

/**
 * The reason of a denial; null: the call is allowed.
 * @param asker who answered, for the reason of a plain false and for messages: `hook working-hours`
 * @throws TypeError for a value that is no answer: a mistake in code must not let the call run
 */
export function denialIn(answer: unknown, asker: string): string | null {
  if (answer === undefined || answer === null || answer === true) return null;
  if (answer === false) return `Denied by ${asker}.`;
  const { deny } = Object(answer) as { readonly deny?: unknown };
  if (typeof answer === 'object' && typeof deny === 'string') return deny;
  const kind = typeof answer === 'object' && !Array.isArray(answer) ? 'another object' : kindOf(answer);
  throw new TypeError(
    `the answer of ${asker} must be nothing, true, false or { deny: 'the reason' }, but is ${kind}`,
  );
}

/** Code that is asked before any contract. One that throws denies the call. */
export interface BeforeHook {
  /** A glob of tool names; default `*`. */
  readonly tool?: string;
  /** Default: the function's own name. */
  readonly name?: string;
  /** The hook only runs when this holds. */
  readonly when?: (call: HookCall) => boolean;
  /** Is awaited. The call runs only when every hook allows it. */
  readonly run: (call: HookCall) => HookAnswer | Promise<HookAnswer>;
}

export interface HookOutcome {
  readonly evaluated: readonly HookEvaluated[];
  /** Null: no hook objects. */
  readonly denied: { readonly name: string; readonly reason: string; readonly policyError: boolean } | null;
}

/** Asks the hooks in order until one denies. A hook that throws denies. */
export async function askHooks(
  hooks: readonly BeforeHook[],
  call: HookCall,
  matches: (pattern: string, tool: string) => boolean,
): Promise<HookOutcome> {
  const evaluated: HookEvaluated[] = [];
  for (const hook of hooks) {
    if (!matches(hook.tool ?? '*', call.tool)) continue;
    const name = hook.name ?? (hook.run.name || 'hook');
    let reason: string | null = null;
    let policyError = false;
    try {
      if (hook.when && !hook.when(call)) continue;
      reason = denialIn(await hook.run(call), `hook ${name}`);
    } catch (failure) {
      reason = `Hook error: ${failure instanceof Error ? failure.message : String(failure)}`;
      policyError = true;
    }
    evaluated.push({ name, result: reason === null ? 'allow' : 'deny', reason });
    if (reason !== null) return { evaluated, denied: { name, reason, policyError } };
  }
  return { evaluated, denied: null };
}
