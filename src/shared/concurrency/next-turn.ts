/** Resolves in the next turn of the event loop, so that other work goes between. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A turn of the event loop with hardly any work takes less. Milliseconds. */
const shortMs = 0.3;

/**
 * Resolves right after a short turn, so that hardly anything has come since the loop looked for new connections.
 * @param maxMs resolves after so long, however long the turns were
 */
export async function waitForShortTurn(maxMs = 250): Promise<void> {
  const end = performance.now() + maxMs;
  // The rest of this turn does not look for new connections.
  await nextTurn();
  for (let start = performance.now(); start < end; start = performance.now()) {
    await nextTurn();
    if (performance.now() - start < shortMs) return;
  }
}
