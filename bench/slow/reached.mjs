// Answers the suite with how often slow-downs acted. count.mjs answers the same question.
import { isMainThread } from 'node:worker_threads';
import { readCounters } from './lib/counters.mjs';

if (isMainThread) {
  process.on('message', (question) => {
    if (question === 'slow_downs') process.send?.(readCounters().slow_downs);
  });
  // The hub ends as it does without the suite.
  process.channel?.unref();
}
