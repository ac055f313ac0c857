// Writes the typed client of the console API (packages/agent/src/console/generated) and dist/openapi.json from the
// declarations of routes: node generate.mjs [--surface]. With `--surface` also docs/api-surface.txt, which is
// committed. Runs from the sources, because the client is part of the library that the hub's build needs. A file whose
// text did not change keeps its time, so that the next steps of a build see no change.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const program = join(root, `node_modules/.cache/generate-${process.pid}.mjs`);

try {
  await build({
    entryPoints: [join(root, 'scripts/generated.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    conditions: ['reeve-source'],
    external: ['yaml', 'zod'],
    logLevel: 'error',
  });
  const { builtFiles, committedFiles, clientFolder } = await import(pathToFileURL(program).href);
  const files = new Map([...builtFiles(), ...(process.argv.includes('--surface') ? committedFiles() : [])]);
  for (const [path, text] of files) write(join(root, path), text);
  for (const name of readdirSync(join(root, clientFolder))) {
    if (!files.has(`${clientFolder}/${name}`)) rmSync(join(root, clientFolder, name));
  }
} finally {
  rmSync(program, { force: true });
}

function write(file, text) {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
