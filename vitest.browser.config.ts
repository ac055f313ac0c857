// The suite of the web console: a real browser against a real hub process. Its own run, because a browser takes seconds
// to start.
import { defineConfig } from 'vitest/config';
import LongestFirst from './test/longest-first.ts';
import { alias } from './vitest.alias.ts';

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/dashboard/**/*.test.ts'],
    globalSetup: ['test/dashboard/setup.ts'],
    // A browser for each worker, for all of its files.
    isolate: false,
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    experimental: { fsModuleCache: true },
    reporters: ['default', './test/results.ts'],
    testTimeout: 60_000,
    // Of a busy machine; the default is one second.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
  },
});
