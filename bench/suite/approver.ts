// A client process of agents that hold streams and request approvals, and of the person who decides them. A call ends
// when the agent's stream receives the decision.
import { randomUUID } from 'node:crypto';
import http, { type ClientRequest } from 'node:http';
import https from 'node:https';
import { ClientProcess, serveOrders } from './client-process.ts';
import { HttpCaller } from './http-call.ts';
import { callsOf, type OpenLoop, type OpenLoopResult, runOpenLoop } from './open-loop.ts';
import { withinLimit } from './time-limit.ts';

/** An agent may request 10 approvals a minute. */
export const approvalsOfAgent = 8;

export interface ApprovalPlan {
  /** Of the node that receives requests, of the one that receives decisions, and of the one with the streams. */
  readonly origins: { readonly request: string; readonly decide: string; readonly stream: string };
  readonly env: string;
  /** Of agents, taken in turn. */
  readonly keys: readonly string[];
  /** Of agents' names. Default: `bench` */
  readonly agentPrefix?: string;
  /** Session of the person who decides. */
  readonly cookie: string;
  /** Longest wait for a decision at the agent, milliseconds. Default: a minute */
  readonly limitMs?: number;
}

type Order =
  | ({ readonly type: 'whole' } & ApprovalPlan & OpenLoop)
  | ({ readonly type: 'decisions' } & ApprovalPlan & OpenLoop);

export class Approver extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'approver');
  }

  /** Each call requests an approval, decides it at once, and ends at the agent. */
  whole(plan: ApprovalPlan & OpenLoop): Promise<OpenLoopResult> {
    return this.request({ type: 'whole', ...plan });
  }

  /** Each call decides an approval that was requested before, and ends at the agent. */
  decisions(plan: ApprovalPlan & OpenLoop): Promise<OpenLoopResult> {
    return this.request({ type: 'decisions', ...plan });
  }
}

interface Agent {
  readonly key: string;
  readonly name: string;
}

const decisionForm = /"approval_decided","approval_id":"([^"]+)"/;
const openAtOnce = 50;

/** Resolves when the stream of the agent is open. */
function followAgent(
  plan: ApprovalPlan,
  { key, name }: Agent,
  onDecision: (id: string) => void,
): Promise<ClientRequest> {
  const headers = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': name };
  const url = new URL(`/api/v1/stream?env=${plan.env}`, plan.origins.stream);
  const { get } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`A stream was refused: ${response.statusCode}`));
      let rest = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        const frames = (rest + text).split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) {
          const id = decisionForm.exec(frame)?.[1];
          if (id !== undefined) onDecision(id);
          if (frame.includes(': connected')) resolve(request);
        }
      });
    });
    request.on('error', reject);
  });
}

async function withAgents<T>(
  plan: ApprovalPlan & OpenLoop,
  run: (agents: readonly Agent[], decisionOf: (id: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const prefix = `${plan.agentPrefix ?? 'bench'}-${randomUUID().slice(0, 8)}`;
  const agents = Array.from({ length: Math.ceil(callsOf(plan) / approvalsOfAgent) }, (_, n) => ({
    key: plan.keys[n % plan.keys.length] ?? '',
    name: `${prefix}-${n}`,
  }));
  const arrived = new Set<string>();
  const waiting = new Map<string, () => void>();
  const onDecision = (id: string): void => {
    const resolve = waiting.get(id);
    waiting.delete(id);
    if (resolve) resolve();
    else arrived.add(id);
  };
  const decisionOf = (id: string): Promise<void> =>
    arrived.delete(id)
      ? Promise.resolve()
      : withinLimit(
          new Promise((resolve) => void waiting.set(id, resolve)),
          `The decision of approval ${id}`,
          plan.limitMs,
        );
  const streams: ClientRequest[] = [];
  try {
    for (let n = 0; n < agents.length; n += openAtOnce) {
      const some = agents.slice(n, n + openAtOnce);
      const opened = Promise.all(some.map((agent) => followAgent(plan, agent, onDecision)));
      streams.push(...(await withinLimit(opened, 'The greeting of a stream', plan.limitMs)));
    }
    return await run(agents, decisionOf);
  } finally {
    for (const stream of streams) stream.destroy();
  }
}

async function requestApproval(caller: HttpCaller, { key, name }: Agent): Promise<string> {
  const call = {
    method: 'POST',
    path: '/api/v1/approvals',
    headers: {
      Authorization: `Bearer ${key}`,
      'X-Service-Agent-Id': name,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({
      tool_name: 'delete_file',
      message: 'May I?',
      timeout: 3600,
      call_id: randomUUID(),
    }),
  };
  const text = await caller.callUntilAccepted(call, () => {});
  return (JSON.parse(text) as { readonly id: string }).id;
}

/** A refusal costs the call its wait. A decision that was repeated may meet itself: 409. */
async function decide(caller: HttpCaller, cookie: string, id: string): Promise<void> {
  const call = {
    method: 'PUT',
    path: `/api/v1/approvals/${id}`,
    headers: { Cookie: cookie, 'Content-Type': 'application/json', 'X-Requested-With': 'bench' },
    body: '{"approved":true}',
  };
  let refused = 0;
  await caller
    .callUntilAccepted(call, () => refused++)
    .catch((error: Error) => {
      if (refused === 0 || !error.message.includes(': 409 ')) throw error;
    });
}

const agentOf = (agents: readonly Agent[], n: number): Agent => agents[n % agents.length] as Agent;

function run(order: Order): Promise<OpenLoopResult> {
  const requester = new HttpCaller(order.origins.request);
  const decider = new HttpCaller(order.origins.decide);
  const close = (): void => {
    requester.close();
    decider.close();
  };
  return withAgents(order, async (agents, decisionOf) => {
    const decideAndAwait = async (id: string): Promise<void> => {
      await Promise.all([decide(decider, order.cookie, id), decisionOf(id)]);
    };
    if (order.type === 'whole') {
      return runOpenLoop(order, async (n) =>
        decideAndAwait(await requestApproval(requester, agentOf(agents, n))),
      );
    }
    const ids: string[] = [];
    for (let n = 0; n < callsOf(order); n++) ids.push(await requestApproval(requester, agentOf(agents, n)));
    return runOpenLoop(order, (n) => decideAndAwait(ids[n] ?? ''));
  }).finally(close);
}

serveOrders(import.meta.url, run);
