// Starts the files that take longest first, so that none of them runs alone at the end. The rest in vitest's own order.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A name that matches no file does no harm. */
const longest = [
  'test/cluster/chaos/promises.test.ts',
  'test/cluster/hub.test.ts',
  'test/cluster/rolling.test.ts',
  'test/cluster/hub-outage.test.ts',
  // Beside each other, two that keep the store busy and one that waits.
  'test/cluster/mongo-contract-events.test.ts',
  'test/cluster/mongo-contract-library.test.ts',
  'test/cluster/redis.test.ts',
  'test/cluster/mongo-contract-fleet.test.ts',
  'test/cluster/move-kill.test.ts',
  'test/cluster/jobs.test.ts',
  'test/cluster/move.test.ts',
  'test/cluster/alerts.test.ts',
  // They wait for most of their time, and others work beside them.
  'test/e2e/other-clients.test.ts',
  'test/adapters/uws/http.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/e2e/as-code.test.ts',
  // Takes long on Node's own server only.
  'test/adapters/uws/unsent.test.ts',
  'test/e2e/other-hosted-clients.test.ts',
  'test/e2e/retention-kill.test.ts',
  'test/e2e/notifications.test.ts',
  'packages/agent/test/gate/gate.test.ts',
  'test/e2e/backup.test.ts',
  'test/e2e/data-folder.test.ts',
  'test/adapters/sqlite/threads.test.ts',
  'test/adapters/uws/live.test.ts',
  'test/e2e/playground.test.ts',
  'test/adapters/uws/bodyless.test.ts',
  'test/adapters/messengers/email.test.ts',
  'packages/agent/test/integrations.test.ts',
  'packages/agent/test/mcp/real.test.ts',
  'packages/agent/test/mcp/conformance.test.ts',
  'packages/agent/test/package/package.test.ts',
  'test/e2e/start.test.ts',
  'test/adapters/local/jobs.test.ts',
  'test/adapters/sqlite/durability.test.ts',
  'test/e2e/full-disk.test.ts',
  'test/e2e/role-cells.test.ts',
  'test/e2e/export-lines.test.ts',
  'test/e2e/kill.test.ts',
  'test/bench/guard.test.ts',
  'test/bench/suite.test.ts',
  'test/e2e/doctor.test.ts',
  'test/e2e/bounds-http.test.ts',
  'test/http/body-costs.test.ts',
  'test/event/large.test.ts',
  'test/e2e/roles.test.ts',
  'test/e2e/alerts.test.ts',
  'test/bench/streams.test.ts',
  'test/bench/remote.test.ts',
  'test/e2e/library/weather.test.ts',
  'test/e2e/library/outage.test.ts',
  'test/e2e/library/mcp-tasks.test.ts',
  'test/e2e/library/pins.test.ts',
  'test/e2e/tenants.test.ts',
  'test/e2e/prometheus.test.ts',
  'test/e2e/purge-full-disk.test.ts',
  'test/e2e/approvals.test.ts',
  'packages/agent/test/connect.test.ts',
  'packages/agent/test/guide.test.ts',
  'packages/agent/test/mcp/tasks.test.ts',
  'packages/agent/test/rules/yaml.test.ts',
  'test/e2e/traces.test.ts',
  'test/e2e/secret.test.ts',
  'test/demo/demo.test.ts',
  'test/export/ocsf.test.ts',
  // At night.
  'test/adapters/sqlite/inline.test.ts',
];

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = longest.findIndex((name) => moduleId.endsWith(`/${name}`));
      return place === -1 ? longest.length : place;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
