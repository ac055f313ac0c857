// Answers after which a server does not know whether the client read the earlier ones: those without a body, and those
// that end their connection. A network that only sends requests would make the server gather them, so they are counted.
import { admissionTable } from '../admission/table.ts';
import type { RawResponse } from './raw.ts';

const [{ atOnce: maxAnswers }] = admissionTable.emptyAnswers.bounds;

export const isBodyless = (status: number): boolean => status === 204 || status === 304;

/**
 * @param sending.head the request was a HEAD
 * @param sending.close the connection ends with the answer
 */
export const isEmptyAnswer = (
  { status, body, live }: RawResponse,
  { head, close }: { readonly head: boolean; readonly close: boolean },
): boolean => live === null && (head || close || isBodyless(status) || body === null || body.length === 0);

/** Counts empty answers by network, from one sweep of a server to the next. */
export class EmptyAnswers {
  readonly #counts = new Map<string, number>();

  /** Counts an answer. False: the network has received too many, so its connection is cut instead. */
  admit(network: string): boolean {
    const count = (this.#counts.get(network) ?? 0) + 1;
    this.#counts.set(network, count);
    return count <= maxAnswers;
  }

  sweep(): void {
    this.#counts.clear();
  }
}
