// A reporter that prints the slowest 20 tests of a run, so that one that got slow is seen before it is a nuisance.
import type { Reporter, TestModule } from 'vitest/node';

const shown = 20;

export default class Slowest implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        name: `${module.relativeModuleId} > ${test.fullName}`,
        ms: Math.round(test.diagnostic()?.duration ?? 0),
      })),
    );
    // Of a file or two the default reporter says it already.
    if (tests.length <= shown) return;
    tests.sort((a, b) => b.ms - a.ms);
    const lines = tests.slice(0, shown).map(({ name, ms }) => `  ${String(ms).padStart(7)} ms  ${name}\n`);
    process.stdout.write(`\nThe slowest ${shown} tests\n${lines.join('')}`);
  }
}
