// Groups of pending approvals that are alike, and the members of a group.
import { listedEnvs, requireRole } from '../../shared/access.ts';
import type { Env } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Approval } from '../record.ts';
import { type AmountSum, amountSums, contractNamesOf, differingPaths, groupText } from '../rules/groups.ts';
import { asSeen } from '../rules/state.ts';

export interface ApprovalGroup {
  readonly key: string;
  readonly toolName: string;
  readonly contractNames: readonly string[];
  readonly env: Env;
  /** All members. */
  readonly count: number;
  /** Epoch milliseconds. */
  readonly firstDeadline: number;
  /** This and the rest are of the 200 members that expire next. */
  readonly amounts: readonly AmountSum[];
  readonly differing: readonly string[];
  readonly ids: readonly string[];
}

export interface ApprovalGroups {
  /** Groups of two and more, the first to expire first. @param after the key that the page before ended with */
  list(
    principal: Principal,
    env: Env | null,
    after: string | null,
  ): Promise<{ readonly groups: readonly ApprovalGroup[]; readonly next: string | null }>;
  /** The members of a group, the first to expire first, at most `limit`. */
  members(principal: Principal, key: string, limit: number): Promise<readonly Approval[]>;
}

/** Pending approvals that are looked at, the newest first. */
const maxPending = 10_000;
const portion = 1_000;
const maxGroups = 100;
const maxMembers = 200;

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets'>;

export const createApprovalGroups = (ports: Ports): ApprovalGroups => ({
  async list(principal, env, after) {
    const groups = (await pendingByKey(ports, principal, env)).filter(([, members]) => members.length > 1);
    const start = after === null ? 0 : groups.findIndex(([key]) => key === after) + 1;
    const page = groups.slice(start, start + maxGroups);
    const last = page.at(-1);
    return {
      groups: page.flatMap(([key, members]) => {
        const [first] = members;
        if (!first) return [];
        const next = members.slice(0, maxMembers);
        return {
          key,
          toolName: first.toolName,
          contractNames: contractNamesOf(first),
          env: first.env,
          count: members.length,
          firstDeadline: first.deadline,
          amounts: amountSums(next),
          differing: differingPaths(next),
          ids: next.map(({ id }) => id),
        };
      }),
      next: last && start + page.length < groups.length ? last[0] : null,
    };
  },

  async members(principal, key, limit) {
    const group = (await pendingByKey(ports, principal, null)).find(([one]) => one === key);
    return group?.[1].slice(0, limit) ?? [];
  },
});

async function pendingByKey(
  { clock, store, secrets }: Ports,
  principal: Principal,
  env: Env | null,
): Promise<readonly (readonly [key: string, members: readonly Approval[]])[]> {
  requireRole(principal, 'viewer');
  const { tenantId } = principal;
  const now = clock.now();
  const filter = { env: listedEnvs(principal, env), status: 'pending' } as const;
  const byText = new Map<string, Approval[]>();
  let after: Approval | undefined;
  for (let read = 0; read < maxPending; ) {
    const page = { limit: portion, offset: 0, ...(after ? { after } : {}) };
    const { items, more } = await store.approvals.list(tenantId, filter, page, now);
    // A page may end at its bytes.
    read += items.length;
    for (const approval of items) {
      if (asSeen(approval, now).status !== 'pending') continue;
      const text = groupText(approval);
      const members = byText.get(text);
      if (members) members.push(approval);
      else byText.set(text, [approval]);
    }
    after = items.at(-1);
    if (!more || !after) break;
  }
  const byDeadline = (a: Approval, b: Approval): number => a.deadline - b.deadline || (a.id < b.id ? -1 : 1);
  return [...byText]
    .map(([text, members]) => [secrets.sha256(text), members.sort(byDeadline)] as const)
    .sort(([oneKey, [one]], [otherKey, [other]]) =>
      one && other && one.deadline !== other.deadline
        ? one.deadline - other.deadline
        : oneKey < otherKey
          ? -1
          : 1,
    );
}
