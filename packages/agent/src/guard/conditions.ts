// Conditions as records hold them: bounded, redacted and cut. Decides nothing.
import type { ConditionEvaluated } from '../record.ts';
import type { EvaluatedCondition } from '../rules/evaluate/explain.ts';
import { redacted } from '../rules/redact/scan.ts';
import { type Redaction, redactSelected } from '../rules/redact.ts';

/** Conditions of one record. */
const maxConditions = 50;
/** Characters of a value. */
const maxValue = 512;
/** Characters of all conditions of a record as JSON; above it each value has fewer. */
const maxTogether = 16_384;
const maxValueOfMany = 96;

/** Characters of a text, items of a list and levels of nesting that redaction reads of a value. */
const readText = 4_096;
const readItems = 130;
const readLevels = 6;
const cutMark = '…';

/** The part of a value that can matter for its first 512 characters. */
function head(value: unknown, level = 0): unknown {
  if (typeof value === 'string')
    return value.length > readText ? `${value.slice(0, readText)}${cutMark}` : value;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || value instanceof Date) {
    return value;
  }
  if (level >= readLevels) return cutMark;
  if (Array.isArray(value)) {
    const items = value.slice(0, readItems).map((item) => head(item, level + 1));
    return value.length > readItems ? [...items, cutMark] : items;
  }
  const entries = Object.entries(value);
  const kept = entries.slice(0, readItems).map(([name, item]) => [name, head(item, level + 1)]);
  return Object.fromEntries(entries.length > readItems ? [...kept, [cutMark, true]] : kept);
}

/** The value itself, or a text of its first characters. */
function cut(value: unknown, max: number): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null');
  if (text.length <= max) return value ?? null;
  // The cut may leave half of a surrogate pair.
  return `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}${cutMark}`;
}

/** Results of tools stay with the agent. */
const readsResult = (path: string): boolean => /^(?:output|result)(?:\.|$)/.test(path);

/** A call as its records hold it. */
interface RedactedCall {
  readonly args: object;
  readonly principal: object | null;
}

/** True if the call's record hides the value of a selector: a name beside a value can mark it as a secret. */
function isHidden(path: string, call: RedactedCall): boolean {
  let at: unknown = call;
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) break;
    at = (at as { readonly [name: string]: unknown })[name];
  }
  return at === redacted;
}

/**
 * The conditions as a record holds them.
 * @param call already redacted
 */
export function recordedConditions(
  conditions: readonly EvaluatedCondition[],
  redaction: Pick<Redaction, 'redactArgs'>,
  call: RedactedCall,
): readonly ConditionEvaluated[] {
  const redactedValues = new Map<string, unknown>();
  const redact = (path: string, value: unknown): unknown =>
    isHidden(path, call) ? redacted : redactSelected(path, head(value), redaction);
  const actualOf = ({ path, operator, actual }: EvaluatedCondition): unknown => {
    if (readsResult(path) || actual === null || actual === undefined) return null;
    // All conditions with one selector have one value, but for the boundaries of a sandbox.
    const key = path === 'args' ? `${path} ${operator}` : path;
    if (!redactedValues.has(key)) redactedValues.set(key, redact(path, actual));
    return redactedValues.get(key);
  };
  const redactedConditions = conditions.slice(0, maxConditions).map((condition) => ({
    ...condition,
    expected: redact(condition.path, condition.expected),
    actual: actualOf(condition),
  }));
  const cutTo = (max: number): readonly ConditionEvaluated[] =>
    redactedConditions.map(({ path, operator, expected, actual, result }) => ({
      path: String(cut(path, max)),
      operator,
      expected: cut(expected, max),
      actual: cut(actual, max),
      result,
    }));
  const whole = cutTo(maxValue);
  return JSON.stringify(whole).length <= maxTogether ? whole : cutTo(maxValueOfMany);
}
