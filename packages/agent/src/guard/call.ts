// Input and output of a governed call: options, warnings, the denial. Decides nothing.
import type { ApprovalBackend, ApprovalOutcome } from '../approvals.ts';
import type { AuditRecord, Principal, RoundAnswers } from '../record.ts';
import type { ServerListing } from '../tools/reporter.ts';

/** A contract, a hook, a limit or a person said no; the tool did not run. */
export class DeniedError extends Error {
  /** Name of what decided: a contract id, a hook, `max_attempts`, `max_tool_calls`, …; null when none has a name. */
  readonly contract: string | null;
  /** The audit record of the denial. */
  readonly event: AuditRecord;

  constructor(message: string, contract: string | null, event: AuditRecord) {
    super(message);
    this.name = 'DeniedError';
    this.contract = contract;
    this.event = event;
  }
}

/** Thrown in place of a tool that did not run: its execution does not count. */
export class NotStartedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NotStartedError';
  }
}

/** A post contract fired; the tool has run. */
export interface Warning {
  /** The id of the contract. */
  readonly contract: string;
  /** The contract's message, its placeholders filled in. */
  readonly message: string;
}

/** Earlier rounds of one call: a tool may ask its user, and run again with the answer. */
export interface CallRounds {
  /** The `call_id` in the call's records. */
  readonly callId: string;
  /** The call's place in its run. */
  readonly callIndex: number;
  /** Rounds that have run, at least 1. */
  readonly count: number;
  /** Attempts of the run when the call began, this one included. Absent: unknown. */
  readonly attempts?: number;
  /** True after a person approved the call: the contracts that ask do not ask again. */
  readonly isApproved: boolean;
  /** True after the execution was counted. False while the approval is a question of an earlier round. */
  readonly isCounted: boolean;
  /** Answers to the tool's questions so far. Absent: there are none. */
  readonly answers?: readonly RoundAnswers[];
}

/** A tool that asks its user while it runs. */
export interface RunningCall<R> {
  /** Returns true if contracts refuse the question. They judge a question as a result. */
  isWithheld(question: R): boolean;
  /** Takes answers, by question. They begin a round of the call, and are recorded. */
  answered(answers: ToolArgs): void;
}

/** Options of a call over several rounds. All rounds are one call: one attempt, one execution, one approval. */
export interface RoundOptions<R> {
  /** From the `carry` of the round before. Null in the first round. */
  readonly earlier: CallRounds | null;
  /** The user's answers that this round brings, by question. No contract sees them; they are recorded. */
  readonly answers?: ToolArgs;
  /** Returns true if the result does not end the call. */
  readonly isInterim: (result: R) => boolean;
  /** Makes the result that the caller gets in place of an interim one, with what the next round needs. */
  readonly carry: (result: R, rounds: CallRounds) => R;
  /** Called right before the tool runs. */
  readonly onStart?: (call: RunningCall<R>) => void;
  /** Takes what the next round needs, if the approval was handed over to the caller: the tool did not run. */
  readonly suspend?: (rounds: CallRounds, denial: QuestionDenial) => void;
  /** An approval that an earlier round asked for. Absent: none waits. */
  readonly question?: {
    readonly denial: QuestionDenial;
    readonly outcome: () => Promise<ApprovalOutcome>;
  };
  /** True if an earlier process has started the tool: the call is not judged and not counted, its end is recorded. */
  readonly isStarted?: boolean;
}

/** The denial that follows if nobody approves. */
export interface QuestionDenial {
  readonly source: string;
  readonly name: string | null;
  readonly reason: string;
}

/** The caller's own reason against running a call. */
export interface CallerRefusal {
  readonly name: string;
  readonly reason: string;
}

/** Options of a call beside tool, arguments and function. */
export interface RunOptions<R> {
  /** Over the guard's principal. */
  readonly principal?: Principal | null;
  /** Over the guard's environment. */
  readonly environment?: string;
  /** The run: counters and `run_id`. Over the guard's session id. */
  readonly sessionId?: string;
  /** The call this one belongs to. Default: the governed call it is made inside of. */
  readonly parentCallId?: string | null;
  /** Read by `metadata.*` selectors. */
  readonly metadata?: { readonly [name: string]: unknown };
  /** The folder the tool runs in, for sandboxes. Over the guard's. */
  readonly cwd?: string;
  /**
   * Refuses the call before any limit, hook and contract, whatever the mode. `name` is what decided, in the record and
   * the error.
   */
  readonly refusal?: CallerRefusal | null;
  /** Called when a person has approved the call, because `refusal` may be hours old by then. */
  readonly refusalAfterApproval?: () => Promise<CallerRefusal | null>;
  /** The caller's trace (`traceparent` of W3C Trace Context): the call's span is its child. Ignored if malformed. */
  readonly traceparent?: string;
  /** Ends the wait for an approval: the tool does not run, whatever the mode of the guard. */
  readonly signal?: AbortSignal;
  /** Makes the approval backend of this call from the guard's own (null: none). Default: the guard's own. */
  readonly approvals?: (own: ApprovalBackend | null) => ApprovalBackend | null;
  /**
   * Returns true if the tool succeeded. Default: false if the result has a truthy `is_error` or `isError`, or is a text
   * that starts with `error:` or `fatal:`.
   */
  readonly success?: (result: R) => boolean;
  /** The result as `output.text`. Default: text as it is, anything else as JSON. */
  readonly outputText?: (result: R) => string | null;
  /** The value whose own fields `result.*` selects. Default: the result. */
  readonly resultFields?: (result: R) => unknown;
  /**
   * The result with its text replaced. Default: the text itself, read as JSON again when the result was no text. A text
   * without the result's form is thrown as ResultReplacedError.
   */
  readonly replaceText?: (result: R, text: string) => R;
  /** For a call of several rounds. Default: every result ends the call. */
  readonly rounds?: RoundOptions<R>;
  /** Told of every post contract that fired, after the call. */
  readonly onWarning?: (warnings: readonly Warning[]) => void;
}

/** Arguments as contracts see them. */
export type ToolArgs = { readonly [name: string]: unknown };

/** The part of a guard that adapters need. */
export interface Governs {
  /**
   * Judges the call, runs `fn` with the arguments, and records both.
   * @returns the result of `fn`, redacted where a post contract requires that
   * @throws DeniedError when the call is refused: `fn` did not run; ResultReplacedError when a redacted result has lost
   *   its form; and whatever `fn` throws
   */
  run<A extends object, R>(
    tool: string,
    args: A,
    fn: (args: A) => R | PromiseLike<R>,
    options?: RunOptions<R>,
  ): Promise<R>;
  /** Reports the tools that an MCP server lists to the hub. Refuses nothing. Absent: there is no hub. */
  reportTools?(server: string, listing: ServerListing): void;
}
