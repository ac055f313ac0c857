// An open loop: calls at their due times, whether or not earlier ones have ended. Latencies start at the due times.
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { newHistogram } from './histogram.ts';
import { withinLimit } from './time-limit.ts';

/** A refusal is tried again for a minute, and each answer can take a minute. */
const defaultCallLimitMs = 300_000;

export interface OpenLoop {
  readonly perSecond: number;
  readonly seconds: number;
  /** Milliseconds that a call can take from its beginning, with all its repeats. Default: 300,000 */
  readonly callLimitMs?: number;
}

export interface OpenLoopResult {
  readonly elapsedMs: number;
  /** HdrHistogram V2, base64, microseconds: from the due time of a call to its end. */
  readonly latencies: string;
  /** Delay of the beginnings of calls: 99th percentile, milliseconds. */
  readonly lagMs: number;
}

export const microsecondsSince = (startMs: number): number =>
  Math.max(1, Math.round((performance.now() - startMs) * 1000));

export const callsOf = ({ perSecond, seconds }: OpenLoop): number =>
  Math.max(1, Math.round(perSecond * seconds));

/**
 * @param call resolves when the call has ended
 * @throws Error of the first call that fails, or does not end within its limit
 */
export async function runOpenLoop(
  loop: OpenLoop,
  call: (n: number) => Promise<unknown>,
): Promise<OpenLoopResult> {
  const [latencies, lags] = [newHistogram(), newHistogram()];
  const total = callsOf(loop);
  const { callLimitMs = defaultCallLimitMs } = loop;
  const calls: Promise<void>[] = [];
  let failure: unknown;
  const began = performance.now();
  const start = async (n: number, due: number): Promise<void> => {
    lags.recordValue(microsecondsSince(due));
    await withinLimit(call(n), `The end of call ${n + 1} of ${total}`, callLimitMs);
    latencies.recordValue(microsecondsSince(due));
  };
  for (let n = 0; n < total && failure === undefined; n++) {
    const due = began + (n * 1000) / loop.perSecond;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    calls.push(
      start(n, due).catch((error: unknown) => {
        failure = error;
      }),
    );
  }
  await Promise.all(calls);
  if (failure !== undefined) throw failure;
  return {
    elapsedMs: performance.now() - began,
    latencies: encodeIntoCompressedBase64(latencies),
    lagMs: lags.getValueAtPercentile(99) / 1000,
  };
}
