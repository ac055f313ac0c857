// The rule engine in the browser: the same code that the hub and the agents run. Loaded with the pages that need it.
import { readBundle } from '../../../packages/agent/src/rules/bundle/document.ts';
import { lintBundle } from '../../../packages/agent/src/rules/bundle/lint.ts';
import { parseYaml, stringifyYaml } from '../../../packages/agent/src/rules/yaml.ts';
import type { EditorProblem } from '../ui/editor-view.tsx';

/** Problems and findings of a whole document, in its order. */
export function problemsOf(text: string): readonly EditorProblem[] {
  const read = readBundle(text, { maxDocuments: 10 });
  if (!read.ok) {
    return read.problems.map(({ line, column, message }) => ({
      line,
      column,
      message,
      severity: 'error' as const,
    }));
  }
  return lintBundle(read).map(({ line, column, message, severity, suggestion }) => ({
    line,
    column,
    severity,
    message: suggestion === null ? message : `${message} Did you mean ${suggestion}?`,
  }));
}

const indent = 4;

/**
 * A contract alone, as the head of the bundle that it would be in; its own lines follow. What it says itself is not
 * said twice.
 */
function headOf(id: string, type: string, text: string): readonly string[] {
  const says = (key: string): boolean => new RegExp(`^${key}\\s*:`, 'm').test(text);
  return [
    'apiVersion: service/v1',
    'kind: ContractBundle',
    'metadata: { name: one-contract-alone }',
    'defaults: { mode: enforce }',
    'contracts:',
    '  -',
    ...(says('id') ? [] : [`    id: ${JSON.stringify(id === '' ? 'new-contract' : id)}`]),
    ...(says('type') ? [] : [`    type: ${type}`]),
  ];
}

/** A contract alone, as a bundle. */
export const bundleOfContract = (id: string, type: string, text: string): string =>
  [
    ...headOf(id, type, text),
    ...text.split('\n').map((line) => (line.trim() === '' ? '' : ' '.repeat(indent) + line)),
  ].join('\n');

/** Problems of a contract's definition, at the places of its own text. */
export function problemsOfContract(id: string, type: string, text: string): readonly EditorProblem[] {
  const head = headOf(id, type, text);
  return problemsOf(bundleOfContract(id, type, text)).map((problem) => ({
    ...problem,
    line: Math.max(1, problem.line - head.length),
    column: Math.max(1, problem.column - indent),
  }));
}

/** A definition as YAML. */
export const definitionText = (definition: object): string => stringifyYaml(definition);

/** The definition that a text says; null when it is no mapping. */
export function definitionOf(text: string): { readonly [name: string]: unknown } | null {
  try {
    const value = parseYaml(text)[0]?.value;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
