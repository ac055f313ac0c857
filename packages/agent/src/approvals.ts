// Approvals from the agent's side: what a guard asks for and waits for, the hub's approvals, and an approval by a local
// function.
import { randomUUID } from 'node:crypto';
import { type Clock, sleep, systemClock, type Timer } from './clock.ts';
import { HubResponseError } from './failure.ts';
import type { HttpConnection } from './http.ts';
import type { Principal } from './record.ts';
import { maxHubTimeout } from './rules/bundle/approval-terms.ts';

/** A question to a person. Sent to an `ApprovalBackend`. */
export interface ApprovalRequest {
  /** The name of the tool. */
  readonly tool: string;
  /** As JSON: bytes and what cannot be written are named (`[BINARY 3 bytes]`). */
  readonly args: { readonly [name: string]: unknown };
  /** The first asking contract's message, its placeholders filled in. */
  readonly message: string;
  /** Seconds; a hub waits for at most 86,400. */
  readonly timeout: number;
  /** The effect if nobody decides in time. */
  readonly timeoutEffect: 'deny' | 'allow';
  /** Which kind of rule asks, as records name it; null when none is named. */
  readonly decisionSource: string | null;
  /** The id of the contract that asks; null when none is named. */
  readonly contractName: string | null;
  /** Every contract that asks, in order; the first is `contractName`. */
  readonly contracts?: readonly AskingContract[];
  /** On whose behalf the call is made. */
  readonly principal?: Principal | null;
  /** The guard's run, as its records name it. */
  readonly sessionId?: string;
  /** As records name the call. */
  readonly callId?: string;
}

/** A contract that wants a person to be asked. */
export interface AskingContract {
  readonly name: string;
  readonly message: string;
  /** As the contract has it under `then`, its tags included; not sent to a hub, which knows it. */
  readonly metadata?: { readonly [name: string]: unknown };
}

/**
 * True if a hub accepts the text as a name. An agent's own session id can be any text, and must not make the request
 * fail.
 */
const isName = (text: string | undefined): boolean =>
  text !== undefined && /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(text);

/** Seconds that the hub is to wait: it refuses to wait longer, and then nobody would be asked. */
const hubTimeout = ({ timeout }: ApprovalRequest): number => Math.min(timeout, maxHubTimeout);

/** A request in the words of the hub's API. */
const bodyOf = (agentId: string, request: ApprovalRequest) => ({
  ...callOf(agentId, request),
  message: request.message,
  timeout: hubTimeout(request),
  timeout_effect: request.timeoutEffect,
  decision_source: request.decisionSource,
  contract_name: request.contractName,
  ...(request.contracts === undefined
    ? {}
    : { contracts: request.contracts.map(({ name, message }) => ({ name, message })) }),
});

/** The call that a person is asked about. */
const callOf = (agentId: string, { tool, args, principal, sessionId, callId }: ApprovalRequest) => ({
  agent_id: agentId,
  tool_name: tool,
  tool_args: args,
  ...(principal == null ? {} : { principal }),
  ...(isName(sessionId) ? { session_id: sessionId } : {}),
  ...(callId === undefined ? {} : { call_id: callId }),
});

/** End of an approval. */
export interface ApprovalOutcome {
  readonly status: 'approved' | 'denied' | 'timeout';
  /** True if the call may run: approved, or timed out with the effect `allow`. */
  readonly proceed: boolean;
  /** The name of the person; null after a timeout. */
  readonly decidedBy: string | null;
  /** The person's text; null without one. */
  readonly reason: string | null;
  /** The trace of the decision, as a `traceparent`; absent where the hub did not send it. */
  readonly traceparent?: string;
}

/** An approval that was asked for and may not be decided yet. */
export interface PendingApproval {
  /** The hub's id; null when no hub knows it. */
  readonly id: string | null;
  /**
   * Resolves with a decision, or by the deadline with the timeout effect: never later. Rejects when it can never be
   * known, or on abort.
   */
  outcome(signal?: AbortSignal): Promise<ApprovalOutcome>;
}

/** Thrown by a pending approval whose question somebody else puts: the call is not decided here. */
export class HandedOverError extends Error {
  constructor() {
    super('another request for this approval is running');
    this.name = 'HandedOverError';
  }
}

/** Receiver of approval requests from a guard. */
export interface ApprovalBackend {
  /** Resolves when the request is known to those who decide. */
  request(request: ApprovalRequest, signal?: AbortSignal): Promise<PendingApproval>;
  /** Goes on waiting for an earlier request, also of another process. Absent: requests end with their process. */
  resume?(earlier: EarlierRequest): PendingApproval;
  /** Ends the question of an earlier request: nobody needs the answer. Absent: the question stays. */
  withdraw?(id: string): Promise<void>;
}

/** An approval that was requested before. */
export interface EarlierRequest {
  /** Of the approval. */
  readonly id: string;
  /** Epoch milliseconds until which a decision is waited for. */
  readonly until: number;
  readonly timeoutEffect: 'deny' | 'allow';
}

