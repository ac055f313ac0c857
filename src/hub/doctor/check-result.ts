// Findings of `reeve doctor`: one line for each check.

export interface CheckResult {
  /** Of the check; stable, for programs. */
  readonly check: string;
  readonly outcome: 'ok' | 'warning' | 'failure';
  readonly detail: string;
  /** Action to take. Null if all is well. */
  readonly advice: string | null;
}

export const ok = (check: string, detail: string): CheckResult => ({
  check,
  outcome: 'ok',
  detail,
  advice: null,
});
export const warning = (check: string, detail: string, advice: string): CheckResult => ({
  check,
  outcome: 'warning',
  detail,
  advice,
});
export const failure = (check: string, detail: string, advice: string): CheckResult => ({
  check,
  outcome: 'failure',
  detail,
  advice,
});

/** The finding, or a failure with the message of the error. */
export async function attempt(
  check: string,
  advice: string,
  task: () => Promise<CheckResult | readonly CheckResult[]> | CheckResult | readonly CheckResult[],
): Promise<readonly CheckResult[]> {
  try {
    return [await task()].flat();
  } catch (error) {
    return [failure(check, error instanceof Error ? error.message : String(error), advice)];
  }
}
