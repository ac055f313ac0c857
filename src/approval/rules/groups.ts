// Pending approvals that are alike: the same tool, contracts and environment. Pure; runs in browsers.
import type { Approval, AskingContract } from '../record.ts';
import { type Amount, amountOf } from './amounts.ts';

/** The sum of a currency; null: amounts without one. */
export interface AmountSum {
  readonly currency: string | null;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

type GroupFields = Pick<Approval, 'toolName' | 'contractName' | 'env'> & {
  readonly contracts: readonly Pick<AskingContract, 'name'>[] | null;
};

/** The names of the contracts that ask, sorted. */
export const contractNamesOf = ({
  contracts,
  contractName,
}: Pick<GroupFields, 'contracts' | 'contractName'>): readonly string[] => {
  const names = contracts?.map(({ name }) => name) ?? (contractName === null ? [] : [contractName]);
  return [...new Set(names)].sort();
};

/** The text that approvals of one group share; its SHA-256 is the group's key. */
export const groupText = (approval: GroupFields): string =>
  JSON.stringify([approval.toolName, contractNamesOf(approval), approval.env]);

/** By currency, most frequent first. Amounts of several currencies are never added. */
export function amountSums(approvals: readonly Pick<Approval, 'toolArgs'>[]): readonly AmountSum[] {
  const sums = new Map<string | null, { count: number; sum: number; min: number; max: number }>();
  const amounts = approvals
    .map(({ toolArgs }) => amountOf(toolArgs))
    .filter((one): one is Amount => one !== null);
  for (const { value, currency } of amounts) {
    const sum = sums.get(currency) ?? { count: 0, sum: 0, min: value, max: value };
    sums.set(currency, {
      count: sum.count + 1,
      sum: sum.sum + value,
      min: Math.min(sum.min, value),
      max: Math.max(sum.max, value),
    });
  }
  return [...sums]
    .sort(([, a], [, b]) => b.count - a.count)
    .map(([currency, { sum, min, max }]) => ({ currency, sum: Math.round(sum * 1e6) / 1e6, min, max }));
}

/** Values of an object that are compared. */
const maxPaths = 500;
const maxDepth = 8;

/** The texts of the values by path; a list counts as one value. */
function valuesByPath(root: unknown, prefix: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  const visit = (value: unknown, path: string, depth: number): void => {
    if (values.size >= maxPaths) return;
    if (typeof value !== 'object' || value === null || Array.isArray(value) || depth >= maxDepth) {
      values.set(path, JSON.stringify(value) ?? '');
      return;
    }
    for (const [key, inner] of Object.entries(value)) visit(inner, `${path}.${key}`, depth + 1);
  };
  if (root !== null) visit(root, prefix, 0);
  return values;
}

/** Paths whose values differ: `args.…`, `principal.…`, and `agent`. At most 100. */
export function differingPaths(
  approvals: readonly Pick<Approval, 'toolArgs' | 'principal' | 'agentId'>[],
): readonly string[] {
  const [first, ...others] = approvals.map(({ toolArgs, principal, agentId }) => ({
    agentId,
    values: new Map([...valuesByPath(toolArgs, 'args'), ...valuesByPath(principal, 'principal')]),
  }));
  if (!first) return [];
  const differing = new Set<string>();
  for (const other of others) {
    if (other.agentId !== first.agentId) differing.add('agent');
    for (const path of new Set([...first.values.keys(), ...other.values.keys()])) {
      if (first.values.get(path) !== other.values.get(path)) differing.add(path);
    }
  }
  return [...differing].sort().slice(0, 100);
}