export const timedOut = (effect: 'deny' | 'allow'): ApprovalOutcome => ({
  status: 'timeout',
  proceed: effect === 'allow',
  decidedBy: null,
  reason: null,
});

const decision = (approved: boolean, decidedBy: string | null, reason: string | null): ApprovalOutcome => ({
  status: approved ? 'approved' : 'denied',
  proceed: approved,
  decidedBy,
  reason,
});

/** Names of the states in other releases of the hub count as well. */
const statuses: { readonly [status: string]: 'approved' | 'denied' | 'timeout' } = {
  approved: 'approved',
  denied: 'denied',
  rejected: 'denied',
  timeout: 'timeout',
  timed_out: 'timeout',
};

/** An approval as the hub shows it. */
export interface HubApproval {
  readonly id: string;
  /** `pending`, `approved`, `denied` or `timeout`; other releases of the hub may have other words. */
  readonly status: string;
  readonly decidedBy: string | null;
  readonly reason: string | null;
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

function approvalOf(body: unknown, status: number): HubApproval {
  const record = (body ?? {}) as { readonly [name: string]: unknown };
  if (typeof record.id !== 'string')
    throw new HubResponseError(status, JSON.stringify(body), 'an approval without an id');
  return {
    id: record.id,
    status: textOrNull(record.status) ?? 'pending',
    decidedBy: textOrNull(record.decided_by),
    reason: textOrNull(record.decision_reason ?? record.reason),
  };
}

/** Approvals that are looked at within one interval. */
const waitsPerLook = 50;
/** A hub that refuses is not asked again. */
const isRefusal = (failure: unknown): boolean =>
  failure instanceof HubResponseError && failure.status < 500 && failure.status !== 429;

/** Decisions that may arrive before anybody waits for them. */
const maxEarly = 1000;
/** The last look happens this long before the deadline, to have an answer by then. */
const beforeDeadline = 250;
/** Wait for the hub by an approval whose deadline is over before its first look; milliseconds. */
const lateLook = 2000;

/** Approvals held by the hub: decisions are pushed by the stream (`decided`) and polled for as a fallback. */
export class HubApprovals implements ApprovalBackend {
  readonly #http: HttpConnection;
  readonly #pollInterval: number;
  readonly #waiting = new Map<string, Set<(outcome: ApprovalOutcome) => void>>();
  readonly #early = new Map<string, ApprovalOutcome>();
  /** Each ends a rest, or a question that is under way and may have been asked too early. */
  readonly #asking = new Set<() => void>();
  /** Number of calls of `look`. */
  #looks = 0;

  /** @param pollInterval milliseconds between two looks */
  constructor(http: HttpConnection, pollInterval = 2000) {
    this.#http = http;
    this.#pollInterval = pollInterval;
  }

