// The rule engine in the browser: the same code as in the hub and the agents. It loads with the pages that need it.
import { readBundle } from '../../../packages/agent/src/rules/bundle/document.ts';
import { lintBundle } from '../../../packages/agent/src/rules/bundle/lint.ts';
import { rulesetWords } from '../../../packages/agent/src/rules/bundle/vocabulary.ts';
import { parseYaml, stringifyYaml } from '../../../packages/agent/src/rules/yaml.ts';
import type { EditorProblem } from '../ui/editor-view.tsx';

/** Removes the position from a message, because the console displays the position before the message. */
const withoutPlace = (message: string): string => message.replace(/ \(line \d+, column \d+\)$/, '');

/** Selectors and operators that the tenant's agents register. */
export interface OwnWords {
  readonly selectors: readonly string[];
  readonly operators: readonly string[];
}

const builtIn: OwnWords = { selectors: [], operators: [] };

type Problem = EditorProblem & { readonly code: string | null };

/** Problems and findings of a complete document, in its order. */
export function problemsOf(text: string, words: OwnWords = builtIn): readonly Problem[] {
  const read = readBundle(text, { maxDocuments: 10, operators: words.operators });
  if (!read.ok) {
    return read.problems.map(({ line, column, message }) => ({
      line,
      column,
      message: withoutPlace(message),
      severity: 'error' as const,
      code: null,
    }));
  }
  return lintBundle(read, words).map(({ line, column, message, severity, code }) => ({
    line,
    column,
    severity,
    message: withoutPlace(message),
    code,
  }));
}

const indent = 4;

/** True for a definition in the words of rulesets, which the hub translates when it assembles a document. */
function hasRulesetWords(text: string): boolean {
  const { then, outside } = definitionOf(text) ?? {};
  const hasAction = typeof then === 'object' && then !== null && rulesetWords.effect in then;
  return hasAction || outside === rulesetWords.deny || outside === rulesetWords.approve;
}

/** The head of a bundle around a single contract, without the fields that the contract contains itself. */
function headOf(id: string, type: string, text: string): readonly string[] {
  const [kind, list] = hasRulesetWords(text) ? ['Ruleset', 'rules'] : ['ContractBundle', 'contracts'];
  const hasKey = (key: string): boolean => new RegExp(`^${key}\\s*:`, 'm').test(text);
  return [
    'apiVersion: service/v1',
    `kind: ${kind}`,
    'metadata: { name: one-contract-alone }',
    'defaults: { mode: enforce }',
    `${list}:`,
    '  -',
    ...(hasKey('id') ? [] : [`    id: ${JSON.stringify(id === '' ? 'new-contract' : id)}`]),
    ...(hasKey('type') ? [] : [`    type: ${type}`]),
  ];
}

/** A single contract as a bundle. */
export const bundleOfContract = (id: string, type: string, text: string): string =>
  [
    ...headOf(id, type, text),
    ...text.split('\n').map((line) => (line.trim() === '' ? '' : ' '.repeat(indent) + line)),
  ].join('\n');

/** Prefix of the contract's fields in messages about its bundle. */
const ownPath = /^(?:contract|rule) '[^']*': (?:contracts|rules)\[0\](?:\.|: )/;

/**
 * Problems of a contract's definition, at positions in its text. Several conditions in one mapping are no problem,
 * because the hub assembles them in a form that all clients read.
 */
export function problemsOfContract(
  id: string,
  type: string,
  text: string,
  words: OwnWords = builtIn,
): readonly EditorProblem[] {
  const head = headOf(id, type, text);
  const problems = problemsOf(bundleOfContract(id, type, text), words);
  return problems
    .filter(({ code }) => code !== 'several-conditions')
    .map(({ line, column, severity, message }) => ({
      severity,
      message: message.replace(ownPath, ''),
      line: Math.max(1, line - head.length),
      column: Math.max(1, column - indent),
    }));
}

/** A definition as YAML. */
export const definitionText = (definition: object): string => stringifyYaml(definition);

/** Parses a definition; null if the text is no mapping. */
export function definitionOf(text: string): { readonly [name: string]: unknown } | null {
  try {
    const value = parseYaml(text)[0]?.value;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
