// Groups of pending approvals that are alike, and the members of a group.
import { listedEnvs, requireRole } from '../../shared/access.ts';
import type { Env, EnvFilter } from '../../shared/ids.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { Page } from '../../shared/ports/page.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { DeadlinePlace } from '../port.ts';
import { type Approval, maxInlineArgs } from '../record.ts';
import { type AmountSum, amountSums, contractNamesOf, differingPaths, groupText } from '../rules/groups.ts';
import type { ApprovalMatches } from './search.ts';

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

/** The members of a group that are asked for. */
export interface MemberRequest {
  readonly key: string;
  readonly env: EnvFilter;
  readonly limit: number;
  /** The members behind this place; undefined: from the first on. */
  readonly after: DeadlinePlace | undefined;
}

export interface ApprovalGroups {
  /**
   * Groups of two and more, the first to expire first.
   * @param after deadline and key (`id`) of the last group on the page before
   */
  list(
    principal: Principal,
    env: Env | null,
    after: DeadlinePlace | null,
  ): Promise<{ readonly groups: readonly ApprovalGroup[]; readonly next: DeadlinePlace | null }>;
  /** The members of a group, the first to expire first. A page may be short once the time is over. */
  listMembers(principal: Principal, request: MemberRequest): Promise<ApprovalMatches>;
}

/** Pending approvals whose groups are listed, the first to expire first. Further ones are only counted. */
const maxPending = 10_000;
const portion = 1_000;
const maxGroups = 100;
const maxMembers = 200;
/** Bytes of arguments kept apart that one answer reads. Further ones count as absent. */
const maxReadArgs = 16 * 1024 * 1024;
/** Milliseconds for a page of members, and for the arguments kept apart that a list of groups reads. */
const budgetMs = 1_000;

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets'>;

interface Members {
  /** Of the first member. */
  readonly deadline: number;
  /** Of the group. */
  readonly id: string;
  count: number;
  /** The 200 that expire next. */
  readonly next: Approval[];
}

export const createApprovalGroups = (ports: Ports): ApprovalGroups => ({
  async list(principal, env, after) {
    const groups = (await pendingGroups(ports, principal, env)).filter(({ count }) => count > 1);
    const left = after === null ? groups : groups.filter((group) => comparePlaces(group, after) > 0);
    const page = left.slice(0, maxGroups);
    const last = page.at(-1);
    const readWhole = argumentReader(ports);
    const rendered: ApprovalGroup[] = [];
    for (const { id: key, deadline, count, next } of page) {
      const members: Approval[] = [];
      for (const member of next) members.push(await readWhole(member));
      const [first] = members;
      if (!first) continue;
      rendered.push({
        key,
        toolName: first.toolName,
        contractNames: contractNamesOf(first),
        env: first.env,
        count,
        firstDeadline: deadline,
        amounts: amountSums(members),
        differing: differingPaths(members),
        ids: members.map(({ id }) => id),
      });
    }
    const isLast = page.length === left.length;
    return { groups: rendered, next: last && !isLast ? { deadline: last.deadline, id: last.id } : null };
  },

  async listMembers(principal, { key, env, limit, after }) {
    const { clock, secrets } = ports;
    const began = clock.monotonic();
    const keysByText = new Map<string, string>();
    const items: Approval[] = [];
    let last: Approval | undefined;
    for (;;) {
      const { items: part, more } = await pendingPart(ports, principal, env, last ?? after);
      for (const [i, approval] of part.entries()) {
        last = approval;
        const text = groupText(approval);
        const ownKey = keysByText.get(text) ?? secrets.sha256(text);
        keysByText.set(text, ownKey);
        if (ownKey !== key || approval.status !== 'pending') continue;
        items.push(approval);
        if (items.length === limit) return { items, next: more || i + 1 < part.length ? approval : null };
      }
      if (!more || !last) return { items, next: null };
      if (clock.monotonic() - began > budgetMs) return { items, next: last };
    }
  },
});

const comparePlaces = (a: DeadlinePlace, b: DeadlinePlace): number =>
  a.deadline - b.deadline || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

function pendingPart(
  { clock, store }: Ports,
  principal: Principal,
  env: EnvFilter,
  after: DeadlinePlace | undefined,
): Promise<Page<Approval>> {
  requireRole(principal, 'viewer');
  const page = { limit: portion, offset: 0, ...omitUndefined({ after }) };
  const filter = { env: listedEnvs(principal, env) };
  return store.approvals.listPending(principal.tenantId, filter, page, clock.now());
}

/** Groups with their counts, ordered by the deadline of their first member, then by key. */
async function pendingGroups(
  ports: Ports,
  principal: Principal,
  env: Env | null,
): Promise<readonly Members[]> {
  const byText = new Map<string, Members>();
  let last: Approval | undefined;
  for (let read = 0; read < maxPending; ) {
    const { items, more } = await pendingPart(ports, principal, env, last);
    for (const approval of items) {
      if (approval.status !== 'pending') continue;
      const text = groupText(approval);
      const group = byText.get(text) ?? {
        deadline: approval.deadline,
        id: ports.secrets.sha256(text),
        count: 0,
        next: [],
      };
      byText.set(text, group);
      group.count++;
      if (group.next.length < maxMembers) group.next.push(approval);
    }
    read += items.length;
    last = items.at(-1);
    if (!more || !last) return [...byText.values()].sort(comparePlaces);
  }
  if (last) await countFurther(ports, principal, env, { byText, last });
  return [...byText.values()].sort(comparePlaces);
}

/** Adds the pending approvals behind `last` to the counts of their groups. */
async function countFurther(
  { clock, store }: Ports,
  principal: Principal,
  env: Env | null,
  { byText, last }: { readonly byText: ReadonlyMap<string, Members>; readonly last: DeadlinePlace },
): Promise<void> {
  const place = { deadline: last.deadline, id: last.id };
  const visibleEnvs = listedEnvs(principal, env);
  const counts = await store.approvals.countAlike(principal.tenantId, visibleEnvs, place, clock.now());
  for (const { contractNames, count, ...alike } of counts) {
    const contracts = contractNames?.map((name) => ({ name })) ?? null;
    const group = byText.get(groupText({ ...alike, contracts }));
    if (group) group.count += count;
  }
}

/** Adds the arguments that are kept apart from their approval, as many as one answer reads in its time. */
function argumentReader({ store, clock }: Ports): (approval: Approval) => Promise<Approval> {
  const began = clock.monotonic();
  let bytes = 0;
  return async (approval) => {
    const { argsBytes, tenantId, id } = approval;
    if (argsBytes <= maxInlineArgs || bytes + argsBytes > maxReadArgs) return approval;
    if (clock.monotonic() - began > budgetMs) return approval;
    bytes += argsBytes;
    const stored = await store.approvals.getWhole(tenantId, id);
    return { ...approval, toolArgs: stored?.toolArgs ?? null };
  };
}
