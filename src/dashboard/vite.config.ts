// How the web console is bundled: one entry, every page a chunk of its own, nothing inlined, because the
// Content-Security-Policy allows scripts and styles from files alone.
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
