import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/cluster/**', 'node_modules/**'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    coverage: {
      provider: 'v8',
      include: ['src/domain/**', 'actors/**', 'src/handlers/**', 'src/http/**'],
      reporter: ['text-summary', 'json-summary'],
    },
  },
});
