// The path of one live call: attempt, hooks, contracts, approval, the tool, post contracts, and a record of each step.
import { type ApprovalOutcome, type ApprovalRequest, HandedOverError } from '../approvals.ts';
import { messageOf } from '../failure.ts';
import type { AuditAction, AuditRecord, RuleEvaluated } from '../record.ts';
import type { Counters } from '../rules/evaluate/limits.ts';
import type { Decision } from '../rules/evaluate/live.ts';
import { type CallSpan, traceIdOf } from '../telemetry.ts';
import { type Judged, sayTheSame, shownToPeople } from './arguments.ts';
import { DeniedError, NotStartedError, type RunOptions, type ToolArgs } from './call.ts';
import { askAfter, askContract, type CodeContract, type ContractType } from './contract.ts';
import { RunCounters } from './counters.ts';
import {
  actionOf,
  argumentsChanged,
  argumentsInDoubt,
  type Denial,
  denialOf,
  detailsOf,
  noBackend,
  questionOf,
  refusedByCaller,
  refusedByLimit,
  refusedByPeople,
} from './denial.ts';
import { askHooks, type HookCall } from './hook.ts';
import { decisions, endings, Journal, type RecordDetails, redactedPrincipal } from './journal.ts';
import { recordObserved, recordShadows } from './observed.ts';
import { type JudgedResult, judgeFailure, judgeResult, replaceText, textForCode } from './output.ts';
import type { CallPlace, CallSubject, RunParts } from './parts.ts';
import type { Policy } from './policy.ts';
import { Round } from './round.ts';
import { startSpan } from './span.ts';

/** One call while it runs. Judged by the policy that it began with; after an approval by the one in force then. */
export class GovernedCall<A extends object, R> {
  readonly #parts: RunParts;
  readonly #args: A;
  readonly #judged: Judged;
  readonly #input: HookCall;
  /** The arguments for people and records. */
  readonly #argsForPeople: ToolArgs;
  readonly #options: RunOptions<R>;
  readonly #journal: Journal;
  readonly #counters: RunCounters;
  readonly #span: CallSpan;
  readonly #context: Pick<ApprovalRequest, 'principal' | 'sessionId' | 'callId'>;
  readonly #round: Round<R>;
  #counts: Counters;
  #hooks: AuditRecord['hooks_evaluated'] = [];
  #rules: readonly RuleEvaluated[] = [];
  #policyError = false;
  #isDecided: boolean;
  #policy: Policy;

