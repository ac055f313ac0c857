// The bound of the guard's times: JSON.parse of the bytes that the load sends, in this process, while the load runs, so
// that hub and bound share the state of the machine.
import { setTimeout as delay } from 'node:timers/promises';
import { agentName, ReusableBody } from '../batch.ts';
import { medianOf } from '../suite/statistics.ts';

const batchesAtOnce = 4;
const pauseMs = 10;
/** As many texts as fit no cache of a core. */
const bodyCount = 40;

let bodies: readonly Buffer[] = [];

/** @returns processor time of a batch, milliseconds */
function parseBatches(from: number): number {
  const before = process.cpuUsage();
  for (let n = from; n < from + batchesAtOnce; n++) JSON.parse((bodies[n % bodyCount] as Buffer).toString());
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / batchesAtOnce;
}

/**
 * Parses batches until `work` is done.
 * @returns the result of `work`, and the processor time of parsing one batch, milliseconds
 */
export async function parseBeside<Result>(work: Promise<Result>) {
  if (bodies.length === 0) {
    bodies = Array.from({ length: bodyCount }, (_, n) =>
      new ReusableBody().refresh(agentName(n), Date.now()),
    );
  }
  let isDone = false;
  const result = work.finally(() => {
    isDone = true;
  });
  result.catch(() => undefined);
  const times: number[] = [];
  while (!isDone || times.length * batchesAtOnce < bodyCount) {
    times.push(parseBatches(times.length * batchesAtOnce));
    await delay(pauseMs);
  }
  // The median: collections of garbage make some of the times ten times as long.
  return { result: await result, batchMs: medianOf(times) };
}
