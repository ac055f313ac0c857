// Which file a thread loads. Run from its sources (tests, development), a thread would need a loader of TypeScript,
// which takes a second to start: its modules are put into one file of JavaScript instead.
import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Of the sources, as they were when they were first needed. */
class Bundles {
  readonly #files = new Map<string, URL>();

  get(entry: URL): URL {
    const file = this.#files.get(entry.href) ?? bundleOf(entry);
    this.#files.set(entry.href, file);
    return file;
  }
}
const bundles = new Bundles();

/** @param entry the module that the thread runs, compiled or as TypeScript */
export const threadFile = (entry: URL): URL => (entry.pathname.endsWith('.ts') ? bundles.get(entry) : entry);

/** Beside the packages, so that the file finds those that stay outside of it. */
function bundleOf(entry: URL): URL {
  const esbuild: typeof import('esbuild') = createRequire(import.meta.url)('esbuild');
  const built = esbuild.buildSync({
    entryPoints: [entry.pathname],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    external: ['libsql'],
    alias: { 'reeve-agent': new URL('../../packages/agent/src', import.meta.url).pathname },
    // A thread that starts another looks for it beside its own source.
    define: { 'import.meta.url': JSON.stringify(entry.href) },
    // CommonJS packages in an ES module.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
  });
  const code = built.outputFiles[0]?.contents ?? new Uint8Array();
  const folder = new URL('../../node_modules/.cache/threads/', import.meta.url);
  const file = new URL(`${createHash('sha256').update(code).digest('hex').slice(0, 16)}.mjs`, folder);
  mkdirSync(folder, { recursive: true });
  const draft = new URL(`${file.href}.${process.pid}`);
  writeFileSync(draft, code);
  renameSync(draft, file);
  return file;
}
