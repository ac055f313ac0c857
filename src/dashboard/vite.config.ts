// The build of the web console: one entry, a chunk for each page, and nothing inlined, because the
// Content-Security-Policy allows scripts and styles only from files.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

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
  },
});
