// The history of a run: every call, when it was invoked and ended, and what came of it. Judges nothing: check/ does.

/** `failed`: certainly without effect. `unknown`: may have had its effect, or may have it yet. `pending`: not ended. */
export type Outcome = 'pending' | 'ok' | 'failed' | 'unknown';

export interface Call<Input = unknown, Output = unknown> {
  readonly op: string;
  readonly input: Input;
  readonly node: string;
  /** Epoch ms, as the hub's clock on the same machine. */
  readonly invoked: number;
  readonly ended: number;
  readonly outcome: Outcome;
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  /** Seconds of Retry-After; null without one. */
  readonly retryAfter: number | null;
  readonly output: Output | null;
}

/** The caller's knowledge when the call ends. */
export type Ending = Pick<Call, 'outcome' | 'status' | 'retryAfter' | 'output'>;

export class History {
  readonly calls: Call[] = [];

  /** Notes a call that begins now; to be called back with its ending. */
  begin<Input>(op: string, input: Input, node: string): (ending: Ending) => Call<Input> {
    const index = this.calls.length;
    const call = { op, input, node, invoked: Date.now(), ended: Number.POSITIVE_INFINITY };
    this.calls.push({ ...call, outcome: 'pending', status: 0, retryAfter: null, output: null });
    return (ending) => {
      const ended = { ...call, ...ending, ended: Date.now() };
      this.calls[index] = ended;
      return ended;
    };
  }

  of<Input = unknown, Output = unknown>(op: string): Call<Input, Output>[] {
    return this.calls.filter((call) => call.op === op) as Call<Input, Output>[];
  }

  /** True while one of the newest calls is under way, and one that began after `since` (epoch ms) is answered. */
  isBusy(op: string, since: number): boolean {
    const newest = this.calls.slice(-200).filter((call) => call.op === op);
    return (
      newest.some(({ outcome }) => outcome === 'pending') &&
      newest.some(({ outcome, invoked }) => outcome === 'ok' && invoked > since)
    );
  }

  count(op: string): { readonly ok: number; readonly failed: number; readonly unknown: number } {
    const count = { ok: 0, failed: 0, unknown: 0 };
    for (const { outcome } of this.of(op)) count[outcome === 'pending' ? 'unknown' : outcome]++;
    return count;
  }
}
