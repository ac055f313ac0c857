// A limit for waits whose other side may never answer, so that a run ends with a reason.

/** Milliseconds. The longest wait for one answer, decision or notification. */
export const answerLimitMs = 60_000;

export const limitText = (limitMs: number): string => `within ${limitMs / 1000} s`;

/**
 * @param what never came, for the message: "An answer did not come within 60 s."
 * @throws Error if the promise has not settled after `limitMs`
 */
export async function withinLimit<T>(promise: Promise<T>, what: string, limitMs = answerLimitMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come ${limitText(limitMs)}.`)), limitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
