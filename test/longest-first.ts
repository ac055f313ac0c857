// Starts the files that take longest first, so that none of them runs alone at the end. The rest in vitest's own order.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A name that matches no file does no harm. */
const longest = [
  'test/fuzz/fuzz.test.ts',
  'test/http/body-costs.test.ts',
  'test/adapters/sqlite/threads.test.ts',
  'test/e2e/notifications.test.ts',
  'test/e2e/full-disk.test.ts',
  'test/e2e/start.test.ts',
  'test/e2e/data-folder.test.ts',
  'test/e2e/purge-full-disk.test.ts',
  'test/adapters/uws/ends.test.ts',
  'test/adapters/uws/bodyless.test.ts',
  'test/e2e/backup.test.ts',
  'test/e2e/library/outage.test.ts',
  'test/bench/streams.test.ts',
  'test/bench/guard.test.ts',
  'packages/agent/test/rules/sandbox/shell.test.ts',
  'test/run/sample.test.ts',
  'test/evaluation/playground.test.ts',
  'test/event/large.test.ts',
  'test/e2e/kill.test.ts',
  'test/hub/housekeeping.test.ts',
  'test/e2e/other-clients.test.ts',
  'test/adapters/sqlite/durability.test.ts',
  'packages/agent/test/integrations.test.ts',
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
