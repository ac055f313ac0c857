// Counts statements, commits, JSON and encodings in all threads of the hub; the suite asks for the sums.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import { add, readCounters, requireFunction } from './lib/counters.mjs';
import { driverPrototypes } from './lib/modules.mjs';

/** Shorter texts are no encodings: ids, header lines and empty answers. */
const leastEncodedLength = 512;

function countEncoding(text) {
  if (typeof text === 'string' && text.length >= leastEncodedLength) add('encodings');
}

function wrapDriver() {
  const { database, statement } = driverPrototypes();
  const { exec, prepare } = database;
  const databases = new WeakMap();
  let isUsed = false;
  const countStatement = () => {
    if (!isUsed) add('driver_threads');
    isUsed = true;
    add('statements');
  };
  database.exec = function (sql) {
    countStatement();
    if (/^\s*COMMIT\b/i.test(sql)) add('commits');
    return exec.call(this, sql);
  };
  database.prepare = function (sql) {
    const prepared = prepare.call(this, sql);
    databases.set(prepared, this);
    return prepared;
  };
  const { run } = statement;
  statement.run = function (...values) {
    countStatement();
    // A write outside of a transaction commits by itself.
    if (databases.get(this)?.inTransaction === false) add('commits');
    return run.apply(this, values);
  };
  for (const name of ['get', 'iterate']) {
    const read = statement[name];
    statement[name] = function (...values) {
      countStatement();
      return read.apply(this, values);
    };
  }
}

function wrapJson() {
  const stringify = requireFunction(JSON, 'stringify', 'JSON');
  const parse = requireFunction(JSON, 'parse', 'JSON');
  JSON.stringify = (...values) => {
    const text = stringify(...values);
    if (text !== undefined) {
      add('serialised_bytes', text.length);
      countEncoding(text);
    }
    return text;
  };
  JSON.parse = (text, reviver) => {
    add('parsed_bytes', text?.length ?? 0);
    return parse(text, reviver);
  };
}

function wrapEncodings() {
  const from = requireFunction(Buffer, 'from', 'Buffer');
  const encode = requireFunction(TextEncoder.prototype, 'encode', 'TextEncoder');
  Buffer.from = function (value, ...rest) {
    countEncoding(value);
    return from.call(this, value, ...rest);
  };
  TextEncoder.prototype.encode = function (text) {
    countEncoding(text);
    return encode.call(this, text);
  };
}

function answerSuite() {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc');
  const answers = {
    counters: readCounters,
    slow_downs: () => readCounters().slow_downs,
    collect() {
      for (let n = 0; n < 3; n++) collectGarbage();
      return null;
    },
    /** Bytes of the JavaScript heap and of buffers in the main thread. */
    memory() {
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    },
    /** Grows the young generation, which belongs to the process and not to its streams. */
    grow() {
      for (let n = 0; n < 300; n++) {
        const kept = Array.from({ length: 20_000 }, (_, item) => ({ item, list: [item] }));
        if (kept.length !== 20_000) throw new Error('Nothing was allocated.');
      }
      return null;
    },
  };
  process.on('message', (question) => process.send?.(answers[question]?.() ?? null));
  // The hub ends as it does without the suite.
  process.channel?.unref();
}

wrapDriver();
wrapJson();
wrapEncodings();
if (isMainThread) answerSuite();
