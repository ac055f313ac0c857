// Groups calls that a person can approve together, with their differences and sums.
import { moneyOf } from '../../lib/call-values.ts';
import type { Approval } from './model.ts';

type Arguments = { readonly [name: string]: unknown };

const argumentsOf = ({ tool_args: args }: Approval): Arguments =>
  typeof args === 'object' && args !== null ? { ...args } : {};

const contractsOf = ({ contracts, contract_name: name }: Approval): readonly string[] =>
  Array.isArray(contracts) && contracts.length > 0 ? contracts.map((one) => one.name) : name ? [name] : [];

export interface AlikeCalls {
  readonly tool: string;
  /** Names of the asking contracts; empty if none has a name. */
  readonly contracts: readonly string[];
  readonly env: string;
  readonly calls: readonly Approval[];
}

/** Groups calls by tool, contract and environment, in the order of each group's first call. */
export function groupAlike(calls: readonly Approval[]): readonly AlikeCalls[] {
  const groups = new Map<string, Approval[]>();
  for (const call of calls) {
    const key = JSON.stringify([call.tool_name, contractsOf(call), call.env]);
    groups.set(key, [...(groups.get(key) ?? []), call]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    return [{ tool: first.tool_name, contracts: contractsOf(first), env: first.env, calls: group }];
  });
}

/** Arguments with the same value in all calls, and the different ones by call. */
export function compareArguments(calls: readonly Approval[]): {
  readonly same: Arguments;
  readonly differing: readonly Arguments[];
} {
  const all = calls.map(argumentsOf);
  const names = [...new Set(all.flatMap((args) => Object.keys(args)))];
  const isSame = (name: string): boolean =>
    new Set(all.map((args) => (name in args ? JSON.stringify(args[name]) : undefined))).size === 1;
  const same = names.filter(isSame);
  return {
    same: Object.fromEntries(same.map((name) => [name, all[0]?.[name]])),
    differing: all.map((args) =>
      Object.fromEntries(Object.entries(args).filter(([name]) => !same.includes(name))),
    ),
  };
}

export interface ArgumentSum {
  readonly name: string;
  /** `EUR 1,200.00`, or a number if there is no currency. */
  readonly total: string;
  /** Number of calls with this argument in this currency. */
  readonly calls: number;
}

const currencyOf = (money: string | null): string => (money === null ? '' : money.slice(0, 3));
const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 12 });

/** The currency that `moneyOf` uses. */
const writtenTotal = (name: string, sum: number, currency: string): string =>
  currency === ''
    ? plain.format(sum)
    : (moneyOf(name, sum, { currency }) ?? `${currency} ${plain.format(sum)}`);

/** The sum of each numeric argument, by currency. */
export function sumArguments(calls: readonly Approval[]): readonly ArgumentSum[] {
  const sums = new Map<string, { name: string; currency: string; sum: number; calls: number }>();
  for (const args of calls.map(argumentsOf)) {
    for (const [name, value] of Object.entries(args)) {
      const money = moneyOf(name, value, args);
      if (typeof value === 'object' || (money === null && typeof value !== 'number')) continue;
      const currency = currencyOf(money);
      const key = JSON.stringify([name, currency]);
      const sum = sums.get(key) ?? { name, currency, sum: 0, calls: 0 };
      sums.set(key, { ...sum, sum: sum.sum + Number(value), calls: sum.calls + 1 });
    }
  }
  return [...sums.values()].map(({ name, currency, sum, calls: count }) => ({
    name,
    total: writtenTotal(name, sum, currency),
    calls: count,
  }));
}
