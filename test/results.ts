// A reporter that writes the tests of each file, by result, into the file that RESULTS_FILE names. Without this
// variable the reporter writes nothing.
import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export interface FileResult {
  /** Relative to the repository. */
  readonly path: string;
  readonly passed: number;
  /** At least 1 if the file itself did not load or its hooks failed. */
  readonly failed: number;
  /** Each failure by its test and the first line of its message; the whole text is in the output of the run. */
  readonly failures: readonly string[];
}

const firstLine = ({ message, cause }: SerializedError): string =>
  `${message.split('\n')[0]}${cause === undefined ? '' : ` (${firstLine(cause)})`}`;

function failuresOf(module: TestModule): readonly string[] {
  const path = module.relativeModuleId;
  const own = module.errors().map((error) => `${path}: ${firstLine(error)}`);
  // Of hooks.
  const suites = [...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map((error) => `${path} > ${suite.fullName}: ${firstLine(error)}`),
  );
  const tests = [...module.children.allTests('failed')].flatMap((test) =>
    (test.result().errors ?? []).map((error) => `${path} > ${test.fullName}: ${firstLine(error)}`),
  );
  // Its worker crashed before the file had ended.
  const isOpen = module.state() === 'pending' || module.state() === 'queued';
  return [...own, ...suites, ...tests, ...(isOpen ? [`${path}: did not end`] : [])];
}

export default class Results implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const target = process.env.RESULTS_FILE;
    if (target === undefined) return;
    const files = modules.map((module): FileResult => {
      const states = [...module.children.allTests()].map((test) => test.result().state);
      const failed = states.filter((state) => state === 'failed').length;
      return {
        path: module.relativeModuleId,
        passed: states.filter((state) => state === 'passed').length,
        failed: module.ok() ? failed : Math.max(1, failed),
        failures: failuresOf(module),
      };
    });
    writeFileSync(target, JSON.stringify({ files, errors: errors.map(firstLine) }));
  }
}
