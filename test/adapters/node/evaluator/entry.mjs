// A worker for tests of the pool: does what its task says.
import { parentPort, threadId } from 'node:worker_threads';

const result = (value) => parentPort?.postMessage(new TextEncoder().encode(JSON.stringify(value)));

parentPort?.on('message', (task) => {
  if (task.do === 'spin') for (;;) {}
  if (task.do === 'exit') process.exit(3);
  if (task.do === 'throw') throw new Error('not caught');
  if (task.do === 'grow') {
    const held = [];
    for (;;) held.push(new Array(100_000).fill(held.length));
  }
  if (task.do === 'refuse') {
    return parentPort?.postMessage(JSON.stringify({ code: 'unprocessable', message: 'no', detail: {} }));
  }
  const environment = Object.keys(process.env).length;
  return result({ echo: task.value, thread: threadId, environment });
});
parentPort?.postMessage('ready');
