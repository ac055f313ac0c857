// Groups calls that a person can approve together, with their differences and sums.
import { currencyOf, moneyValue, placedAmountOf } from '../../../approval/rules/amounts.ts';
import { moneyOf } from '../../../approval/rules/argument-line.ts';
import { type AmountSum, amountSums, differingPaths } from '../../../approval/rules/groups.ts';
import { groupBy } from '../../../shared/group-by.ts';
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
  /** The group as the hub counts it, where the list contains a part of its calls. */
  readonly hub?: HubGroup;
}

export interface HubGroup {
  /** For the parameter `group` of the list. */
  readonly key: string;
  readonly count: number;
  /** Sums of the 200 calls that expire next: `EUR 1,200.00, USD 90.00`; empty without a currency. */
  readonly money: string;
}

/** Groups calls by tool, contract and environment, in the order of each group's first call. */
export function groupAlike(calls: readonly Approval[]): readonly AlikeCalls[] {
  const groups = groupBy(calls, (call) => JSON.stringify([call.tool_name, contractsOf(call), call.env]));
  return [...groups.values()].map((group) => ({
    tool: group[0].tool_name,
    contracts: contractsOf(group[0]),
    env: group[0].env,
    calls: group,
  }));
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

/** An approval as the rules of groups read it. */
const asRecord = ({ tool_args: toolArgs, principal, agent_id: agentId }: Approval) => ({
  toolArgs: toolArgs as Arguments | null,
  principal: principal as Arguments | null,
  agentId,
});

/** Paths of arguments whose values differ, by the rule of the hub's groups: `args.payment.amount`. */
export const differingArguments = (calls: readonly Approval[]): readonly string[] =>
  differingPaths(calls.map(asRecord)).filter((path) => /^args(?:\.|$)/.test(path));

/** The sums of the calls' amounts, by currency: `EUR 1,200.00, USD 90.00`; empty without a currency. */
export const moneyText = (sums: readonly Pick<AmountSum, 'currency' | 'sum'>[]): string =>
  sums.flatMap(({ currency, sum }) => (currency === null ? [] : [writtenTotal(sum, currency)])).join(', ');

/** The same of these calls. */
export const moneyIn = (calls: readonly Approval[]): string => moneyText(amountSums(calls.map(asRecord)));

interface ArgumentSum {
  readonly name: string;
  /** `EUR 1,200.00`, or a number if there is no currency. */
  readonly total: string;
  /** Number of calls with this argument in this currency. */
  readonly calls: number;
}

const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 12 });

const writtenTotal = (sum: number, currency: string | null): string =>
  currency === null
    ? plain.format(sum)
    : (moneyOf('amount', sum, { currency }) ?? `${currency} ${plain.format(sum)}`);

/**
 * The sum of the calls' amounts by currency, as the hub adds them, then of each other number among the arguments.
 */
export function sumArguments(calls: readonly Approval[]): readonly ArgumentSum[] {
  const amounts = calls.map(({ tool_args: args }) => placedAmountOf(args));
  const ofAmounts = amountSums(calls.map(asRecord)).map(({ currency, sum }) => ({
    name: 'amount',
    total: writtenTotal(sum, currency),
    calls: amounts.filter((amount) => amount?.currency === currency).length,
  }));
  const others = new Map<string, { name: string; currency: string | null; sum: number; calls: number }>();
  for (const [at, args] of calls.map(argumentsOf).entries()) {
    const path = amounts[at]?.path ?? [];
    for (const [name, value] of Object.entries(args)) {
      if (path.length === 1 && path[0] === name) continue;
      const code = currencyOf(args);
      const money = code === null ? null : moneyValue(name, value, code);
      const number = money ?? (typeof value === 'number' ? value : null);
      if (number === null) continue;
      const currency = money === null ? null : code;
      const key = JSON.stringify([name, currency]);
      const sum = others.get(key) ?? { name, currency, sum: 0, calls: 0 };
      others.set(key, { ...sum, sum: sum.sum + number, calls: sum.calls + 1 });
    }
  }
  const ofOthers = [...others.values()].map(({ name, currency, sum, calls: count }) => ({
    name,
    total: writtenTotal(sum, currency),
    calls: count,
  }));
  return [...ofAmounts, ...ofOthers];
}
