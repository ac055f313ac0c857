// A value that may be there already. A caller waits only where something has to be read: for thousands of callers at
// once, a promise for each, and the state that keeps its place, cost as much as the work.

export type Awaitable<T> = T | Promise<T>;

/** Result of `next` for the value: at once if the value is there. */
export function chain<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
