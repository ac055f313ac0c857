// Approvals as agents ask for them and people decide them, noted as check/approvals.ts judges them. Breaks nothing.
import { randomUUID } from 'node:crypto';
import { shardOf } from '../../../src/shared/ids.ts';
import type { Node } from './caller.ts';
import type { ApprovalSeen, Resync, Status } from './check/approvals.ts';
import type { Fleet } from './fleet.ts';
import type { Followed } from './follower.ts';
import type { Key, Tenant } from './tenant.ts';

/** Approvals read side by side. */
const lanes = 8;

type Reading = ApprovalSeen['readings'][number];
type Decision = ApprovalSeen['decisions'][number];

export interface Asked {
  readonly tenant: Tenant;
  readonly id: string;
  readonly key: Key;
  readonly agent: string;
  /** Of its environment. */
  readonly shard: number;
  /** Epoch ms. */
  readonly askedAt: number;
  readonly deadline: number;
  readonly readings: Reading[];
  readonly decisions: Decision[];
}

/** Asks for one, on one node after another until one is made; null when none was made with `tries` nodes. */
export async function ask(
  fleet: Fleet,
  tenant: Tenant,
  key: Key,
  agent: string,
  seconds: number,
  nodes: readonly Node[],
): Promise<Asked | null> {
  // Another call each time: the same one would be answered with the approval that is pending.
  const call_id = randomUUID();
  const body = { tool_name: 'delete_file', message: 'may I?', timeout: seconds, call_id };
  for (const node of nodes) {
    const answer = await fleet.caller.send(node, 'POST', '/api/v1/approvals', { key: key.key, agent, body });
    if (answer.outcome !== 'ok') continue;
    const { id, created_at } = answer.output;
    const askedAt = Date.parse(created_at);
    const shard = shardOf(`${tenant.id}/${key.env}`);
    const deadline = askedAt + seconds * 1000;
    return { tenant, id, key, agent, shard, askedAt, deadline, readings: [], decisions: [] };
  }
  return null;
}

/** Reads its state on a node and notes it. */
export async function read(fleet: Fleet, asked: Asked, node: Node): Promise<void> {
  const invoked = Date.now();
  const path = `/api/v1/approvals/${asked.id}`;
  const answer = await fleet.caller.send(node, 'GET', path, { cookie: asked.tenant.cookie });
  if (answer.outcome !== 'ok') return;
  asked.readings.push({ invoked, ended: Date.now(), status: answer.output.status as Status });
}

/** Its state on a node as its agent sees it; null without an answer. */
export async function readAsAgent(fleet: Fleet, asked: Asked, node: Node): Promise<Status | null> {
  const caller = { key: asked.key.key, agent: asked.agent };
  const answer = await fleet.caller.send(node, 'GET', `/api/v1/approvals/${asked.id}`, caller);
  return answer.outcome === 'ok' ? (answer.output.status as Status) : null;
}

/** Decides it on a node and notes what came of it; the HTTP status. */
export async function decide(
  fleet: Fleet,
  asked: Asked,
  node: Node,
  approved: boolean,
  reason: string,
  timeoutMs?: number,
): Promise<number> {
  const invoked = Date.now();
  const answer = await fleet.caller.send(node, 'PUT', `/api/v1/approvals/${asked.id}`, {
    cookie: asked.tenant.cookie,
    body: { approved, reason },
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  const status = approved ? ('approved' as const) : ('denied' as const);
  asked.decisions.push({ status, outcome: answer.outcome, invoked, ended: Date.now() });
  return answer.status;
}

/** Its state in the end, as the store has it, and by whom and why. */
export async function final(
  fleet: Fleet,
  asked: Asked,
): Promise<{ readonly status: Status; readonly reason: string | null }> {
  const path = `/api/v1/approvals/${asked.id}`;
  const { output } = await fleet.must('GET', path, { cookie: asked.tenant.cookie });
  return { status: output.status, reason: output.decision_reason };
}

const statusOf = (type: string, data: { readonly status?: Status }): Status | null =>
  type === 'approval_timeout' ? 'timeout' : type === 'approval_decided' ? (data.status ?? null) : null;

const resyncsOf = ({ name, frames, connections }: Followed): Resync[] =>
  frames
    .filter(({ type }) => type === 'resync')
    .map(({ at, connection }) => ({ follower: name, from: connections[connection - 1]?.endedAt ?? 0, at }));

/** The judge's view of each, with what these followers were told of it. */
export async function seen(
  fleet: Fleet,
  all: readonly Asked[],
  followers: readonly Followed[],
): Promise<ApprovalSeen[]> {
  const told = new Map<string, { follower: string; status: Status; at: number; since: number }[]>();
  for (const { name, frames, connections } of followers) {
    for (const { type, data, at, connection } of frames) {
      const status = statusOf(type, data);
      if (status === null) continue;
      const list = told.get(data.approval_id) ?? [];
      list.push({ follower: name, status, at, since: connections[connection]?.openedAt ?? 0 });
      told.set(data.approval_id, list);
    }
  }
  const resyncs = followers.flatMap(resyncsOf);
  const out: ApprovalSeen[] = [];
  const lane = async (from: number): Promise<void> => {
    for (let n = from; n < all.length; n += lanes) {
      const asked = all[n];
      if (!asked) continue;
      const { status } = await final(fleet, asked);
      const { id, shard, deadline, readings, decisions } = asked;
      const inOrder = [...readings].sort((a, b) => a.ended - b.ended);
      const frames = told.get(id) ?? [];
      out.push({ id, shard, deadline, readings: inOrder, decisions, frames, resyncs, final: status });
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, from) => lane(from)));
  return out;
}
