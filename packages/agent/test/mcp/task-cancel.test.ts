// Cancellations of a task that the server made of a call, at any moment of the proxy's own work.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Response } from '../../src/cli/mcp/message.ts';
import { TaskFiles } from '../../src/cli/mcp/tasks/files.ts';
import type { TaskCall, TaskRunner } from '../../src/cli/mcp/tasks/task-call.ts';
import { ProxyTasks } from '../../src/cli/mcp/tasks/tasks.ts';
import { systemClock } from '../../src/clock.ts';
import { Guard } from '../../src/index.ts';
import { noEnv, rules } from './setting.ts';
import { taskCapabilities } from './task-setting.ts';

const draft = {
  ...{ tool: 'build', args: {}, meta: {}, sessionId: 's', approval: null },
  rounds: { callId: 'c', callIndex: 1, count: 1, isApproved: false, isCounted: true },
  serverTask: { taskId: 'own-1', pollMs: 1000 },
};
const completed: Response = { kind: 'response', id: 1, result: { content: [] } };

/** Cancels at a moment of the call's run. */
class Runner implements TaskRunner {
  readonly cancelled: string[] = [];
  readonly #run: (call: TaskCall) => Promise<Response>;

  constructor(run: (call: TaskCall) => Promise<Response>) {
    this.#run = run;
  }

  runTask(call: TaskCall): Promise<Response> {
    return this.#run(call);
  }

  cancelTask({ serverTask }: { readonly serverTask: { readonly taskId: string } | null }): void {
    this.cancelled.push(String(serverTask?.taskId));
  }
}

let folder: string;
let tasks: ProxyTasks;

const newTasks = () =>
  new ProxyTasks({
    files: new TaskFiles(folder, systemClock),
    ...{ clock: systemClock, guard: Guard.fromYaml(rules(noEnv)), owner: 'me', scope: 'test' },
    writeLog: () => {},
  });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-cancel-'));
  tasks = newTasks();
});

afterEach(async () => {
  await tasks.close();
  await rm(folder, { recursive: true });
});

const ask = (method: string, taskId: unknown, of = tasks) => {
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': taskCapabilities };
  return of.answer({ kind: 'request', id: 1, method, params: { taskId, _meta } });
};

const aborted = ({ signal }: TaskCall) =>
  new Promise<Response>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

it.each<readonly [string, (call: TaskCall, cancel: () => Promise<unknown>) => Promise<Response>]>([
  ['while a look is under way', aborted],
  [
    'before the first look',
    async ({ use }, cancel) => {
      void cancel();
      await use();
      return completed;
    },
  ],
  [
    'before the look that shows its end',
    async (_call, cancel) => {
      await cancel();
      return completed;
    },
  ],
])('reach the server once: %s', async (_moment, run) => {
  let taskId: unknown;
  const cancel = () => ask('tasks/cancel', taskId);
  const runner = new Runner(async (call) => {
    taskId = call.record.taskId;
    return run(call, cancel);
  });
  const created = await tasks.create(draft, () => runner);
  taskId = created.taskId;
  await cancel();
  await cancel();
  expect((await ask('tasks/get', taskId)).result).toMatchObject({ status: 'cancelled' });
  expect(runner.cancelled).toEqual(['own-1']);
});

it('that a proxy marked before it ended reach the server from the next one', async () => {
  const first = new Runner(aborted);
  const { taskId } = await tasks.create(draft, () => first);
  await tasks.close();
  await new TaskFiles(folder, systemClock).markCancelled(String(taskId));
  tasks = newTasks();
  const next = new Runner(aborted);
  await tasks.start(() => next);
  expect(next.cancelled).toEqual(['own-1']);
  expect((await ask('tasks/get', taskId)).result).toMatchObject({ status: 'cancelled' });
});

it('of a call that has ended reach nobody', async () => {
  const runner = new Runner(async () => completed);
  const { taskId } = await tasks.create(draft, () => runner);
  await expect
    .poll(async () => (await ask('tasks/get', taskId)).result)
    .toMatchObject({ status: 'completed' });
  await ask('tasks/cancel', taskId);
  expect(runner.cancelled).toEqual([]);
});
