// The build of the web console: one entry, a chunk for each page, and nothing inlined, because the
// Content-Security-Policy allows scripts and styles only from files.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/**
 * Small modules that the first page needs, in one file: a request of its own costs more than most of them. Modules that
 * load later, such as the editor and the rule engine, are not here.
 */
const base =
  /src\/(?:shared\/(?:duration|env-roles|ids|principal|visible-text)|dashboard\/(?:lib\/(?:address|api|arrival|browser|commands|drafts|event-stream|hosted|hosted-query|may|me|prefs|query|range|roles|search|server-time|store|text|ticker|unanswered)|live\/[\w-]+|ui\/(?:act-button|download|form|icons|keys|messages|narrow|parts|peek|query-result)))\.tsx?$/;

const isBase = (id: string): boolean => base.test(id);

/** A record's schemas run when it loads; pages that use a constant of a record need none of them. */
const moduleSideEffects = (id: string): boolean => !/src\/(?:\w+\/record|shared\/\w+)\.ts$/.test(id);

export default defineConfig({
  root: here('.'),
  base: '/dashboard/',
  resolve: { conditions: ['reeve-source', 'module', 'browser', 'production'] },
  worker: { format: 'es' },
  build: {
    outDir: here('../../dist/dashboard'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'base', test: isBase }] } },
      treeshake: { moduleSideEffects },
    },
  },
});
