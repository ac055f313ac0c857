// A tool's result as a guard reads it: success, and the result with its text replaced (document 5 §1.9). Its text is domain/evaluate's.

/** False for a result with a truthy `is_error` or `isError`, and for text starting with `error:` or `fatal:` in any case. */
export function looksSuccessful(result: unknown): boolean {
  if (typeof result === 'string') return !/^(?:error|fatal):/i.test(result);
  if (typeof result !== 'object' || result === null) return true;
  const { is_error, isError } = result as { readonly is_error?: unknown; readonly isError?: unknown };
  return !is_error && !isError;
}

/** The replaced text in the form the result had, if it still has that form; else the text. */
export function replaceText<R>(result: R, text: string): R | string {
  if (typeof result === 'string') return text;
  try {
    return JSON.parse(text) as R;
  } catch {
    return text;
  }
}
