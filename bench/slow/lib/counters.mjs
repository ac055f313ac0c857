// Counters that all threads of a hub share: each thread adds to a row of its own, the main thread sums the rows.
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

/** In the order of their columns. */
export const counterNames = [
  'threads',
  'driver_threads',
  'statements',
  'commits',
  'serialised_bytes',
  'parsed_bytes',
  'encodings',
  'slow_downs',
];
const maxThreads = 64;
const environmentKey = 'reeve-bench-counters';
const width = counterNames.length;
const headBytes = 8;

if (isMainThread) {
  setEnvironmentData(environmentKey, new SharedArrayBuffer(headBytes + 8 * width * maxThreads));
}
const memory = getEnvironmentData(environmentKey);
if (!(memory instanceof SharedArrayBuffer)) throw new Error('A thread of the hub has no counters.');
const row = Atomics.add(new Int32Array(memory, 0, 1), 0, 1);
if (row >= maxThreads) throw new Error(`The hub started more than ${maxThreads} threads.`);
const cells = new Float64Array(memory, headBytes);
const columns = Object.fromEntries(counterNames.map((name, n) => [name, row * width + n]));

/** Adds to a counter of this thread. */
export function add(name, amount = 1) {
  cells[columns[name]] += amount;
}
add('threads');

/** The sums over all threads, the ended ones too. */
export const readCounters = () =>
  Object.fromEntries(
    counterNames.map((name, n) => [
      name,
      cells.reduce((sum, value, at) => (at % width === n ? sum + value : sum), 0),
    ]),
  );

/** @throws Error that names what is absent, so that nothing is measured around a gap */
export function requireFunction(owner, name, of) {
  const value = owner?.[name];
  if (typeof value !== 'function') throw new Error(`${of}.${name} is no function: nothing can be wrapped.`);
  return value;
}
