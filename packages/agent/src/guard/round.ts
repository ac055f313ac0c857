// One round of a call that may take several: the call that its records belong to, what earlier rounds have counted, and
// what the user has answered. Runs and records nothing.
import { randomUUID } from 'node:crypto';
import type { AuditRecord, RoundAnswers } from '../record.ts';
import type { Counters } from '../rules/evaluate/limits.ts';
import type { Redaction } from '../rules/redact.ts';
import type { CallRounds, RoundOptions, ToolArgs } from './call.ts';
import type { RunCounters } from './counters.ts';
import type { Denial } from './denial.ts';

/** Bytes of all answers of a call in its record, as JSON. They travel in the sealed state of a round. */
const maxAnswerBytes = 4096;
/** Rounds whose answers are recorded: a tool that stays open may ask without end. */
const maxAnsweredRounds = 16;

export class Round<R> {
  readonly callId: string;
  readonly callIndex: number;
  /** Starts at 1. */
  count: number;
  /** Attempts of the run when the call began, this one included. 0 before they are counted. */
  attempts: number;
  /** True after a person approved the call. */
  isApproved: boolean;
  readonly #options: RoundOptions<R> | undefined;
  readonly #redaction: Redaction;
  #answers: readonly RoundAnswers[];
  #isCounted: boolean;

  constructor(options: RoundOptions<R> | undefined, callIndex: number, redaction: Redaction) {
    const earlier = options?.earlier ?? null;
    this.#options = options;
    this.#redaction = redaction;
    this.callId = earlier?.callId ?? randomUUID();
    this.callIndex = callIndex;
    this.count = (earlier?.count ?? 0) + 1;
    this.attempts = earlier?.attempts ?? 0;
    this.isApproved = earlier?.isApproved ?? false;
    this.#isCounted = earlier?.isCounted ?? false;
    this.#answers = withAnswers(earlier?.answers ?? [], this.count, options?.answers ?? {}, redaction);
  }

  get isFirst(): boolean {
    return this.count === 1;
  }

  /** True after the execution was counted. */
  get isCounted(): boolean {
    return this.#isCounted;
  }

  /**
   * Right before the tool runs.
   * @param withheldText null if contracts let the question go on
   */
  start(withheldText: (question: R) => string | null): void {
    this.#options?.onStart?.({
      isWithheld: (question) => withheldText(question) !== null,
      answered: (answers) => this.#answered(answers),
    });
  }

  /** Members of the call's last record. */
  get ofRecord(): Pick<AuditRecord, 'rounds' | 'answers'> {
    if (this.isFirst) return {};
    return { rounds: this.count, ...this.#answersSoFar };
  }

  /** The counters that judge this round: without the call's own execution, if an earlier round has counted it. */
  async countsOf(counters: RunCounters): Promise<Partial<Counters>> {
    const counts = await counters.read();
    return this.isCounted ? addExecutions(counts, -1) : counts;
  }

  /** Counts the execution, once for all rounds. */
  async countExecution(counters: RunCounters): Promise<Partial<Counters>> {
    const counts = await (this.isCounted ? counters.read() : counters.execution());
    this.#isCounted = true;
    return counts;
  }

  /** Takes the execution of this round back, because the tool does not run. In an earlier round it has run. */
  async withdraw(counters: RunCounters): Promise<void> {
    if (this.#options?.earlier?.isCounted) return;
    await counters.withdraw();
    this.#isCounted = false;
  }

  /** The counters for the records of a round: with the call's own execution. */
  withOwnExecution(counts: Counters): Counters {
    return this.isCounted ? { ...counts, ...addExecutions(counts, 1) } : counts;
  }

  isInterim(result: R): boolean {
    return this.#options?.isInterim(result) ?? false;
  }

  /** An interim result as the caller gets it. */
  carry(result: R): R {
    return this.#options?.carry(result, this.#soFar) ?? result;
  }

  /** The approval was handed over to the caller. */
  suspend(denial: Denial): void {
    this.#options?.suspend?.(this.#soFar, denial);
  }

  /** The tool has its answers while it runs, and goes on. */
  #answered(answers: ToolArgs): void {
    this.count += 1;
    this.#answers = withAnswers(this.#answers, this.count, answers, this.#redaction);
  }

  get #soFar(): CallRounds {
    const { callId, callIndex, count, attempts, isApproved, isCounted } = this;
    return { callId, callIndex, count, attempts, isApproved, isCounted, ...this.#answersSoFar };
  }

  get #answersSoFar(): Pick<CallRounds, 'answers'> {
    return this.#answers.length > 0 ? { answers: this.#answers } : {};
  }
}

function withAnswers(
  earlier: readonly RoundAnswers[],
  round: number,
  sent: object,
  redaction: Redaction,
): readonly RoundAnswers[] {
  if (Object.keys(sent).length === 0 || earlier.length >= maxAnsweredRounds) return earlier;
  const answers = [...earlier, { round, answers: redaction.redactArgs(sent) }];
  if (Buffer.byteLength(JSON.stringify(answers)) <= maxAnswerBytes) return answers;
  return [...earlier, { round, answers: { _truncated: true } }];
}

const addExecutions = (
  { executions, toolExecutions }: Omit<Counters, 'attempts'>,
  change: number,
): Omit<Counters, 'attempts'> => ({
  executions: Math.max(0, executions + change),
  toolExecutions: Math.max(0, toolExecutions + change),
});
