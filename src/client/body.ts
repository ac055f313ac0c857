// The pieces of an answer's body, until its end or the caller's. Interprets nothing.

/**
 * Cancels the body itself when the signal aborts: Node 20's fetch forgets the signal it was given once its request is collected as
 * garbage, so that a stream which says nothing would never end.
 * @throws the signal's reason; what the connection failed with
 */
export async function* piecesOf(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const stop = (): void => {
    reader.cancel(signal.reason).catch(() => {});
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      if (signal.aborted) throw signal.reason;
      const { done, value } = await reader.read();
      if (signal.aborted) throw signal.reason;
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}
