// Ranges of time that requests name.
import { fieldProblem } from './error.ts';

/** Epoch milliseconds; `until` is exclusive. */
export interface TimeRange {
  readonly since: number;
  readonly until: number;
}

/** Refuses a range that ends before it begins. @throws HubError validation_failed */
export function checkRange({ since, until }: TimeRange): void {
  if (until <= since) throw fieldProblem(['until'], 'must be after since');
}
