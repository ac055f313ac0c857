// Readings of what many ask for at once. Each answer was read after it was asked for.

/**
 * @param read reads what a key names
 * @returns the same, but those who ask while a reading of the key is under way share the next one
 */
export function createSharedReads<T>(read: (key: string) => Promise<T>): (key: string) => Promise<T> {
  /** Each resolves when its reading is over, whatever became of it. */
  const underWay = new Map<string, Promise<void>>();
  const next = new Map<string, Promise<T>>();

  function begin(key: string): Promise<T> {
    const reading = read(key);
    const over = (): void => {
      underWay.delete(key);
    };
    underWay.set(key, reading.then(over, over));
    return reading;
  }

  return (key) => {
    const before = underWay.get(key);
    if (!before) return begin(key);
    let shared = next.get(key);
    if (!shared) {
      shared = before.then(() => {
        next.delete(key);
        return begin(key);
      });
      next.set(key, shared);
    }
    return shared;
  };
}
