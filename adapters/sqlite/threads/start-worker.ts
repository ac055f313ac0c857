// Starts this folder's threads: the compiled file, or the source through tsx when this module runs from source.
import { type ResourceLimits, Worker } from 'node:worker_threads';

/** Loads TypeScript in a thread: tsx given by `--import` acts on main threads only. */
const fromSource = (entry: URL): string =>
  `import('tsx/esm/api').then(({ register }) => { register(); return import('${entry.href}'); });`;

/**
 * @param file the entry's name in this folder, without its ending
 * @param resourceLimits default: those of Node
 */
export function startWorker(
  file: string,
  name: string,
  workerData: object,
  resourceLimits: ResourceLimits = {},
): Worker {
  const here = import.meta.url;
  const how = { workerData, name, resourceLimits };
  return here.endsWith('.ts')
    ? new Worker(fromSource(new URL(`./${file}.ts`, here)), { ...how, eval: true, execArgv: [] })
    : new Worker(new URL(`./${file}.js`, here), how);
}
