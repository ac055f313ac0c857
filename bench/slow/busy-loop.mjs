// The event loop is busy for 100 ns more for each byte of a large text that is parsed.
import { isMainThread } from 'node:worker_threads';
import { add, requireFunction } from './lib/counters.mjs';

const leastLength = 1024;
const nanosecondsPerByte = 100n;

const parse = requireFunction(JSON, 'parse', 'JSON');
JSON.parse = (text, reviver) => {
  const value = parse(text, reviver);
  const length = isMainThread && typeof text === 'string' ? text.length : 0;
  if (length < leastLength) return value;
  const end = process.hrtime.bigint() + BigInt(length) * nanosecondsPerByte;
  while (process.hrtime.bigint() < end);
  add('slow_downs');
  return value;
};
