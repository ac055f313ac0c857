import { defineConfig } from 'vitest/config';
import LongestFirst from './test/longest-first.ts';
import { alias, sameOnEveryNode } from './vitest.alias.ts';

const atLeast = { lines: 90 };

export default defineConfig({
  plugins: [sameOnEveryNode],
  resolve: { alias },
  test: {
    reporters: ['default', './test/slowest.ts', './test/results.ts'],
    include: ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
    exclude: ['test/cluster/**', 'test/dashboard/**', '**/node_modules/**'],
    testTimeout: 60_000,
    // Of a busy machine; the default is one second.
    expect: { poll: { timeout: 15_000 } },
    hookTimeout: 60_000,
    // Files share a process: no test mocks a module or leaves anything behind, and loading everything anew per file
    // costs more than the tests.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Later runs read compiled modules from node_modules instead of compiling each module again.
    experimental: { fsModuleCache: true },
    // Many tests wait for processes and deadlines: more workers than the default of one less than there are cores.
    maxWorkers: 4,
    coverage: {
      provider: 'v8',
      include: ['src/*/rules/**', 'src/*/rules.ts', 'actors/**', 'src/*/{console,hosted}/**', 'src/http/**'],
      reporter: ['text-summary', 'json-summary'],
      thresholds: {
        'src/*/rules/**': atLeast,
        'actors/**': atLeast,
        'src/*/{console,hosted}/**': atLeast,
        'src/http/**': atLeast,
      },
    },
  },
});
