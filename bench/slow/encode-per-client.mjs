// Each stream is sent an encoding of its own of each large frame.
import { isMainThread } from 'node:worker_threads';
import { add, requireFunction } from './lib/counters.mjs';
import { onResponsePrototype } from './lib/modules.mjs';

const leastBytes = 512;

if (isMainThread) {
  onResponsePrototype((prototype) => {
    const write = requireFunction(prototype, 'write', 'uWebSockets.js HttpResponse');
    prototype.write = function (piece) {
      if (piece.length < leastBytes) return write.call(this, piece);
      add('slow_downs');
      return write.call(this, Buffer.from(JSON.parse(JSON.stringify(Buffer.from(piece).toString()))));
    };
  });
}
