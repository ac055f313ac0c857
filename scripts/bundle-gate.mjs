// Puts what `reeve-agent gate` needs for a verdict into one file, in place of the compiled module: loading a hundred
// small files takes longer than the verdict. Contracts are kept in the form that they have after reading, so the YAML
// reader is left out; what a gate does beside its verdict stays in files of its own. Usage: node bundle-gate.mjs
// FOLDER, with the compiled ES modules of the agent library.
import { join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const folder = process.argv[2] ?? 'dist/esm';
const entry = join(folder, 'cli/gate.js');

await build({
  entryPoints: [entry],
  outfile: entry,
  allowOverwrite: true,
  bundle: true,
  minifySyntax: true,
  minifyWhitespace: true,
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
