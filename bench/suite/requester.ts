// A client process that repeats requests: in an open loop for latencies, in a closed one for rates.
import { agentCount, agentName, sessionName } from '../batch.ts';
import { ClientProcess, serveOrders } from './client-process.ts';
import { type HttpCall, HttpCaller, isAccepted, isRefused, refusalOf } from './http-call.ts';
import { type OpenLoop, type OpenLoopResult, runOpenLoop } from './open-loop.ts';
import { seededRandom } from './statistics.ts';

/** In path and body, `{agent}` and `{session}` become random ones, `{n}` the number of the request. */
interface Requests {
  readonly origin: string;
  /** Sent in turn. */
  readonly calls: readonly HttpCall[];
  readonly seed: number;
  /** `{agent}` is one of as many. Default: all that batches name */
  readonly agents?: number;
}

export type OpenRequests = Requests &
  OpenLoop & {
    /**
     * After 429 or 503: `fail` the run, `accept` the refusal as an answer, or `retry` after its Retry-After until
     * another answer comes, as part of the latency. A request that would be refused for more than a minute fails the
     * run. Default: `fail`
     */
    readonly onRefusal?: 'fail' | 'accept' | 'retry';
  };

export interface OpenRequestsResult extends OpenLoopResult {
  /** Answers with 429 or 503; their times are among the latencies. */
  readonly refused: number;
}

export interface ClosedRequests extends Requests {
  readonly connections: number;
  readonly seconds: number;
}

type Order = ({ readonly type: 'open' } & OpenRequests) | ({ readonly type: 'closed' } & ClosedRequests);

export interface RequestRate {
  readonly requests: number;
  readonly elapsedMs: number;
}

export class Requester extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'requester');
  }

  /** @throws CannotRun if an answer is not 2xx */
  open(requests: OpenRequests): Promise<OpenRequestsResult> {
    return this.request({
      type: 'open',
      ...requests,
    });
  }

  /** @throws CannotRun if an answer is not 2xx */
  closed(requests: ClosedRequests): Promise<RequestRate> {
    return this.request({ type: 'closed', ...requests });
  }
}

function callMaker({ calls, seed, agents = agentCount }: Requests): (n: number) => HttpCall {
  const random = seededRandom(seed);
  return (n) => {
    const { body, ...call } = calls[n % calls.length] as HttpCall;
    const agent = agentName(Math.floor(random() * agents));
    const session = sessionName(Math.floor(random() * 1e6));
    const fill = (text: string): string =>
      text.replaceAll('{agent}', agent).replaceAll('{session}', session).replaceAll('{n}', String(n));
    return { ...call, path: fill(call.path), ...(body === undefined ? {} : { body: fill(body) }) };
  };
}

async function runClosed(order: ClosedRequests, caller: HttpCaller): Promise<RequestRate> {
  const callOf = callMaker(order);
  let requests = 0;
  const began = performance.now();
  const sendInTurn = async (): Promise<void> => {
    while (performance.now() < began + order.seconds * 1000) await caller.call(callOf(requests++));
  };
  await Promise.all(Array.from({ length: order.connections }, sendInTurn));
  return { requests, elapsedMs: performance.now() - began };
}

async function runOpen(order: OpenRequests, caller: HttpCaller): Promise<OpenRequestsResult> {
  const { onRefusal = 'fail' } = order;
  const callOf = callMaker(order);
  let refused = 0;
  const result = await runOpenLoop(order, async (n) => {
    const call = callOf(n);
    if (onRefusal === 'retry') {
      await caller.callUntilAccepted(call, () => refused++);
      return;
    }
    const { status, text } = await caller.answer(call);
    if (isAccepted(status)) return;
    if (!isRefused(status) || onRefusal === 'fail') throw refusalOf(call, status, text);
    refused++;
  });
  return { ...result, refused };
}

async function run(order: Order): Promise<unknown> {
  const caller = new HttpCaller(order.origin, order.type === 'closed' ? order.connections : undefined);
  try {
    if (order.type === 'closed') return await runClosed(order, caller);
    return await runOpen(order, caller);
  } finally {
    caller.close();
  }
}

serveOrders(import.meta.url, run);
