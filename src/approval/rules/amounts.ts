// The amount of money that a call's arguments name. Pure; runs in browsers.

import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { isMapping } from '../../shared/json/mapping.ts';

export interface Amount {
  readonly value: number;
  /** ISO 4217, upper case; null: the arguments name none. */
  readonly currency: string | null;
}

/** First the names that are an amount without a currency, too. */
const amountNames = ['amount', 'total', 'sum', 'price', 'value'];
const moneyNames =
  /^(?:amount|price|total|subtotal|cost|fee|budget|refund|balance|sum)(?:cents|minor|pence)?$/;
const currencyPattern = /^[A-Za-z]{3}$/;
const maxDepth = 3;
/** By currency: a format is dear to make. More than all currencies that exist. */
const decimals = new BoundedMap<number>(500);

/** Folds `amount_cents`, `amountCents` and `amount-cents` into one name. */
export const plainName = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '');

function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,6})?$/.test(value) ? Number(value) : null;
}

/** The decimal digits of a currency, such as 2. */
function decimalsOf(currency: string): number {
  const before = decimals.get(currency, 0);
  if (before !== undefined) return before;
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  decimals.set(currency, digits, Number.POSITIVE_INFINITY);
  return digits;
}

/** The name of the argument with the currency; undefined without one. */
export const currencyName = (args: { readonly [name: string]: unknown }): string | undefined =>
  Object.keys(args).find((name) => /^currency(?:code)?$/.test(plainName(name)));

/** The code of the `currency` among the arguments, upper case; null without one. */
export function currencyOf(args: { readonly [name: string]: unknown }): string | null {
  const name = currencyName(args);
  const code = name === undefined ? null : args[name];
  return typeof code === 'string' && currencyPattern.test(code) ? code.toUpperCase() : null;
}

/** The value of an argument in whole units of its currency; null if its name or value is not one of money. */
export function moneyValue(name: string, value: unknown, currency: string): number | null {
  const plain = plainName(name);
  if (!moneyNames.test(plain)) return null;
  const isNumber =
    typeof value === 'number' || (typeof value === 'string' && /^-?\d{1,15}(?:\.\d+)?$/.test(value));
  const number = isNumber ? Number(value) : Number.NaN;
  if (!Number.isFinite(number) || Math.abs(number) > Number.MAX_SAFE_INTEGER) return null;
  if (!/(?:cents|minor|pence)$/.test(plain)) return number;
  return number / 10 ** decimalsOf(currency);
}

/** An amount with the names that lead to its argument. */
export interface PlacedAmount extends Amount {
  readonly path: readonly string[];
}

/**
 * A number under a name such as `amount`, with the `currency` beside it, not deeper than three levels; null if there is
 * none.
 */
export function placedAmountOf(args: unknown, depth = 0): PlacedAmount | null {
  if (!isMapping(args) || depth >= maxDepth) return null;
  const currency = currencyOf(args);
  for (const name of amountNames) {
    const value = Object.hasOwn(args, name) ? numberOf(args[name]) : null;
    // `value` alone may be anything.
    if (value !== null && (name !== 'value' || currency !== null)) return { value, currency, path: [name] };
  }
  for (const [name, own] of Object.entries(args)) {
    const value = currency === null ? null : moneyValue(name, own, currency);
    if (value !== null) return { value, currency, path: [name] };
  }
  for (const [name, inner] of Object.entries(args)) {
    const amount = placedAmountOf(inner, depth + 1);
    if (amount) return { ...amount, currency: amount.currency ?? currency, path: [name, ...amount.path] };
  }
  return null;
}

/** The same without its path. */
export function amountOf(args: unknown): Amount | null {
  const amount = placedAmountOf(args);
  return amount && { value: amount.value, currency: amount.currency };
}
