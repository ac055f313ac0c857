import { defineConfig } from 'vitest/config';
import LongestFirst from './test/longest-first.ts';
import { alias } from './vitest.alias.ts';

const shared = {
  globalSetup: ['test/services/setup.ts'],
  testTimeout: 120_000,
  // Of a busy machine; the default is one second.
  expect: { poll: { timeout: 20_000 } },
  hookTimeout: 120_000,
  // Files of a group share a process: no test mocks a module or leaves anything behind.
  isolate: false,
};

/** Promises of whole seconds while nodes die: late when other files' nodes start on the same processors. */
const chaos = 'test/cluster/chaos/**/*.test.ts';

/**
 * Suites of one adapter each, and of nodes that mostly wait or promise whole seconds, on databases and prefixes, or on
 * servers, of their own: some files at a time.
 */
const adapters = [
  'mongo-contract-*',
  'mongo-{approval-commands,audit,commands,exports,library,outage,schema}',
  'redis',
  'redis-{outage,switchover}',
  'jobs',
  'jobs-outage',
  'message-bus',
  'cluster-format',
  'connect-failure',
  '{alerts,prometheus}',
  'hub-outage',
  '{doctor,oidc,tenant-files}',
  '{limits,mongo-nodes,notifications,role-cells,two-nodes}',
  '{move,move-kill,outage-log}',
].map((name) => `test/cluster/${name}.test.ts`);

export default defineConfig({
  test: {
    reporters: ['default', './test/slowest.ts', './test/results.ts'],
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        resolve: { alias },
        test: {
          ...shared,
          name: 'adapters',
          include: adapters,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        resolve: { alias },
        test: {
          ...shared,
          // Whole fleets.
          name: 'nodes',
          include: ['test/cluster/**/*.test.ts'],
          exclude: [...adapters, chaos],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        resolve: { alias },
        test: { ...shared, name: 'chaos', include: [chaos], maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