  constructor(
    parts: RunParts,
    place: CallPlace,
    { tool, args, judged }: CallSubject<A>,
    options: RunOptions<R>,
  ) {
    this.#parts = parts;
    this.#policy = parts.policy;
    this.#options = options;
    const round = new Round(options.rounds, place.callIndex, parts.redaction);
    this.#round = round;
    this.#counts = { attempts: round.attempts, executions: 0, toolExecutions: 0 };
    this.#isDecided = round.isCounted || options.rounds?.question !== undefined;
    const { environment, principal } = place;
    const { metadata = {}, cwd = null, traceparent } = options;
    const trace_id = traceIdOf(traceparent);
    const onBehalfOf = redactedPrincipal(parts.redaction, principal);
    this.#context = { principal: onBehalfOf, sessionId: place.runId, callId: round.callId };
    this.#args = args;
    this.#judged = judged;
    this.#argsForPeople = shownToPeople(judged.args);
    this.#input = { tool, args: judged.args, environment, principal, metadata, cwd };
    const side_effect = parts.policy.sideEffect(this.#input);
    this.#span = startSpan(parts, place, tool, side_effect, traceparent);
    const facts = {
      ...{ run_id: place.runId, call_id: round.callId, call_index: place.callIndex },
      ...{ parent_call_id: place.parentCallId, tool_name: tool, tool_args: this.#argsForPeople },
      ...{ side_effect, environment, principal, policy_version: parts.policy.version },
      mode: parts.modeOf(parts.policy),
      ...(trace_id === null ? {} : { trace_id }),
    };
    this.#journal = new Journal(parts, facts, this.#span);
    this.#counters = new RunCounters(parts.sessions, place.runId, tool, parts.outcomes);
  }

  /** @throws DeniedError; whatever the tool throws; ResultReplacedError; storage failures, before the tool runs */
  async run(fn: (args: A) => R | PromiseLike<R>): Promise<R> {
    const { running, startedAt } = await this.#decided(() => ({
      startedAt: this.#parts.clock.monotonic(),
      running: this.#span.within(() => this.#parts.within(this.#round.callId, async () => this.#start(fn))),
    }));
    return this.#finished(running, startedAt);
  }

  #start(fn: (args: A) => R | PromiseLike<R>): R | PromiseLike<R> {
    this.#round.start((question) => this.#withheldText(this.#read(question)));
    return fn(this.#args);
  }

  readonly #read = (result: R): JudgedResult => judgeResult(result, this.#options, this.#parts.onError);

  /**
   * All that comes before the tool, which somebody else may run.
   * @throws DeniedError; HandedOverError; storage failures
   */
  decide(): Promise<void> {
    return this.#decided(() => {});
  }

  /** `next` starts in the same turn as the last check of the arguments, so that nobody can change them in between. */
  async #decided<T>(next: () => T): Promise<T> {
    try {
      await this.#counters.undoOnFailure(() => this.#decide());
      if (!sayTheSame(this.#judged, this.#args)) {
        await this.#round.withdraw(this.#counters);
        await this.#deny(argumentsChanged);
      }
      return next();
    } catch (failure) {
      const message = this.#parts.redaction.redactText(messageOf(failure));
      this.#span.set({ 'governance.reason': message });
      this.#span.end(true, message);
      throw failure;
    }
  }

  /** Returns when the tool may run, with its execution counted. */
  async #decide(): Promise<void> {
    if (!this.#round.isFirst) return this.#decideRound();
    this.#counts = await this.#counters.attempt();
    this.#round.attempts = this.#counts.attempts;
    const { refusal } = this.#options;
    // The refusal comes first: in observe mode, a limit that is reached lets the call go on.
    if (refusal) return this.#deny(refusedByCaller(refusal));
    const early = this.#policy.tooManyAttempts(this.#input, this.#counts);
    if (early) return this.#deny(this.#denialOf(early));
    if (this.#judged.doubt !== null) return this.#deny(argumentsInDoubt(this.#judged.doubt));
    const hookDecision = await askHooks(this.#parts.hooks, this.#input, this.#parts.matches);
    this.#hooks = hookDecision.evaluated;
    if (hookDecision.denied) return this.#deny({ source: 'hook', ...hookDecision.denied });
    const refused = await this.#askOwn('pre');
    if (refused) return this.#deny(refused);
    const decision = this.#policy.before(this.#input, this.#counts);
    this.#rules = [...this.#rules, ...decision.records];
    this.#policyError ||= decision.policyError;
    await recordObserved(this.#journal, decision.records, this.#policy.version, this.#conditionsOf);
    if (decision.verdict === 'deny') return this.#deny(this.#denialOf(decision));
    const spent = await this.#askOwn('session');
    if (spent) return this.#deny(spent);
    // A person is asked last: what anything refuses, nobody is asked about.
    if (decision.verdict === 'approve') return this.#askApproval(decision);
    await this.#allow(decision.shadows);
  }

  async #allow(shadows: Decision['shadows']): Promise<void> {
    if (!(await this.#reserve())) return;
    await this.#record('call_allowed', {});
    this.#parts.telemetry.counted('allowed', this.#input.tool);
    this.#span.set({ 'governance.action': 'allowed' });
    await this.#recordShadows(shadows);
  }

  /** A later round: the contracts in force are asked again, and nothing is counted. */
  async #decideRound(): Promise<void> {
    const { refusal, rounds } = this.#options;
    this.#counts = { ...this.#counts, ...(await this.#counters.read()) };
    if (rounds?.isStarted) return;
    if (refusal) return this.#deny(refusedByCaller(refusal));
    if (rounds?.question) return this.#conclude(rounds.question.denial, rounds.question.outcome);
    const { refused, question, shadows } = await this.#judgeAgain();
    this.#counts = this.#round.withOwnExecution(this.#counts);
    if (refused) return this.#deny(refused);
    if (question) return this.#askApproval(question);
    if (!this.#round.isCounted) await this.#allow(shadows);
  }

  /** The agent's own contracts before the call, in order, up to the first that refuses; null when none does. */
  async #askOwn(type: 'pre' | 'session'): Promise<Denial | null> {
    for (const contract of this.#own(type)) {
      const { record, refuses } = await askContract(contract, () =>
        contract.type === 'post' ? undefined : contract.check(this.#input, this.#counts),
      );
      this.#rules = [...this.#rules, record];
      const policyError = record.metadata?.policy_error === true;
      this.#policyError ||= policyError;
      await recordObserved(this.#journal, [record], this.#policy.version, () => []);
      if (refuses)
        return { source: record.type, name: record.name, reason: record.message ?? '', policyError };
    }
    return null;
  }

  #own(type: ContractType): readonly CodeContract[] {
    const { contracts, matches } = this.#parts;
    return contracts.filter((one) => one.type === type && matches(one.tool ?? '*', this.#input.tool));
  }

  /** Throws. In observe mode only records a denial from contracts, hooks or limits, and the tool runs. */
  async #deny(denial: Denial, action: AuditAction = 'call_denied'): Promise<void> {
    if (denial.policyError) this.#policyError = true;
    const decision = detailsOf(denial);
    if (this.#parts.modeOf(this.#policy) === 'observe' && action === 'call_denied' && !denial.isFinal) {
      await this.#record('call_would_deny', decision);
      const reason = this.#parts.redaction.redactText(denial.reason);
      this.#span.set({ 'governance.action': 'would_deny', 'governance.would_deny_reason': reason });
      await this.#countExecution();
      return;
    }
    const record = await this.#record(action, decision);
    this.#parts.telemetry.counted('denied', this.#input.tool);
    this.#span.set({ 'governance.action': 'denied' });
    throw new DeniedError(denial.reason, denial.name, record);
  }

  async #askApproval(decision: Decision): Promise<void> {
    const { approvals } = this.#parts;
    const denial = this.#denialOf(decision);
    const terms = decision.approval ?? { timeout: 300, timeoutEffect: 'deny' };
    if (!approvals) return this.#undecided(denial, `${noBackend}: ${denial.reason}`);
    await this.#conclude(denial, async () => {
      const question = { ...questionOf(denial, decision), ...terms, ...this.#context };
      const request = { tool: this.#input.tool, args: this.#argsForPeople, ...question };
      const pending = await this.#span.within(() => approvals.request(request, this.#options.signal));
      await this.#record('call_approval_requested', detailsOf(denial));
      return pending.outcome(this.#options.signal);
    });
  }

  /** Also refuses in observe mode if the caller cancelled the call. */
  #undecided(denial: Denial, reason: string): Promise<void> {
    return this.#deny({ ...denial, reason, policyError: true, isFinal: this.#options.signal?.aborted });
  }

  /** Continues the call after a person's decision. */
  async #conclude(denial: Denial, outcomeOf: () => Promise<ApprovalOutcome>): Promise<void> {
    let outcome: ApprovalOutcome;
    try {
      outcome = await outcomeOf();
      this.#options.signal?.throwIfAborted();
    } catch (failure) {
      if (failure instanceof HandedOverError) {
        this.#round.suspend(denial);
        throw failure;
      }
      return this.#undecided(denial, `The approval request failed: ${messageOf(failure)}`);
    }
    this.#span.link(outcome.traceparent);
    const action = actionOf(outcome);
    if (!outcome.proceed) return this.#deny(refusedByPeople(denial, outcome), action);
    await this.#record(action, { ...detailsOf(denial), conditions: [] });
    this.#round.isApproved = true;
    const lateRefusal = await this.#options.refusalAfterApproval?.();
    if (lateRefusal) return this.#deny(refusedByCaller(lateRefusal));
    if (this.#options.signal?.aborted)
      return this.#undecided(denial, 'The caller cancelled the approved call.');
    const { refused, shadows } = await this.#judgeAgain();
    this.#counts = this.#round.withOwnExecution(this.#counts);
    if (refused) return this.#deny(refused);
    if (!this.#round.isCounted) {
      if (!(await this.#reserve())) return;
      await this.#recordShadows(shadows);
    }
    this.#parts.telemetry.counted('allowed', this.#input.tool);
    this.#span.set({ 'governance.action': 'approved' });
  }

  /**
   * Judges an approved call, or a later round, with the current contracts and counters, because hours may have passed.
   * Contracts do not ask again about an approved call. Nothing is counted again.
   */
  async #judgeAgain(): Promise<Pick<Decision, 'shadows'> & { refused?: Denial; question?: Decision }> {
    this.#policy = this.#parts.currentPolicy();
    this.#counts = { ...this.#counts, ...(await this.#round.countsOf(this.#counters)) };
    const first = this.#rules;
    this.#rules = [];
    const refused = await this.#askOwn('pre');
    if (refused) return { refused, shadows: [] };
    const decision = this.#policy.before(this.#input, this.#counts, { approved: this.#round.isApproved });
    this.#rules = [...this.#rules, ...decision.records];
    const { policyError, shadows } = decision;
    this.#policyError ||= policyError;
    if (decision.verdict === 'deny') return { refused: this.#denialOf(decision), shadows };
    const spent = await this.#askOwn('session');
    if (spent) return { refused: spent, shadows };
    if (decision.verdict === 'approve') return { question: decision, shadows };
    this.#rules = first;
    return { shadows };
  }

  /**
   * Counts the execution. False: calls side by side have used up a limit since it was checked, and that was observed
   * only.
   */
  async #reserve(): Promise<boolean> {
    await this.#countExecution();
    const refusal = refusedByLimit(this.#policy.bundle.limits, this.#counts, this.#input.tool);
    if (refusal === null) return true;
    await this.#round.withdraw(this.#counters);
    await this.#deny({ ...refusal, conditions: this.#conditionsOf(refusal.name) });
    return false;
  }

  async #countExecution(): Promise<void> {
    this.#counts = { ...this.#counts, ...(await this.#round.countExecution(this.#counters)) };
  }

  async #finished(running: Promise<R>, startedAt: number): Promise<R> {
    const duration = (): number => Math.max(0, Math.round(this.#parts.clock.monotonic() - startedAt));
    let result: R;
    try {
      result = await running;
    } catch (failure) {
      const isHandedOver = failure instanceof HandedOverError;
      if (isHandedOver || failure instanceof NotStartedError) await this.#round.withdraw(this.#counters);
      // Somebody else goes on with the call, and records its end.
      if (isHandedOver) {
        this.#span.end(false, null);
        throw failure;
      }
      const message = messageOf(failure);
      const text = await this.#finish(judgeFailure(message), message, duration());
      // The message is output too: what contracts took out of it must not leave by the exception.
      throw text === null ? failure : new Error(text);
    }
    const judged = this.#read(result);
    const isInterim = this.#round.isInterim(result);
    const withheld = isInterim ? this.#withheldText(judged) : null;
    if (isInterim && withheld === null) {
      this.#span.end(false, null);
      return this.#round.carry(result);
    }
    const text = (await this.#finish(judged, null, duration())) ?? withheld;
    return text === null ? result : (this.#options.replaceText ?? replaceText)(result, text);
  }

  /** Contracts judge a question as a result. The text that ends the call in its place; null: the question goes on. */
  #withheldText(judged: JudgedResult): string | null {
    const { post } = this.#policy.after(this.#input, judged, this.#parts.redaction.redactText);
    return post.withheldReason === null ? null : `[OUTPUT SUPPRESSED] ${post.withheldReason}`;
  }

  /** Post contracts, records and counters after the tool; gives the text to show instead, or null. Never rejects. */
  async #finish(judged: JudgedResult, error: string | null, duration_ms: number): Promise<string | null> {
    const after = this.#policy.after(this.#input, judged, this.#parts.redaction.redactText);
    const { post } = after;
    const own = await askAfter(this.#own('post'), this.#input, textForCode(judged));
    this.#rules = [...this.#rules, ...post.records, ...own.records];
    this.#policyError ||= post.policyError || own.policyError;
    await this.#recordShadows(post.shadows).catch(this.#report('writing an audit record'));
    // The text that contracts left: what they removed from an error leaves the agent in no other way.
    const message = error === null ? null : (after.text ?? error);
    await this.#record(judged.success ? 'call_executed' : 'call_failed', {
      tool_success: judged.success,
      postconditions_passed: post.postconditionsPassed && own.passed,
      duration_ms,
      error: message,
      ...(judged.isolation === null ? {} : { isolation: judged.isolation }),
    }).catch(this.#report('writing an audit record'));
    this.#counters.finished(judged.success, this.#report('counting the outcome of a call'));
    this.#span.set({
      'governance.tool_success': judged.success,
      'governance.postconditions_passed': post.postconditionsPassed && own.passed,
    });
    this.#span.end(!judged.success, message === null ? null : this.#parts.redaction.redactResult(message));
    const warnings = [...after.warnings, ...own.warnings];
    try {
      if (warnings.length > 0) this.#options.onWarning?.(warnings);
    } catch (failure) {
      this.#report('calling onWarning')(failure);
    }
    return after.text;
  }

  #record(action: AuditAction, more: RecordDetails): Promise<AuditRecord> {
    const isLater = decisions.has(action) && this.#isDecided;
    this.#isDecided ||= decisions.has(action);
    return this.#journal.emit(action, {
      ...(isLater ? { follows_decision: true as const } : {}),
      hooks_evaluated: this.#hooks,
      rules_evaluated: this.#rules,
      ...(endings.has(action) ? this.#round.ofRecord : {}),
      session_attempt_count: this.#counts.attempts,
      session_execution_count: this.#counts.executions,
      policy_error: this.#policyError,
      policy_version: this.#policy.version,
      mode: this.#parts.modeOf(this.#policy),
      ...more,
    });
  }

  readonly #report = (activity: string) => (failure: unknown) => this.#parts.onError(failure, activity);
  readonly #recordShadows = (shadows: Decision['shadows']) =>
    recordShadows(this.#journal, shadows, this.#policy.version, this.#conditionsOf);
  readonly #conditionsOf = (id: string | null) => this.#policy.conditionsOf(id, this.#input, this.#counts);
  readonly #denialOf = (decision: Decision) => denialOf(decision, this.#conditionsOf(decision.name));
}
