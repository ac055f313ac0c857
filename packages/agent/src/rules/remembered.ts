// Results of a pure function, kept by its argument.

/** The function with its results kept for at most `max` arguments; at that number all are forgotten. */
export function remembered<Key, Result>(max: number, compute: (key: Key) => Result): (key: Key) => Result {
  const results = new Map<Key, Result>();
  return (key) => {
    let result = results.get(key);
    if (result === undefined && !results.has(key)) {
      result = compute(key);
      if (results.size >= max) results.clear();
      results.set(key, result);
    }
    return result as Result;
  };
}
