// Why a contract decided a stored call as it did: its conditions with the values in the call, and its lines in the
// document. Pure.
import type { CompiledBundle, EvaluatedCondition, YamlDocument } from 'reeve-agent/rules';
import type { JsonObject } from '../../contract/record.ts';
import type { EventCondition } from '../../event/record.ts';
import { isMapping } from '../../shared/json/mapping.ts';
import type { ReplayDecision } from '../record.ts';
import type { ReplayCall } from './replay-call.ts';
import { isUncertain, leavesOf, type OwnWords } from './replay-judge.ts';

export type Rule = CompiledBundle['document']['rules'][number];

/** A condition of the contract; `uncertain`: the stored call does not contain the whole value. */
export interface ExplainedCondition extends Omit<EventCondition, 'result'> {
  /** In the document, from 1; null: unknown. */
  readonly line: number | null;
  readonly result: EventCondition['result'] | 'uncertain';
}

export interface ExplainedContract {
  readonly id: string;
  /** Its lines in the document. */
  readonly yaml: string;
  /** From 1. */
  readonly firstLine: number;
}

export interface Explanation {
  /** Null: the document has no contract with this id. */
  readonly contract: ExplainedContract | null;
  /** At most 100. */
  readonly conditions: readonly ExplainedCondition[];
  /** The document's decision on the call; null if it depends on a value that the event does not contain. */
  readonly decision: ReplayDecision | null;
}

/** Lines of a contract that an explanation contains. */
const maxLines = 2_000;
/** Characters of them. */
const maxCharacters = 65_536;

type Path = readonly (string | number)[];

/** Paths to the comparisons of a written condition, in the order of `leavesOf`. */
function leafPaths(value: unknown, path: Path): readonly Path[] {
  if (!isMapping(value)) return [];
  const branch = Object.keys(value).find((key) => key === 'all' || key === 'any' || key === 'not');
  if (branch === 'not') return leafPaths(value.not, [...path, 'not']);
  if (branch !== undefined) {
    const nodes = value[branch];
    return Array.isArray(nodes) ? nodes.flatMap((node, i) => leafPaths(node, [...path, branch, i])) : [];
  }
  return Object.entries(value).flatMap(([selector, tests]) =>
    isMapping(tests) ? Object.keys(tests).map((operator) => [...path, selector, operator]) : [],
  );
}

interface Entry {
  readonly path: Path;
  readonly value: JsonObject;
}

function entryOf(document: YamlDocument, id: string): Entry | null {
  const { value } = document;
  if (!isMapping(value)) return null;
  const list = Array.isArray(value.contracts) ? 'contracts' : 'rules';
  const entries: unknown = value[list];
  if (!Array.isArray(entries)) return null;
  const index = entries.findIndex((entry) => isMapping(entry) && entry.id === id);
  const entry: unknown = entries[index];
  return isMapping(entry) ? { path: [list, index], value: entry } : null;
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** The lines of the contract with this id, without their common indentation; null if there is none. */
export function contractText(text: string, document: YamlDocument, id: string): ExplainedContract | null {
  const entry = entryOf(document, id);
  if (!entry) return null;
  const lines = text.split(/\r\n|\n|\r/);
  const firstLine = document.positionOf(entry.path).line;
  const first = lines[firstLine - 1] ?? '';
  const indent = indentOf(first);
  let end = firstLine;
  const isInside = (line: string): boolean => line.trim() === '' || indentOf(line) > indent;
  while (end < lines.length && end - firstLine < maxLines && isInside(lines[end] ?? '')) end += 1;
  const own = lines.slice(firstLine - 1, end).map((line) => line.slice(indent));
  return { id, yaml: own.join('\n').trimEnd().slice(0, maxCharacters), firstLine };
}

/** The line of each condition of `explained`, in its order. */
function linesOf(
  document: YamlDocument,
  rule: Rule,
  explained: readonly EvaluatedCondition[],
): readonly (number | null)[] {
  const entry = entryOf(document, rule.id);
  if (!entry) return explained.map(() => null);
  const lineOf = (path: Path): number => document.positionOf([...entry.path, ...path]).line;
  if (rule.type === 'pre' || rule.type === 'post') {
    const paths = leafPaths(entry.value.when, ['when']);
    return explained.map((_, i) => (paths.length === explained.length && paths[i] ? lineOf(paths[i]) : null));
  }
  return explained.map(({ path, operator }) =>
    lineOf(rule.type === 'session' ? path.split('.') : operator.split('.')),
  );
}

/** The conditions of a rule for a stored call, with their lines. */
export function explainedConditions(
  rule: Rule,
  {
    document,
    call,
    words,
    explain,
  }: {
    readonly document: YamlDocument;
    readonly call: ReplayCall;
    readonly words: OwnWords;
    /** Evaluates the conditions of a rule. */
    readonly explain: (rule: Rule) => readonly EvaluatedCondition[];
  },
): readonly ExplainedCondition[] {
  const whole = explain(rule);
  const doubtful = (one: EvaluatedCondition): boolean =>
    rule.type === 'session' || isUncertain({ selector: one.path, operator: one.operator }, call, words);
  const uncertain = whole.map(doubtful);
  // A condition without its value may have ended the evaluation too early: each of the others stands for itself.
  const isPartial = uncertain.includes(true) && (rule.type === 'pre' || rule.type === 'post');
  const alone = isPartial ? leavesOf(rule.when).flatMap((when) => explain({ ...rule, when })) : whole;
  const lines = linesOf(document, rule, whole);
  return (alone.length === whole.length ? alone : whole).map((condition, i) =>
    uncertain[i]
      ? {
          ...condition,
          line: lines[i] ?? null,
          actual: rule.type === 'session' ? null : condition.actual,
          result: 'uncertain',
        }
      : { ...condition, line: lines[i] ?? null },
  );
}

/** Recorded conditions with the lines of the same conditions in the document. */
export function withLines(
  recorded: readonly EventCondition[],
  explained: readonly ExplainedCondition[],
): readonly ExplainedCondition[] {
  const left = [...explained];
  return recorded.map((condition) => {
    const at = left.findIndex(
      ({ path, operator }) => path === condition.path && operator === condition.operator,
    );
    const [match] = at < 0 ? [] : left.splice(at, 1);
    return { ...condition, line: match?.line ?? null };
  });
}
