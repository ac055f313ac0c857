// Measures the event-loop delay of the main thread. The suite asks for its 99th percentile (`loop`), or for its longest
// time (`held`), since the last question.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const sampleMs = 1;
  const delays = monitorEventLoopDelay({ resolution: sampleMs });
  delays.enable();
  process.on('message', (question) => {
    if (question !== 'loop' && question !== 'held') return;
    const delay = question === 'loop' ? delays.percentile(99) : delays.max;
    delays.reset();
    // Node records the whole time between two samples.
    process.send?.(Math.max(0, delay / 1e6 - sampleMs));
  });
  // The hub ends as it does without the suite.
  process.channel?.unref();
}
