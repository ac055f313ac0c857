// The bytes of an answer's body, ending when a signal aborts. Knows nothing about their meaning.

/**
 * Yields the parts of a body until it ends. fetch follows its signal only weakly once it has answered: without this, a
 * body that falls silent could be waited for without end.
 * @throws the signal's reason once it aborts, also in the middle of a wait
 */
export async function* bodyParts(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  const reader = body.getReader();
  const cancel = (): void => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}
