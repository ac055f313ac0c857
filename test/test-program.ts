// TypeScript programs of tests, each in one file of JavaScript: loading a compiler and hundreds of modules takes a
// process longer than the work to be tested.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect } from 'vitest';

const folder = join(import.meta.dirname, '../node_modules/.cache/test-programs');
/** Native, or with files that are opened by name. */
const external = ['@libsql/*', 'libsql', 'uWebSockets.js', 'pino'];
const requireBanner =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

/** The path of a program that `node` runs. @param source an absolute path, or the text of a program */
export async function testProgram(
  source: string | { readonly text: string; readonly name: string },
): Promise<string> {
  const name = typeof source === 'string' ? source.replace(/^.*\/|\.ts$/g, '') : source.name;
  // Test files run side by side, and more than one may need the same program.
  const outfile = join(
    folder,
    `${name}-${process.pid}-${expect.getState().testPath?.replace(/\W+/g, '-')}.mjs`,
  );
  mkdirSync(folder, { recursive: true });
  await build({
    ...(typeof source === 'string'
      ? { entryPoints: [source] }
      : { stdin: { contents: source.text, resolveDir: import.meta.dirname, loader: 'ts' } }),
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    conditions: ['reeve-source'],
    external,
    banner: { js: requireBanner },
    logLevel: 'error',
  });
  return outfile;
}
