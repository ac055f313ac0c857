// Puts what `reeve-agent gate` needs for a verdict into one file, in place of the compiled module: loading a hundred
// small files takes longer than the verdict. Contracts are kept in the form that they have after reading, so the YAML
// reader is left out; what a gate does beside its verdict stays in files of its own. Modules of the program that nobody
// loads any more go, and so do its declarations, which nobody can import. Usage: node bundle-gate.mjs FOLDER, with the
// compiled ES modules of the agent library.
import { readdirSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const folder = process.argv[2] ?? 'dist/esm';
const entry = join(folder, 'cli/gate.js');

await build({
  entryPoints: [entry],
  outfile: entry,
  allowOverwrite: true,
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  plugins: [
    {
      name: 'parts',
      setup(one) {
        // Loaded by name when it is needed, from where it lies.
        one.onResolve({ filter: /^\.\.?\// }, ({ path, kind, resolveDir }) => {
          if (kind !== 'dynamic-import') return undefined;
          const from = relative(resolve(folder, 'cli'), resolve(resolveDir, path)).replaceAll('\\', '/');
          return { path: from.startsWith('.') ? from : `./${from}`, external: true };
        });
        // Importing a built-in module as an ES module loads what all of its exports need, streams for instance.
        one.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
          kind === 'dynamic-import' ? { path, external: true } : { path, namespace: 'built-in' },
        );
        one.onLoad({ filter: /.*/, namespace: 'built-in' }, ({ path }) => ({
          contents: `module.exports = process.getBuiltinModule('${path}');`,
        }));
        one.onResolve({ filter: /^yaml$/ }, () => ({ path: 'yaml', namespace: 'left-out' }));
        one.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: 'module.exports = {};' }));
      },
    },
  ],
});

const { metafile } = await build({
  entryPoints: [join(folder, 'cli/main.js')],
  bundle: true,
  write: false,
  metafile: true,
  outdir: folder,
  platform: 'node',
  format: 'esm',
  packages: 'external',
});
const loaded = new Set(Object.keys(metafile.inputs).map((path) => resolve(path)));
for (const file of readdirSync(join(folder, 'cli'), { recursive: true, withFileTypes: true })) {
  const path = resolve(file.parentPath, file.name);
  if (file.isFile() && !loaded.has(path)) rmSync(path);
}
