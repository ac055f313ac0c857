// For `npm run check`: all but the suites that wait for real deadlines, outages and reconnections. `npm test` runs
// those too.
import { defineConfig, mergeConfig } from 'vitest/config';
import all from './vitest.config.ts';

export default mergeConfig(
  all,
  defineConfig({
    test: {
      exclude: [
        'test/e2e/library/**',
        'test/e2e/{answers,approvals,backup,bounds-*,churn,console-client,data-folder,events,frames,full-disk,kill,kinds,matrix,playground,secret,secrets,start}.test.ts',
        'test/adapters/local/jobs.test.ts',
        'test/adapters/sqlite/{durability,threads}.test.ts',
        'packages/agent/test/package/**',
        'packages/agent/test/mcp/real.test.ts',
        'packages/agent/test/gate/gate.test.ts',
        'packages/agent/test/integrations.test.ts',
        'test/demo/**',
        'test/fuzz/fuzz.test.ts',
      ],
    },
  }),
);
