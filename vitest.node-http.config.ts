// The suites of the edge, and those that play clients against a hub process, on Node's own HTTP server in place of the
// native one.
import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.ts';

export default mergeConfig(
  base,
  defineConfig({
    test: { env: { HTTP_SERVER: 'node' } },
  }),
);
