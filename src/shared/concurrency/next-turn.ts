/** Resolves in the next turn of the event loop, so that other work goes between. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A turn of the event loop with hardly any work takes less. Milliseconds. */
const shortMs = 0.3;

/**
 * Resolves right after a short turn, so that hardly anything has come since the loop looked for new connections.
 * @param max resolves after so many turns, however long they were
 */
export async function shortTurn(max = 50): Promise<void> {
  for (let turns = 0; turns < max; turns++) {
    const begun = performance.now();
    await nextTurn();
    if (performance.now() - begun < shortMs) return;
  }
}
