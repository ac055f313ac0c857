// All operations, each dealt once to one of the players, before these choose at random: a run of a few steps asks
// everything that a long one asks.
import { type Random, random as randomOf } from '../random.ts';
import { isCostly, isStream, type Operation, operations } from './requests.ts';
import type { JsonSchema } from './schema.ts';

/** Times that an operation is asked until it is answered 2xx. */
const tries = 3;

/** What makes things comes before what reads them; what removes them, or ends credentials, comes last. */
const rankOf = (operation: Operation): number => {
  const { method, path } = operation.route;
  if (isCostly(operation)) return 5;
  if (method === 'POST' || method === 'PUT') return path.includes('{') ? 1 : 0;
  return method === 'GET' ? 2 : method === 'PATCH' ? 3 : 4;
};

const requiredOnly = (schema: JsonSchema): JsonSchema => {
  const { properties, required = [] } = schema;
  if (!properties) return schema;
  const kept = Object.entries(properties).filter(([name]) => required.includes(name));
  return { ...schema, properties: Object.fromEntries(kept) };
};

/** The operation with what its requests must contain alone. */
export const withoutOptional = (operation: Operation): Operation => ({
  ...operation,
  query: requiredOnly(operation.query),
  body: operation.body && requiredOnly(operation.body),
});

/** Results of operations so far, by name. */
export interface Results {
  /** It was answered 2xx. */
  readonly isReached: (operation: string) => boolean;
  /** It was answered, by no 401 for the credential. */
  readonly isAnswered: (operation: string) => boolean;
}

/** The operations of one player, in the order in which they are asked. */
export class Hand {
  readonly #cards: { readonly operation: Operation; left: number }[];

  constructor(own: readonly Operation[]) {
    this.#cards = own.map((operation) => ({ operation, left: tries }));
  }

  /** The next operation to ask; null if all were asked. */
  next({ isReached, isAnswered }: Results): Operation | null {
    const card = this.#cards.shift();
    if (card === undefined) return null;
    const { name } = card.operation;
    if (isReached(name)) return this.next({ isReached, isAnswered });
    // Another try follows when what it needs may exist. A credential may have ended before an earlier one.
    if (--card.left > 0 || (card.left > -tries && !isAnswered(name))) this.#cards.push(card);
    return card.operation;
  }
}

/** A hand for each player, from the seed. */
export function handsOf(seed: string, players: readonly string[]): ReadonlyMap<string, Hand> {
  const random: Random = randomOf(`${seed}/deck`);
  const order = random.shuffle(operations.filter((operation) => !isStream(operation)));
  const ranked = order.toSorted((a, b) => rankOf(a) - rankOf(b));
  return new Map(
    players.map((name, at) => [name, new Hand(ranked.filter((_, i) => i % players.length === at))]),
  );
}
