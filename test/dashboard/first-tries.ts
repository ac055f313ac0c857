// Says why a test passed at its second try only: vitest keeps that to itself.
import type { Reporter, TestCase } from 'vitest/node';

export default class FirstTries implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state !== 'passed' || !errors) return;
    for (const { stack, message } of errors) {
      process.stderr.write(`The first try of "${test.fullName}" failed:\n${stack ?? message}\n`);
    }
  }
}
