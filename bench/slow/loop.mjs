// Measures the event-loop delay of the main thread. The suite asks for its 99th percentile since the last question.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const sampleMs = 1;
  const delays = monitorEventLoopDelay({ resolution: sampleMs });
  delays.enable();
  process.on('message', (question) => {
    if (question !== 'loop') return;
    // Node records the whole time between two samples.
    const p99 = delays.percentile(99) / 1e6 - sampleMs;
    delays.reset();
    process.send?.(Math.max(0, p99));
  });
  // The hub ends as it does without the suite.
  process.channel?.unref();
}
