// The answer of a tool when contracts refused the call, or took so much out of the result that only text is left.
import { DeniedError } from '../guard/call.ts';
import { ResultReplacedError } from '../guard/output.ts';

/** Plain data, so that it travels wherever results do. */
export interface Refusal {
  /** `denied`: the tool did not run. `replaced`: the tool ran, and this text is the rest of its result. */
  readonly refusal: 'denied' | 'replaced';
  /** Name of what decided; null when it has no name. */
  readonly contract: string | null;
  readonly message: string;
}

/** True for what a guarded tool answers instead of its result. */
export const isRefusal = (value: unknown): value is Refusal => {
  const { refusal, message } = (value ?? {}) as { readonly refusal?: unknown; readonly message?: unknown };
  return (refusal === 'denied' || refusal === 'replaced') && typeof message === 'string';
};

/** A failed call as a refusal. @throws the failure when it is none */
export function refusalOf(failure: unknown): Refusal {
  if (failure instanceof DeniedError) {
    return { refusal: 'denied', contract: failure.contract, message: failure.message };
  }
  if (failure instanceof ResultReplacedError) {
    return { refusal: 'replaced', contract: null, message: failure.text };
  }
  throw failure;
}

/** For models and tools that speak text. */
export const refusalText = ({ refusal, message }: Refusal): string =>
  refusal === 'denied' ? `Denied: ${message}` : message;
