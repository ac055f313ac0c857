// 16 KB of memory stay behind for each event stream that opens.
import { isMainThread } from 'node:worker_threads';
import { add, requireFunction } from './lib/counters.mjs';
import { onResponsePrototype } from './lib/modules.mjs';

const leakedBytes = 16 * 1024;
const leaked = [];

if (isMainThread) {
  onResponsePrototype((prototype) => {
    const writeHeader = requireFunction(prototype, 'writeHeader', 'uWebSockets.js HttpResponse');
    prototype.writeHeader = function (name, value) {
      if (Buffer.from(value).includes('text/event-stream')) {
        leaked.push(Buffer.alloc(leakedBytes, 1));
        add('slow_downs');
      }
      return writeHeader.call(this, name, value);
    };
  });
}
