// One round of a call that may take several: the call that its records belong to, and what earlier rounds have counted.
// Runs and records nothing.
import { randomUUID } from 'node:crypto';
import type { Counters } from '../rules/evaluate/limits.ts';
import type { CallRounds, RoundOptions } from './call.ts';
import type { RunCounters } from './counters.ts';

export class Round<R> {
  readonly callId: string;
  readonly callIndex: number;
  /** Starts at 1. */
  readonly count: number;
  /** True after a person approved the call. */
  isApproved: boolean;
  readonly #options: RoundOptions<R> | undefined;

  /** @param nextIndex the call's place in its run, if the call begins with this round */
  constructor(options: RoundOptions<R> | undefined, nextIndex: number) {
    const earlier = options?.earlier ?? null;
    this.#options = options;
    this.callId = earlier?.callId ?? randomUUID();
    this.callIndex = earlier?.callIndex ?? nextIndex;
    this.count = (earlier?.count ?? 0) + 1;
    this.isApproved = earlier?.isApproved ?? false;
  }

  get isFirst(): boolean {
    return this.count === 1;
  }

  /** The counters that judge this round: without the call's own execution, which an earlier round has counted. */
  async countsOf(counters: RunCounters): Promise<Partial<Counters>> {
    const counts = await counters.read();
    return this.isFirst ? counts : addExecutions(counts, -1);
  }

  /** The counters for the records of a later round: with the call's own execution. */
  withOwnExecution(counts: Counters): Counters {
    return { ...counts, ...addExecutions(counts, 1) };
  }

  isInterim(result: R): boolean {
    return this.#options?.isInterim(result) ?? false;
  }

  /** An interim result as the caller gets it. */
  carry(result: R): R {
    const { callId, callIndex, count, isApproved } = this;
    return (
      this.#options?.carry(result, { callId, callIndex, count, isApproved } satisfies CallRounds) ?? result
    );
  }
}

const addExecutions = (
  { executions, toolExecutions }: Omit<Counters, 'attempts'>,
  change: number,
): Omit<Counters, 'attempts'> => ({
  executions: Math.max(0, executions + change),
  toolExecutions: Math.max(0, toolExecutions + change),
});
