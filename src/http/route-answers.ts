// The answer of a route that is no stream: caller → limit → parse → handle → encode.

import type { Admission } from '../admission/admission.ts';
import { type Budgets, checkAnswer, checkRoom } from '../admission/byte-budgets.ts';
import { estimateJsonBytes } from '../admission/estimate-bytes.ts';
import type { RateLimits } from '../admission/rate-limit.ts';
import { createRouteLimits, type RouteLimits } from '../admission/route-limits.ts';
import { admissionTable } from '../admission/table.ts';
import { turns } from '../shared/concurrency/event-loop-budget.ts';
import { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { RequestOrigin } from '../shared/principal.ts';
import { isLocal } from './address.ts';
import type { Callers } from './caller.ts';
import { type Caller, Reply, type Request, Streamed, WrittenJson } from './contract/call.ts';
import type { RouteDeclaration } from './contract/route.ts';
import { createDownload } from './download.ts';
import { encode } from './encode.ts';
import { nameOf, type Seen } from './finish.ts';
import type { Cors } from './headers.ts';
import type { Idempotency, RoutedCall } from './idempotency.ts';
import { parse } from './parse.ts';
import type { RawRequest, RawResponse } from './raw.ts';
import type { Match } from './router.ts';
import type { BoundHandler } from './serve.ts';
import { checkNamedEnvironment, type RequestParts, readOwnEnvironment, validate } from './validate.ts';

/** Bytes of an answer that is written at once. */
const smallBytes = 16 * 1024;

/** A request whose caller is identified and whose input is valid. */
interface ValidCall {
  readonly raw: RawRequest;
  readonly sent: RoutedCall & { readonly declaration: RouteDeclaration };
  readonly input: RequestParts;
  /** Of an idempotent repeat; null: none. */
  readonly key: string | null;
  /** For a browser's login that is renewed. */
  readonly cookie: string | null;
  readonly network: string;
  readonly limits: RouteLimits;
  readonly request: Omit<Request, 'newId'>;
}

export interface RouteAnswersOptions {
  readonly admission: Admission;
  readonly budgets: Budgets;
  readonly callers: Callers;
  readonly cors: Pick<Cors, 'isFromForeignPage'>;
  readonly rateLimits: RateLimits;
  readonly idempotency: Idempotency;
  readonly clock: Clock;
  readonly log: Log;
}

export class RouteAnswers {
  readonly #options: RouteAnswersOptions;

  constructor(options: RouteAnswersOptions) {
    this.#options = options;
  }

  /** @throws HubError */
  async answer(
    raw: RawRequest,
    match: Match,
    requestFacts: Seen,
    handler: BoundHandler,
  ): Promise<RawResponse> {
    const { callers, cors, rateLimits, idempotency } = this.#options;
    const { id, network } = requestFacts;
    const { name, declaration } = match.route;
    const { caller, cookie } =
      callers.remembered(declaration, raw.headers, network) ??
      (await callers.find(declaration, raw.headers, network));
    requestFacts.caller = caller;
    const limits = createRouteLimits(rateLimits, declaration, caller, network);
    requestFacts.limits = limits;
    await limits.arrived();
    const parts = await parse(raw, match);
    const query = readOwnEnvironment(declaration, caller, parts.query);
    const input = validate(declaration, { ...parts, query });
    checkNamedEnvironment(declaration, caller, input);
    const sent = { operation: name, declaration, caller, headers: raw.headers };
    const key = idempotency.keyOf(sent);
    const request = {
      id,
      network,
      local: isLocal(raw.remote, raw.headers),
      isFromForeignPage: cors.isFromForeignPage(raw.headers),
      header: (field: string) => raw.headers.get(field) ?? null,
      limits: limits.own,
      recheckCaller: () => this.#recheck(declaration, caller, raw, network),
    };
    const call = { raw, sent, input, key, cookie, network, limits, request };
    return (await this.#repeatOverLimit(call)) ?? this.#admitted(call, handler);
  }

  async #recheck(
    declaration: RouteDeclaration,
    caller: Caller,
    { headers }: RawRequest,
    network: string,
  ): Promise<boolean> {
    if (await this.#isStillValid(caller)) return true;
    await this.#options.callers.find(declaration, headers, network);
    return false;
  }

  async #isStillValid(caller: Caller): Promise<boolean> {
    const canEnd = caller.kind === 'user' || caller.kind === 'key' || caller.kind === 'hostedOperator';
    return !canEnd || this.#options.callers.isStillValid(caller);
  }

  /**
   * Counts the request; null: it may go on. A request over its limit that was carried out before is answered as then.
   * Without an Idempotency-Key, the handler may recognize the repeat.
   * @throws HubError rate_limited for any other
   */
  async #repeatOverLimit({ raw, sent, input, key, cookie, limits }: ValidCall): Promise<RawResponse | null> {
    const refusal = await countBefore(limits, input);
    if (refusal === null) return null;
    const repeat = await this.#options.idempotency.answered(sent, key, input);
    if (repeat !== null) return encode(sent.declaration, repeat, cookie, raw);
    if (key === null && sent.declaration.canRepeatOverLimit) return null;
    throw refusal;
  }

  /** Within the bounds of searches, reads or large batches. */
  #admitted(call: ValidCall, handler: BoundHandler): Promise<RawResponse> {
    const { admission } = this.#options;
    const { declaration, caller } = call.sent;
    const answer = (): Promise<RawResponse> => this.#carryOut(call, handler);
    if (declaration.search === true) return admission.runFor(caller, 'searches', answer);
    if (declaration.method === 'GET' || declaration.reads === true)
      return admission.runFor(caller, 'reads', answer);
    const { body } = call.input;
    const bytes = body instanceof Uint8Array ? body.byteLength : 0;
    return bytes > admissionTable.largeBatches.freeBytes
      ? admission.runFor(caller, 'largeBatches', answer)
      : answer();
  }

  async #carryOut(call: ValidCall, handler: BoundHandler): Promise<RawResponse> {
    const { budgets, idempotency } = this.#options;
    const { raw, sent, input, key, cookie, network, limits, request } = call;
    const { declaration, caller } = sent;
    checkRoom(budgets, () => nameOf(caller, network));
    let isCarriedOut = false;
    const result = await idempotency
      .run(sent, key, input, (newId) => {
        isCarriedOut = true;
        return handler(input, withOrigin(declaration, caller, request), { ...request, newId });
      })
      .finally(() => (isCarriedOut ? undefined : limits.giveBack()));
    if (result instanceof Streamed) return this.#download(call, result);
    const body: unknown = result instanceof Reply ? result.body : result;
    const bytes = body instanceof WrittenJson ? 0 : estimateJsonBytes(result);
    // The store hands over many answers in one turn of the event loop: they are written one after the other.
    if (bytes > smallBytes) await turns.next(bytes);
    return encode(declaration, result, cookie, raw);
  }

  /** The head of a body that is sent piece by piece; a HEAD request gets no more than that. */
  #download({ raw, sent, cookie, network }: ValidCall, streamed: Streamed): RawResponse {
    const { budgets, clock, log } = this.#options;
    const caller = nameOf(sent.caller, network);
    const mayContinue = (): Promise<boolean> => this.#isStillValid(sent.caller);
    let held = 0;
    const ended = (): void => {
      budgets.unsent.give(caller, held);
      streamed.ended();
    };
    const { pieces, keepalive } = streamed;
    const session = createDownload({ pieces, keepalive, ended, mayContinue }, { clock, log });
    try {
      checkAnswer(budgets, () => caller, streamed.held);
    } catch (error) {
      session.gone();
      throw error;
    }
    held = streamed.held;
    budgets.unsent.take(caller, held);
    if (raw.method === 'HEAD' || raw.upgrade) session.gone();
    if (raw.upgrade)
      throw new HubError('bad_request', 'This download is not a stream. Request it without an upgrade.');
    const head = encode(sent.declaration, new Reply('', { headers: streamed.headers }), cookie, raw);
    return { ...head, body: null, live: raw.method === 'HEAD' ? null : session };
  }
}

/** The refusal of a request over a limit of its route; null: it is counted. @throws HubError as `limits.before` */
async function countBefore(limits: RouteLimits, input: RequestParts): Promise<HubError | null> {
  try {
    await limits.before(input);
    return limits.own.refusal();
  } catch (error) {
    if (error instanceof HubError && error.code === 'rate_limited') return error;
    throw error;
  }
}

/** The caller with the request that it makes, where what it changes is recorded. */
function withOrigin({ audit }: RouteDeclaration, caller: Caller, { id, network }: RequestOrigin): Caller {
  if (audit === undefined || (caller.kind !== 'user' && caller.kind !== 'hostedOperator')) return caller;
  return { ...caller, request: { id, network } };
}
