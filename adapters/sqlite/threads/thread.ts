// Entry of a store thread: opens the prepared file in its role and answers calls. The only code here that runs off the
// event loop.
import { parentPort, workerData } from 'node:worker_threads';
import { CallIndex } from '../events/calls.ts';
import { buffersOf } from '../events/stored-page.ts';
import { failureOf } from '../failure.ts';
import { openFile } from '../open.ts';
import { checkVital } from '../schema/index.ts';
import { storesOf } from '../stores.ts';
import { openingError } from '../trouble.ts';
import { UsageWriter } from '../usage/write.ts';
import { LogIndex } from './log-index.ts';
import { serveReads, serveWrites } from './serve.ts';
import type { FromThread, ThreadReply, ThreadStart, ToThread } from './wire.ts';

const { role, path, tuning, callLimits, shortOfSpace } = workerData as ThreadStart;
const short = new Int32Array(shortOfSpace);
const port = parentPort;

/** @param buffers which the message takes along: this thread has no part in them afterwards. Default: none */
function post(message: FromThread, buffers: readonly ArrayBuffer[] = []): void {
  port?.postMessage(message, [...buffers]);
}

try {
  const db = openFile(path, tuning);
  const calls = new CallIndex(db, callLimits);
  const usage = new UsageWriter(db);
  const logIndex = new LogIndex(path);
  const line = {
    db,
    stores: storesOf(db, { calls, usage }, () => Atomics.load(short, 0) === 0),
    answer: (replies: readonly ThreadReply[]) =>
      post({ kind: 'replies', replies }, buffersOf(replies.map(([, , value]) => value))),
    later: setImmediate,
    pagesToCopy: () => logIndex.pagesToCopy(),
  };
  if (role === 'writer') {
    checkVital(db);
    calls.load();
    usage.load();
  }
  const server =
    role === 'writer'
      ? serveWrites(
          line,
          () => {
            calls.maintain();
            usage.fold();
          },
          (mustFlush) => (mustFlush ? usage.flush() : usage.flushIfDue()),
        )
      : serveReads(line);
  port?.on('message', (message: ToThread) => {
    if (message.kind === 'calls') return server.accept(message.calls);
    server.whenIdle(() => {
      db.close();
      port.close();
    });
  });
  post({ kind: 'ready' });
} catch (error) {
  post({ kind: 'failed', failure: failureOf(openingError(error, path)) });
}
