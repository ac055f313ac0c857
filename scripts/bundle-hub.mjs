// Puts the compiled hub and its threads into few files, in place of dist/src/main.js: loading eight hundred small ones
// takes most of a start. The compiled modules stay for the typed client, bench and demo. Usage: node bundle-hub.mjs,
// after tsc.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

/** Folder of the parts: as deep as src/hub, so that paths to the console and the downloads hold from there too. */
const parts = 'program';

/** Native, or with files that are opened by name, or loaded only where they are configured. */
const external = [
  '@libsql/*',
  '@opentelemetry/exporter-*',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-*',
  'libsql',
  'pino',
  'uWebSockets.js',
];

/** The hub speaks English: each thread would compile the messages of fifty other languages at its start. */
const englishOnly = {
  name: 'english-only',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      resolveDir: 'node_modules/zod/v4/locales',
    }));
  },
};

const bundle = (entryPoints) =>
  build({
    entryPoints,
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
    // Node has them all. In doubt about a name, esbuild makes a pattern anew each time that it is used.
    supported: { 'regexp-unicode-property-escapes': true },
    external,
    plugins: [englishOnly],
    legalComments: 'linked',
    // CommonJS packages in an ES module.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
  });

const partOf = (file) => ({ in: `dist/${file}.js`, out: `${parts}/${file.split('/').at(-1)}` });
const storeThreads = ['thread', 'log-thread', 'tenant-thread', 'copy-thread'];

rmSync(`dist/src/${parts}`, { recursive: true, force: true });
// A chunk that the program shares with a thread would hold what only the program needs: each has its own.
await bundle([{ in: 'dist/src/main.js', out: 'main' }]);
await bundle(storeThreads.map((name) => partOf(`adapters/sqlite/threads/${name}`)));
await bundle([partOf('adapters/node/evaluator/worker')]);
