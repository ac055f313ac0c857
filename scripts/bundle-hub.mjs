// Puts the compiled hub and its threads into few files, in place of dist/src/main.js: loading eight hundred small ones
// takes most of a start. The compiled modules stay for the typed client, bench and demo. Usage: node bundle-hub.mjs,
// after tsc.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

/** Where the parts lie: as deep as src/hub, so that paths to the console and the downloads hold from there too. */
const parts = 'program';

/** Native, or with files that are opened by name, or loaded only where they are configured. */
const external = ['@libsql/*', '@opentelemetry/*', 'libsql', 'pino', 'uWebSockets.js'];

const threads = [
  'adapters/sqlite/threads/thread',
  'adapters/sqlite/threads/log-thread',
  'adapters/sqlite/threads/tenant-thread',
  'adapters/sqlite/threads/copy-thread',
  'adapters/node/evaluator/worker',
];

rmSync(`dist/src/${parts}`, { recursive: true, force: true });
await build({
  entryPoints: [
    { in: 'dist/src/main.js', out: 'main' },
    ...threads.map((file) => ({ in: `dist/${file}.js`, out: `${parts}/${file.split('/').at(-1)}` })),
  ],
  outdir: 'dist/src',
  chunkNames: `${parts}/[name]-[hash]`,
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  minifySyntax: true,
  minifyWhitespace: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  external,
  legalComments: 'linked',
  // CommonJS packages in an ES module.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
});
