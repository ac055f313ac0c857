/** Resolves in the next turn of the event loop, so that other work goes between. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
