// Files of tasks after a process was killed between two of its steps.
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { TaskFiles } from '../../src/cli/mcp/tasks/files.ts';
import type { TaskRecord } from '../../src/cli/mcp/tasks/record.ts';
import { systemClock } from '../../src/clock.ts';
import { digestOf } from '../../src/rounds/round-state.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-task-files-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const taskId = 'a'.repeat(32);
const record = (state: object = {}): TaskRecord =>
  ({
    ...{ taskId, tool: 'read', args: { path: 'notes' }, digest: digestOf('read', { path: 'notes' }) },
    ...{ updatedAt: 1, expiresAt: Date.now() + 3_600_000 },
    ...state,
  }) as unknown as TaskRecord;
const openNames = () => readdir(join(folder, 'open'));

it('give the end of a task whose open file a kill left, and nobody goes on with the task', async () => {
  const killed = new TaskFiles(folder, systemClock);
  await killed.create(record());
  await killed.markSent(taskId, 1);
  const open = join(folder, 'open', `${taskId}.json`);
  const before = await readFile(open);
  await killed.end(record({ message: 'the end' }));
  expect(await openNames()).toEqual([]);
  // As if the kill had come before anything was removed, but for the mark that the call was sent.
  await writeFile(open, before);
  await writeFile(join(folder, 'open', `${taskId}.1.lock`), 'f'.repeat(16));
  const next = new TaskFiles(folder, systemClock);
  expect(await next.read(taskId)).toMatchObject({ message: 'the end' });
  expect(await next.adopt(() => true)).toEqual([]);
});

it('lose what belongs to no task after a day', async () => {
  const files = new TaskFiles(folder, systemClock);
  await files.create(record());
  const other = 'b'.repeat(32);
  const leftovers = [
    join('open', `${other}.1.lock`),
    join('open', `${taskId}.json.${'c'.repeat(16)}`),
    join('holders', 'c'.repeat(16)),
  ];
  const old = Date.now() / 1000 - 25 * 3600;
  for (const name of leftovers) await writeFile(join(folder, name), '');
  await files.sweep();
  expect((await openNames()).length).toBe(4);
  for (const name of [...leftovers, join('open', `${taskId}.1.lock`)])
    await utimes(join(folder, name), old, old);
  await files.sweep();
  expect((await openNames()).sort()).toEqual([`${taskId}.1.lock`, `${taskId}.json`]);
  expect(await readdir(join(folder, 'holders'))).toHaveLength(1);
});
