// Compiled files for tests that start threads and programs: loading TypeScript there costs ten times as much as the
// work to be tested. Compiles nothing: `npm test` builds first, and whoever runs one suite by hand gets the source when
// dist is older than it.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** The newest change below the folders that are compiled. */
const newestSource = Math.max(
  ...['src', 'actors', 'adapters', 'packages/agent/src'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  ),
);

/** A thread of the hub as the program has it, in one file: `thread` of a store, `worker` of the evaluator. */
export const bundledThread = (name: 'thread' | 'worker'): URL | null => compiled(`src/program/${name}.ts`);

/** The compiled form of a source file such as `src/main.ts`; null when it is missing or older than any source. */
export function compiled(source: string): URL | null {
  const library = source.replace('packages/agent/src/', 'packages/agent/dist/esm/');
  const path = library === source ? join('dist', source) : library;
  const file = join(root, path.replace(/\.ts$/, '.js'));
  return existsSync(file) && statSync(file).mtimeMs >= newestSource ? new URL(`file://${file}`) : null;
}
