// The bound of the guard's times: JSON.parse of the bytes that the load sends, in this process, while the load runs, so
// that hub and bound share the state of the machine.
import { setTimeout as delay } from 'node:timers/promises';
import { agentName, ReusableBody } from '../batch.ts';

const batchesAtOnce = 4;
const pauseMs = 10;
/** As many texts as fit no cache of a core. */
const bodyCount = 40;

let bodies: readonly Buffer[] = [];

function parseBatches(from: number): number {
  const before = process.cpuUsage();
  for (let n = from; n < from + batchesAtOnce; n++) JSON.parse((bodies[n % bodyCount] as Buffer).toString());
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
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
  let [batches, milliseconds] = [0, 0];
  while (!isDone || batches < bodyCount) {
    milliseconds += parseBatches(batches);
    batches += batchesAtOnce;
    await delay(pauseMs);
  }
  return { result: await result, batchMs: milliseconds / batches };
}
