// One sandbox and one call, for the tests of what leaves it.
import type { EngineOptions } from '../../../src/rules/evaluate/compile.ts';
import { evaluateCall } from '../../../src/rules/evaluate/live.ts';
import { bundleOf, compiled } from '../evaluate/rules.ts';

export interface Box extends EngineOptions {
  readonly tool?: string;
  /** The tools the sandbox names; default: all. */
  readonly tools?: string;
  readonly cwd?: string;
}

/** True if a call with these arguments leaves a sandbox written as YAML keys (`within: [/w]`). */
export function leaves(keys: string, args: Record<string, unknown>, box: Box = {}): boolean {
  const { tool = 't', tools = '"*"', cwd, ...engine } = box;
  const bundle = compiled(
    bundleOf(`  - {id: box, type: sandbox, tools: [${tools}], message: out, ${keys}}`),
    engine,
  );
  return evaluateCall(bundle, { tool, args, ...(cwd === undefined ? {} : { cwd }) }).verdict === 'deny';
}
