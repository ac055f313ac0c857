// Calls of modern clients in several rounds: a result that asks for input, the question about an approval, and the
// retry that brings the answers. Seals and opens states; judges and sends nothing.
import { isInputRequired, type McpResult } from '../../adapters/mcp-result.ts';
import type { Clock } from '../../clock.ts';
import { type Fields, fieldsOf } from '../../fields.ts';
import type { CallRounds, QuestionDenial, RoundOptions } from '../../guard/call.ts';
import { RoundStateError } from '../../rounds/round-state.ts';
import { AnsweredRoundError, type OpenRound, type RoundCall, type Rounds } from '../../rounds/rounds.ts';
import type { Request, Response } from './message.ts';
import type { TaskApproval } from './tasks/record.ts';
import type { TaskDraft } from './tasks/task-call.ts';

/** The name of the proxy's own question among the input requests. */
const approvalKey = 'reeve.approval';
/** Milliseconds for which the answer to a round is kept for a client that lost it. */
const keptFor = 60_000;
/** Characters of an answer that is kept, and answers that are. */
const maxKeptLength = 1 << 20;
const maxKept = 64;

/** Rounds of all clients of a proxy. */
export class ProxyRounds {
  readonly #rounds: Rounds;
  readonly #clock: Clock;
  /** Answers by the nonce of their round. */
  readonly #kept = new Map<string, { readonly result: unknown; readonly until: number }>();

  constructor(rounds: Rounds, clock: Clock) {
    this.#rounds = rounds;
    this.#clock = clock;
  }

  /**
   * The round that a request begins or goes on with; a response, if the round was answered a moment ago.
   * @throws RoundStateError for a retry that may not go on
   */
  async begin(call: RoundCall, request: Request): Promise<ProxyRound | Response> {
    const { requestState, inputResponses } = request.params;
    if (requestState === undefined && inputResponses === undefined)
      return new ProxyRound(this.#rounds, call, request, null);
    if (typeof requestState !== 'string')
      throw new RoundStateError('a retry needs the request state of the round before');
    try {
      return new ProxyRound(this.#rounds, call, request, await this.#rounds.open(requestState, call));
    } catch (failure) {
      const kept = failure instanceof AnsweredRoundError ? this.#kept.get(failure.nonce) : undefined;
      if (!kept || kept.until < this.#clock.now()) throw failure;
      return { kind: 'response', id: request.id, result: kept.result };
    }
  }

  /** Keeps the answer to a round for a client that repeats its request. */
  keep(round: ProxyRound, { result }: Response): void {
    if (round.nonce === null || result === undefined) return;
    if (JSON.stringify(result).length > maxKeptLength) return;
    this.#kept.set(round.nonce, { result, until: this.#clock.now() + keptFor });
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > maxKept && !oldest.done) this.#kept.delete(oldest.value);
  }
}

export class ProxyRound {
  readonly #rounds: Rounds;
  readonly #call: RoundCall;
  readonly #request: Request;
  readonly #open: OpenRound | null;
  #next: CallRounds | null = null;
  #question: { readonly params: Fields; readonly timeoutMs: number } | null = null;
  #denial: QuestionDenial | null = null;
  #approval: Omit<TaskApproval, 'denial'> | null = null;

  constructor(rounds: Rounds, call: RoundCall, request: Request, open: OpenRound | null) {
    this.#rounds = rounds;
    this.#call = call;
    this.#request = request;
    this.#open = open;
  }

  /** Null in the first round. */
  get nonce(): string | null {
    return this.#open?.nonce ?? null;
  }

  /** For the guard. */
  get options(): RoundOptions<McpResult> {
    const { inputResponses } = this.#request.params;
    const hasAnswers = this.#open !== null && !this.#open.isApproval && inputResponses !== undefined;
    return {
      earlier: this.#open?.earlier ?? null,
      ...(hasAnswers ? { answers: fieldsOf(inputResponses) } : {}),
      isInterim: (result) => isInputRequired(result) || result?.resultType === 'task',
      carry: (result, rounds) => {
        this.#next = rounds;
        return result;
      },
      suspend: (rounds, denial) => {
        this.#next = rounds;
        this.#denial = denial;
      },
    };
  }

  /** The answer of the client's user to the proxy's question; null: the question was not asked. */
  get approvalAnswer(): Fields | null {
    if (!this.#open?.isApproval) return null;
    return fieldsOf(fieldsOf(this.#request.params.inputResponses)[approvalKey]);
  }

  /** False: the answer came after the approval's deadline. */
  isInTime(now: number): boolean {
    return now <= (this.#open?.deadline ?? now);
  }

  /** Asks the client's user instead of running the call. */
  askApproval(params: Fields, timeoutMs: number): void {
    this.#question = { params, timeoutMs };
  }

  /** Lets the call wait for the hub's decision as a task. */
  handOver(approval: Omit<TaskApproval, 'denial'>): void {
    this.#approval = approval;
  }

  /** State with which a task goes on; null: the call becomes no task. */
  get handedOver(): Pick<TaskDraft, 'rounds' | 'approval'> | null {
    if (!this.#approval || !this.#denial || !this.#next) return null;
    const { source, name, reason } = this.#denial;
    return { rounds: this.#next, approval: { ...this.#approval, denial: { source, name, reason } } };
  }

  /** State for a task that the server has made from the call. */
  get interimTask(): Pick<TaskDraft, 'rounds' | 'approval'> | null {
    return this.#next && { rounds: this.#next, approval: null };
  }

  /** The request for the server: with its own state, and the answers to its own questions. */
  upstream(request: Request): Request {
    if (!this.#open || this.#open.isApproval) return request;
    const { inner } = this.#open;
    const { inputResponses } = this.#request.params;
    return {
      ...request,
      params: {
        ...request.params,
        ...(inputResponses === undefined ? {} : { inputResponses }),
        ...(inner === null ? {} : { requestState: inner }),
      },
    };
  }

  /** Right before the server gets the call. @throws RoundStateError */
  async use(): Promise<void> {
    await this.#open?.use();
  }

  /** The question about an approval as a result; null: there is none. */
  async question(): Promise<Fields | null> {
    if (!this.#question || !this.#next) return null;
    const { params, timeoutMs } = this.#question;
    return {
      resultType: 'input_required',
      inputRequests: { [approvalKey]: { method: 'elicitation/create', params } },
      requestState: await this.#rounds.carry(this.#call, this.#next, null, timeoutMs),
    };
  }

  /** Rounds before this one. */
  get earlierCount(): number {
    return this.#open?.earlier.count ?? 0;
  }

  /**
   * An interim result of the server as the client gets it.
   * @throws RoundStateError if the call has ended, or without room for the server's state
   */
  async interim(result: Fields): Promise<Fields> {
    const { requestState } = result;
    const inner = typeof requestState === 'string' ? requestState : null;
    if (!this.#next) throw new RoundStateError('the call has ended');
    return { ...result, requestState: await this.#rounds.carry(this.#call, this.#next, inner) };
  }

  end(): void {
    this.#open?.end();
  }
}
