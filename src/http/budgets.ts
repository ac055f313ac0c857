// How many bytes of requests and answers a node holds at once, and what callers are told above that. Live streams have
// bounds of their own.
import { ByteBudget } from '../shared/concurrency/byte-budget.ts';
import { HubError } from '../shared/error.ts';

const mib = 1024 * 1024;

/** Bytes of an answer that is sent whatever else waits: errors are smaller. */
const alwaysSent = 64 * 1024;

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

export const createBudgets = (): Budgets => ({
  unsent: new ByteBudget({ total: 256 * mib, share: 32 * mib }),
  received: new ByteBudget({ total: 256 * mib, share: 128 * mib }),
  partial: new ByteBudget({ total: 512 * mib, share: 64 * mib }),
});

/**
 * Before an answer is made.
 * @throws HubError rate_limited, overloaded when answers that wait leave no room for one more
 */
export function checkRoom({ unsent }: Pick<Budgets, 'unsent'>, caller: () => string): void {
  if (unsent.held > 0) refuse(unsent.exceeded(caller(), alwaysSent));
}

/** Before an answer of so many bytes is sent. @throws HubError rate_limited, overloaded */
export function checkAnswer({ unsent }: Pick<Budgets, 'unsent'>, caller: () => string, bytes: number): void {
  if (bytes > alwaysSent) refuse(unsent.exceeded(caller(), bytes));
}

function refuse(exceeded: 'share' | 'total' | null): void {
  if (exceeded === 'share') {
    throw new HubError(
      'rate_limited',
      'This caller has too many unread answers. Read them before you send more requests.',
      {
        retryAfter: 5,
      },
    );
  }
  if (exceeded === 'total') {
    throw new HubError(
      'overloaded',
      'Too many answers wait for clients that do not read them. Try again shortly.',
      {
        retryAfter: 5,
      },
    );
  }
}

/** The error of a body that finds no room. */
export const noRoom = (): HubError =>
  new HubError(
    'overloaded',
    'The hub receives too much data at once. It stored nothing from this request. Try again shortly.',
    {
      retryAfter: 2,
    },
  );
