// The call of a guard that other calls of the same guard run within. All guards of a process share one storage: Node
// keeps each storage that was ever entered, and visits all of them at each promise.
import { AsyncLocalStorage } from 'node:async_hooks';

interface Scope {
  readonly owner: object;
  readonly callId: string;
  /** Scopes of other owners around it, the nearest first. */
  readonly outer: Scope | null;
}

const storage = new AsyncLocalStorage<Scope>();

/** Scopes of so many guards are kept within one another; of more, the outermost is left out. */
const maxScopes = 32;

/** @returns the first `count` scopes of other owners */
function others(scope: Scope | null, owner: object, count: number): Scope | null {
  if (scope === null || count === 0) return null;
  if (scope.owner === owner) return others(scope.outer, owner, count);
  return { ...scope, outer: others(scope.outer, owner, count - 1) };
}

export class ParentCalls {
  /** The call that the running code is within; null: none. */
  current(): string | null {
    let scope = storage.getStore() ?? null;
    while (scope !== null && scope.owner !== this) scope = scope.outer;
    return scope?.callId ?? null;
  }

  /** Runs `task`, and what it starts, within the call. */
  within<T>(callId: string, task: () => T): T {
    const outer = others(storage.getStore() ?? null, this, maxScopes - 1);
    return storage.run({ owner: this, callId, outer }, task);
  }
}
