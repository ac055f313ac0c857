// SIGINT and SIGTERM at a proxy. Clients send one also to a proxy that already ends because its input has ended.

const stopSignals = ['SIGINT', 'SIGTERM'] as const;

export interface DeferredSignals {
  /** Resolves at the first signal. */
  readonly first: Promise<void>;
  /** Signals end the process again. */
  release(): void;
}

/**
 * Keeps the first signal from ending the process, so that the server stops and the events are sent before the end. A
 * second signal ends the process at once.
 */
export function deferSignals(): DeferredSignals {
  let isSecond = false;
  let resolveFirst: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    resolveFirst = resolve;
  });
  const receive = (signal: NodeJS.Signals): void => {
    resolveFirst();
    if (isSecond) {
      release();
      process.kill(process.pid, signal);
    }
    isSecond = true;
  };
  const release = (): void => {
    for (const signal of stopSignals) process.off(signal, receive);
  };
  for (const signal of stopSignals) process.on(signal, receive);
  return { first, release };
}
