// Loaded into the hub process by the fuzz program (node --import). Measures how late the event loop is and how much
// memory is used, and tells it over a Unix socket. Nothing of the hub knows of it.
import { openSync, readSync } from 'node:fs';
import { Session } from 'node:inspector';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const everyMs = 20;
const memoryEveryMs = 1000;
/** Shorter gaps are not told. Milliseconds. */
const tellMs = 100;
/** The profiler starts anew this often, so that it stays small. */
const profileEveryMs = 20_000;

const path = process.env.FUZZ_PROBE;
if (isMainThread && path) start(path, process.env.FUZZ_PROFILE === '1');

function start(path, profiled) {
  const socket = connect(path);
  socket.on('error', () => {});
  socket.unref();
  const tell = (message) => socket.write(`${JSON.stringify(message)}\n`);
  const spent = threadClock();
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  let last = performance.now();
  let before = spent();
  let toldMemoryAt = last;
  let longestMs = 0;

  const memory = (collected) => {
    const { rss, heapUsed, external } = process.memoryUsage();
    tell({ kind: 'memory', collected, rss, heap: heapUsed + external, longestMs: Math.round(longestMs) });
    longestMs = 0;
  };
  const reset = () => {
    last = performance.now();
    before = spent();
  };

  const profiler = profiled ? startProfiler(reset) : null;

  /**
   * Of the time since: what the thread ran, and what it waited for a processor. All of it ran, where the system does
   * not say.
   */
  const since = (start, lateMs) => {
    const now = spent();
    if (!now || !start) return { ranMs: lateMs, waitedMs: 0 };
    return { ranMs: now.ranMs - start.ranMs, waitedMs: now.waitedMs - start.waitedMs };
  };

  setInterval(() => {
    const now = performance.now();
    const lateMs = now - last - everyMs;
    const { ranMs, waitedMs } = since(before, lateMs);
    longestMs = Math.max(longestMs, ranMs);
    if (lateMs - waitedMs >= tellMs) {
      const functions = profiler?.functions(lateMs + everyMs) ?? [];
      const [late, ran, waited] = [lateMs, ranMs, waitedMs].map(Math.round);
      tell({ kind: 'stall', at: Date.now(), lateMs: late, ranMs: ran, waitedMs: waited, functions });
    }
    reset();
    if (now - toldMemoryAt >= memoryEveryMs) {
      toldMemoryAt = now;
      memory(false);
    }
  }, everyMs).unref();

  socket.on('data', () => {
    collect();
    setImmediate(() => {
      collect();
      memory(true);
      reset();
    });
  });
}

/**
 * The time that the main thread has run, and has been ready to run without a processor, in all. Null where the system
 * does not say.
 */
function threadClock() {
  try {
    const file = openSync('/proc/self/schedstat', 'r');
    const bytes = Buffer.alloc(96);
    return () => {
      const length = readSync(file, bytes, 0, bytes.length, 0);
      const [ran, waited] = bytes.toString('latin1', 0, length).split(' ').map(Number);
      return { ranMs: ran / 1e6, waitedMs: waited / 1e6 };
    };
  } catch {
    return () => null;
  }
}

/**
 * Samples what the main thread does, to name the functions of a stall. `restarted` hears when it held the thread up
 * itself.
 */
function startProfiler(restarted) {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 2000 });
  session.post('Profiler.start');
  const again = () => {
    session.post('Profiler.stop');
    session.post('Profiler.start');
    restarted();
  };
  setInterval(again, profileEveryMs).unref();
  return {
    /** The functions that took most of the last milliseconds, by their own time. */
    functions(ms) {
      let found = [];
      session.post('Profiler.stop', (error, result) => {
        if (!error) found = heaviest(result.profile, ms);
      });
      session.post('Profiler.start');
      return found;
    },
  };
}

function heaviest({ nodes, samples, timeDeltas, endTime }, ms) {
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]));
  const took = new Map();
  let at = endTime;
  for (let i = samples.length - 1; i >= 0 && endTime - at < ms * 1000; i--) {
    const { functionName, url, lineNumber } = byId.get(samples[i]);
    const name = `${functionName || '(anonymous)'} ${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`;
    took.set(name, (took.get(name) ?? 0) + timeDeltas[i] / 1000);
    at -= timeDeltas[i];
  }
  return [...took]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 8)
    .map(([name, spent]) => `${Math.round(spent)} ms ${name}`);
}