  /**
   * Sent again after a lost answer under the same key, by which the hub knows it.
   * @throws HubResponseError, HubConnectionError
   */
  async create(request: ApprovalRequest, signal?: AbortSignal): Promise<HubApproval> {
    const body = bodyOf(this.#http.agentId, request);
    const headers = { 'Idempotency-Key': randomUUID() };
    return approvalOf(await this.#http.request('POST', '/approvals', { body, signal, headers }), 201);
  }

  /**
   * The current state of the approval. A repeat is safe.
   * @throws HubResponseError with status 404 for an unknown id, HubConnectionError
   */
  async get(id: string, signal?: AbortSignal): Promise<HubApproval> {
    return approvalOf(
      await this.#http.request('GET', `/approvals/${encodeURIComponent(id)}`, { signal }),
      200,
    );
  }

  /**
   * Creates the approval; its outcome comes by the stream, or by looking, and at the deadline at the latest.
   * @throws HubResponseError, HubConnectionError
   */
  async request(request: ApprovalRequest, signal?: AbortSignal): Promise<PendingApproval> {
    const looked = this.#looks;
    const { id } = await this.create(request, signal);
    const deadline = this.#http.clock.monotonic() + hubTimeout(request) * 1000;
    return { id, outcome: (own) => this.#wait(id, deadline, request.timeoutEffect, looked, own) };
  }

  /**
   * Looks at once. With `until` over, the hub has 2 s to name a decision that was made in time.
   * The outcome rejects with HubResponseError if the hub does not know the approval.
   */
  resume({ id, until, timeoutEffect }: EarlierRequest): PendingApproval {
    const { clock } = this.#http;
    return {
      id,
      outcome: (signal) => {
        const left = until - clock.now();
        const deadline = clock.monotonic() + (left > beforeDeadline ? left : lateLook);
        // As if a look had been missed: the first one comes at once.
        return this.#wait(id, deadline, timeoutEffect, this.#looks - 1, signal);
      },
    };
  }

  /** Repeating it is safe: the second answer is a refusal. @throws HubResponseError, HubConnectionError */
  async withdraw(id: string): Promise<void> {
    await this.#http.request('POST', `/approvals/${encodeURIComponent(id)}/withdraw`, { body: {} });
  }

  /** Takes a decision from the stream. Frames about unknown approvals are kept: the newest 1,000. */
  decided(id: string, approved: boolean, decidedBy: string | null, traceparent?: string): void {
    const localOutcome = decision(approved, decidedBy, null);
    const outcome = traceparent === undefined ? localOutcome : { ...localOutcome, traceparent };
    const waiting = this.#waiting.get(id);
    if (waiting) {
      for (const tell of [...waiting]) tell(outcome);
      return;
    }
    this.#early.set(id, outcome);
    const oldest = this.#early.keys().next();
    if (this.#early.size > maxEarly && !oldest.done) this.#early.delete(oldest.value);
  }

  /** Requests all awaited approvals at once, as after the start of a stream: no frame contained earlier decisions. */
  look(): void {
    this.#looks++;
    for (const wake of [...this.#asking]) wake();
  }

  /** Many that wait share the requests that a hub lets an agent make. */
  get #pause(): number {
    return this.#pollInterval * Math.max(1, Math.ceil(this.#waiting.size / waitsPerLook));
  }

  async #wait(
    id: string,
    deadline: number,
    effect: 'deny' | 'allow',
    looked: number,
    signal?: AbortSignal,
  ): Promise<ApprovalOutcome> {
    const clock = this.#http.clock;
    const early = this.#early.get(id);
    this.#early.delete(id);
    if (early) return early;
    const ended = new AbortController();
    const stop = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
    let timer: Timer | null = null;
    let tell: (outcome: ApprovalOutcome) => void = () => {};
    try {
      return await new Promise<ApprovalOutcome>((resolve, reject) => {
        tell = resolve;
        const others = this.#waiting.get(id) ?? new Set();
        this.#waiting.set(id, others.add(tell));
        timer = clock.after(Math.max(0, deadline - clock.monotonic()), () => resolve(timedOut(effect)), true);
        signal?.addEventListener('abort', () => reject(signal.reason), { signal: ended.signal });
        if (signal?.aborted) reject(signal.reason);
        this.#poll(id, deadline, effect, looked, stop).then(
          (outcome) => outcome && resolve(outcome),
          (failure) => reject(failure),
        );
      });
    } finally {
      ended.abort();
      (timer as Timer | null)?.cancel();
      const others = this.#waiting.get(id);
      others?.delete(tell);
      if (others?.size === 0) this.#waiting.delete(id);
    }
  }

  /**
   * Null when the deadline comes first. A hub that is away is asked again; one that refuses is not.
   * @param looked calls of `look` before the approval was asked for
   */
  async #poll(
    id: string,
    deadline: number,
    effect: 'deny' | 'allow',
    looked: number,
    signal: AbortSignal,
  ): Promise<ApprovalOutcome | null> {
    const clock = this.#http.clock;
    for (let latest = looked; ; ) {
      const left = deadline - beforeDeadline - clock.monotonic();
      if (left <= 0) return null;
      const woken = new AbortController();
      const wake = (): void => woken.abort();
      const stop = AbortSignal.any([signal, woken.signal]);
      this.#asking.add(wake);
      try {
        if (latest === this.#looks) await sleep(clock, Math.min(this.#pause, left), stop);
        latest = this.#looks;
        const { status, decidedBy, reason } = await this.get(id, stop);
        const outcomeStatus = Object.hasOwn(statuses, status) ? statuses[status] : undefined;
        if (outcomeStatus === 'timeout') return timedOut(effect);
        if (outcomeStatus) return decision(outcomeStatus === 'approved', decidedBy, reason);
      } catch (failure) {
        if (signal.aborted) return null;
        if (woken.signal.aborted) continue;
        if (isRefusal(failure)) throw failure;
      } finally {
        this.#asking.delete(wake);
      }
    }
  }
}

/** The answer of a local approval function. */
export type LocalAnswer =
  | boolean
  | { readonly approved: boolean; readonly decidedBy?: string; readonly reason?: string };

/** Asks a function of the agent's own, such as a prompt in a terminal. Its signal aborts at the deadline. */
export function localApproval(
  ask: (request: ApprovalRequest, signal: AbortSignal) => Promise<LocalAnswer>,
  clock: Clock = systemClock,
): ApprovalBackend {
  return {
    async request(request) {
      return {
        id: null,
        async outcome(signal) {
          const ended = new AbortController();
          const stop = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
          const late = sleep(clock, request.timeout * 1000, stop).then(() => timedOut(request.timeoutEffect));
          // A function may throw before it returns a promise.
          const answered = (async () => ask(request, stop))().then((answer) =>
            typeof answer === 'boolean'
              ? decision(answer, null, null)
              : decision(answer.approved, answer.decidedBy ?? null, answer.reason ?? null),
          );
          answered.catch(() => {});
          try {
            return await Promise.race([late, answered]);
          } finally {
            late.catch(() => {});
            ended.abort();
          }
        },
      };
    },
  };
}
