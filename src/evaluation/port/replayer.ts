// Work of replays: two documents judge stored calls, in threads of their own. Bounded in time, memory and number.
import type { ToolArguments } from 'reeve-agent/rules';
import type { CustomWords } from '../rules/custom-words.ts';
import type { ReplayCall } from '../rules/replay-call.ts';
import type { CountedCall, Judged, LimitJudged } from '../rules/replay-judge.ts';

/** The two documents that are compared. */
export interface ReplayDocuments {
  /** Null: nothing, which allows every call. */
  readonly base: string | null;
  readonly candidate: string;
  /** Kinds of the tenant's tool arguments, for sandboxes. */
  readonly toolArguments: ToolArguments;
  readonly words: CustomWords;
}

/** Facts about two documents before the first call. */
export interface ReplayOutline {
  /** metadata.name of the candidate. */
  readonly name: string;
  /** Rules that look at a tool's output. */
  readonly skipped: { readonly base: number; readonly candidate: number };
}

/** Duration of the work in the thread, in milliseconds, without waiting and without the thread's start. */
interface Timed {
  readonly elapsedMs: number;
}

/** Compiles and judges. */
export interface Replayer {
  /** @throws HubError unprocessable, with what is wrong with which of the two; overloaded */
  outline(tenantId: string, documents: ReplayDocuments): Promise<ReplayOutline & Timed>;
  /**
   * Judges calls in their order, each for itself. Fewer than were given come back when `budgetMs` is over.
   * A thread that still remembers the documents does not compile them again. @throws HubError unprocessable, overloaded
   */
  judge(
    tenantId: string,
    documents: ReplayDocuments,
    calls: readonly ReplayCall[],
    budgetMs: number,
  ): Promise<{ readonly judged: readonly { readonly base: Judged; readonly candidate: Judged }[] } & Timed>;
  /** Results of limits and session rules for each call. @throws HubError unprocessable, overloaded */
  limits(
    tenantId: string,
    documents: ReplayDocuments,
    calls: readonly CountedCall[],
  ): Promise<
    { readonly judged: readonly { readonly base: LimitJudged; readonly candidate: LimitJudged }[] } & Timed
  >;
  /** Ends all threads; what runs or waits is refused with shutting_down. */
  close(): Promise<void>;
}
