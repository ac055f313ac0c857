// One installer at a time over all processes of this machine. Lock files are numbered: the highest one counts, it is
// free when it says so or when its process is gone, and whoever creates the next number holds the lock.
import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const patienceMs = 10 * 60_000;

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

async function highest(folder: string): Promise<number> {
  const numbers = (await readdir(folder)).map((name) => Number(/^lock-(\d+)$/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...numbers);
}

async function held(file: string): Promise<boolean> {
  const words = await readFile(file, 'utf8').catch(() => 'free');
  return words !== 'free' && alive(Number(words));
}

/** Runs `task` while no other process runs one under the same folder. Waits up to ten minutes for its turn. */
export async function alone<T>(folder: string, task: () => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true });
  const draft = join(folder, `draft-${process.pid}-${Math.random().toString(36).slice(2)}`);
  await writeFile(draft, String(process.pid));
  const end = performance.now() + patienceMs;
  try {
    for (;;) {
      const number = await highest(folder);
      const mine = join(folder, `lock-${number + 1}`);
      const free = number === 0 || !(await held(join(folder, `lock-${number}`)));
      // A link appears with its content in one step and fails when another was faster.
      if (
        free &&
        (await link(draft, mine).then(
          () => true,
          () => false,
        ))
      ) {
        try {
          return await task();
        } finally {
          // Linked files share their content: the lock is set free under its own name only.
          await rm(draft);
          await writeFile(mine, 'free');
          if (number > 0) await rm(join(folder, `lock-${number}`), { force: true });
        }
      }
      if (performance.now() > end) throw new Error(`Another process holds ${mine}; remove it if none does.`);
      await wait(100);
    }
  } finally {
    await rm(draft, { force: true });
  }
}
