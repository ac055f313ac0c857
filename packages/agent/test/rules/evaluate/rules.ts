// Small bundles for the evaluation tests, written as YAML text.
import {
  type CompiledBundle,
  compileBundle,
  type EngineOptions,
} from '../../../src/rules/evaluate/compile.ts';

export const bundleOf = (contracts: string, top = ''): string =>
  `apiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: test}\ndefaults: {mode: enforce}\n${top}\ncontracts:\n${contracts}\n`;

/** One pre contract `c` on every tool with this condition. */
export const preOf = (when: string, message = 'stop'): string =>
  bundleOf(
    `  - {id: c, type: pre, tool: "*", when: ${when}, then: {effect: deny, message: ${JSON.stringify(message)}}}`,
  );

export function compiled(yaml: string, options: EngineOptions = {}): CompiledBundle {
  const result = compileBundle(yaml, options);
  if (!result.ok) throw new Error(result.problems.map((problem) => problem.message).join('\n'));
  return result.bundle;
}

export const always = 'when: {tool.name: {exists: true}}';

/** One pre contract on every tool that always fires, with `rest` among its keys. */
export const pre = (id: string, rest = '', effect = 'deny'): string =>
  `  - {id: ${id}, type: pre, tool: "*", ${rest} ${always}, then: {effect: ${effect}, message: "${id} says {args.x}", tags: [t-${id}]}}\n`;

export const call = { tool: 't', args: { x: 'hello' } };

export const counters = (attempts: number, executions = 0, toolExecutions = 0) => ({
  attempts,
  executions,
  toolExecutions,
});
