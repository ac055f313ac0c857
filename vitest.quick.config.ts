// For `npm run check`: what tells within a minute, on two cores, that a change broke something. `npm test` runs
// everything else too.
import { defineConfig, mergeConfig } from 'vitest/config';
import all from './vitest.config.ts';

export default mergeConfig(
  all,
  defineConfig({
    test: {
      exclude: [
        // Suites that start real processes; one of them stays, which goes through the whole life of a hub.
        'test/bench/{base,ci,guard,loader,remote,rivals,scenarios,simulation,streams,suite,usage}.test.ts',
        'test/e2e/!(main-job).test.ts',
        'test/e2e/library/**',
        'test/demo/**',
        'test/adapters/node/evaluator/**',
        'test/adapters/sqlite/{durability,threads}.test.ts',
        'packages/agent/test/{cli,connect,exec,guide,integrations}.test.ts',
        'packages/agent/test/{gate,package}/**',
        'packages/agent/test/mcp/{conformance,misbehaving,modern,pairs,random-client,real,session,task-input,tasks}.test.ts',
        'packages/agent/test/rules/sandbox/{oracle,reference,shell}.test.ts',
        // Suites that wait for real deadlines, outages and reconnections.
        'test/actors/{continuation,runtime/handover}.test.ts',
        'test/adapters/local/jobs.test.ts',
        'test/admission/refusals.test.ts',
        'test/adapters/uws/{bodyless,ends,http,live,unsent}.test.ts',
        'test/adapters/messengers/email.test.ts',
        'packages/agent/test/body.test.ts',
        'test/notification/{chats,console,deliveries}.test.ts',
        'test/http/churn.test.ts',
        'test/run/sample.test.ts',
        'test/hub/housekeeping.test.ts',
        // Suites that search a large space at random, or work at the largest sizes that are allowed.
        'test/actors/roster.test.ts',
        'test/adapters/node/archive.test.ts',
        'test/adapters/redis/entry.test.ts',
        'test/adapters/sqlite/{call-table,calls,event-pages,gather,loaded-bytes,long-lists}.test.ts',
        'test/adapters/sqlite/{schema,search,summaries,thread-locks}.test.ts',
        'test/bench/compare.test.ts',
        'test/bundle/hosted.test.ts',
        'test/event/{as-sent,large,posts}.test.ts',
        'test/fuzz/**',
        'test/http/body-costs.test.ts',
        'test/evaluation/{playground,replay}.test.ts',
        'test/export/ocsf.test.ts',
        'test/tenant/files.test.ts',
        'test/usage/coverage.test.ts',
        'packages/agent/test/fuzz/**',
        'packages/agent/test/{doubt,large-states,pins}.test.ts',
        'packages/agent/test/rules/{redact,yaml}.test.ts',
        'packages/agent/test/rules/sandbox/long-words.test.ts',
        'packages/agent/test/rules/redact/**',
        'packages/agent/test/rules/evaluate/{differential,language,live}.test.ts',
        'packages/agent/test/rules/regex/regex.test.ts',
      ],
    },
  }),
);
