// A tool's result as a guard reads it: success, and the result with its text replaced. Its text is made by
// rules/evaluate.
import type { OnError } from '../failure.ts';
import { type ResultText, resultText } from '../rules/evaluate/result-text.ts';
import { type Isolation, isolations } from '../rules/isolation.ts';
import type { RunOptions } from './call.ts';

/**
 * False for a result with a truthy `is_error` or `isError`, and for text starting with `error:` or `fatal:` in any
 * case.
 */
export function looksSuccessful(result: unknown): boolean {
  if (typeof result === 'string') return !/^(?:error|fatal):/i.test(result);
  if (typeof result !== 'object' || result === null) return true;
  const { is_error, isError } = result as { readonly is_error?: unknown; readonly isError?: unknown };
  return !is_error && !isError;
}

export interface JudgedResult {
  readonly success: boolean;
  /** `output.text` of contracts. */
  readonly outputText: ResultText;
  /** True for undefined and null. Other results may have no text either, and are hidden where contracts redact. */
  readonly isMissing: boolean;
  /** The value whose fields `result.*` selects. */
  readonly fields: unknown;
  /** Null: the fields do not contain it. */
  readonly isolation: Isolation | null;
}

/** The result's own field as `exec` returns it; null for any other value. Calls no getter. */
function isolationOf(fields: unknown): Isolation | null {
  if (typeof fields !== 'object' || fields === null) return null;
  const isolation: unknown = Object.getOwnPropertyDescriptor(fields, 'isolation')?.value;
  return isolations.find((one) => one === isolation) ?? null;
}

/**
 * A result as the options of its call read it. The tool has run: a function among the options that throws must not keep
 * that from being recorded.
 */
export function judgeResult<R>(
  result: R,
  { success = looksSuccessful, outputText, resultFields = (one) => one }: RunOptions<R>,
  onError: OnError,
): JudgedResult {
  const isMissing = result === undefined || result === null;
  try {
    const text = outputText ? ofText(outputText(result)) : resultText(result);
    const fields = resultFields(result);
    return { success: success(result), outputText: text, isMissing, fields, isolation: isolationOf(fields) };
  } catch (failure) {
    onError(failure, 'judging a result');
    return { success: false, outputText: resultText(result), isMissing, fields: result, isolation: null };
  }
}

const ofText = (text: string | null | undefined): ResultText => ({
  text: text ?? undefined,
  isReadable: true,
});

/** A tool that threw, by its message. */
export const judgeFailure = (message: string): JudgedResult => ({
  success: false,
  outputText: ofText(message),
  isMissing: false,
  fields: undefined,
  isolation: null,
});

/** The text for contracts as code; null for none. */
export const textForCode = ({ outputText: { text, isReadable } }: JudgedResult): string | null =>
  isReadable ? (text ?? null) : '[unreadable]';

/**
 * The tool ran, but contracts took something out of its result, and what is left does not have the result's form any
 * more.
 */
export class ResultReplacedError extends Error {
  /** The text in place of the result. */
  readonly text: string;

  constructor(text: string) {
    super(`contracts replaced the tool's result with text: ${text}`);
    this.name = 'ResultReplacedError';
    this.text = text;
  }
}

/**
 * The replaced text in the form that the result had: as text, or as plain data read from JSON again.
 * @throws ResultReplacedError when it does not have that form
 */
export function replaceText<R>(result: R, text: string): R {
  if (typeof result === 'string') return text as R;
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw new ResultReplacedError(text);
  }
  if (!sameForm(result, read)) throw new ResultReplacedError(text);
  return read as R;
}

/** Both are lists, both are plain objects, or both are values of one type. */
function sameForm(result: unknown, read: unknown): boolean {
  if (typeof result !== typeof read || Array.isArray(result) !== Array.isArray(read)) return false;
  if (typeof result !== 'object' || result === null || read === null) return result !== null;
  const kind: unknown = Object.getPrototypeOf(result);
  return Array.isArray(result) || kind === Object.prototype || kind === null;
}
