// A value that may be there already. What thousands ask for at once is waited for only where something has to be read:
// a promise for each, and what keeps its place, costs as much as the work.

export type Awaitable<T> = T | Promise<T>;

/** What `next` makes of the value: at once where it is there. */
export function chain<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
