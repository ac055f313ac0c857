// The suite of the web console: a real browser against a real hub process. Its own run, because a browser takes seconds
// to start.
import { defineConfig } from 'vitest/config';
import { alias } from './vitest.alias.ts';

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/dashboard/**/*.test.ts'],
    // One browser for all files.
    isolate: false,
    maxWorkers: 1,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
