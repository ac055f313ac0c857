import { defineConfig } from 'vitest/config';
import { alias } from './vitest.alias.ts';

export default defineConfig({
  resolve: { alias },
  test: {
    reporters: ['default', './test/slowest.ts'],
    include: ['test/cluster/**/*.test.ts'],
    globalSetup: ['test/services/setup.ts'],
    fileParallelism: false,
    testTimeout: 30_000,
    // Of a busy machine; the default is one second.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
  },
});
