// The bytes of requests and answers that a node holds at once, and the refusals above them. Live streams have bounds of
// their own.
import { ByteBudget } from '../shared/concurrency/byte-budget.ts';
import type { HubError } from '../shared/error.ts';
import { refusalOf, toHubError } from './admission.ts';
import { admissionTable } from './table.ts';

export interface Budgets {
  /**
   * Answers that their clients have not taken whole, by caller: a key with its agent id and network, a user, or a
   * network.
   */
  readonly unsent: ByteBudget;
  /** Bodies and WebSocket messages, from their first byte until they are dealt with, by the client's network. */
  readonly received: ByteBudget;
  /** Half WebSocket messages, as many bytes as they may get to, by API key. */
  readonly partial: ByteBudget;
}

const { unreadAnswers, receivedBytes, partialMessages } = admissionTable;

/** @param bounds of one holder, and of all */
const budgetOf = ([share, total]: readonly [{ readonly bytes: number }, { readonly bytes: number }]) =>
  new ByteBudget({ total: total.bytes, share: share.bytes });

export const createBudgets = (): Budgets => ({
  unsent: budgetOf(unreadAnswers.bounds),
  received: budgetOf(receivedBytes.bounds),
  partial: budgetOf(partialMessages.bounds),
});

/**
 * Before an answer is made.
 * @throws HubError rate_limited, overloaded when answers that wait leave no room for one more
 */
export function checkRoom({ unsent }: Pick<Budgets, 'unsent'>, caller: () => string): void {
  if (unsent.held > 0) refuse(unsent.exceeded(caller(), unreadAnswers.freeBytes));
}

/** Before an answer of so many bytes is sent. @throws HubError rate_limited, overloaded */
export function checkAnswer({ unsent }: Pick<Budgets, 'unsent'>, caller: () => string, bytes: number): void {
  if (bytes > unreadAnswers.freeBytes) refuse(unsent.exceeded(caller(), bytes));
}

function refuse(exceeded: 'share' | 'total' | null): void {
  if (exceeded === 'share') throw toHubError(unreadAnswers.bounds[0].refusal);
  if (exceeded === 'total') throw refusalOf('unreadAnswers');
}

/** The error of a body that finds no room. */
export const noRoom = (): HubError => refusalOf('receivedBytes');
