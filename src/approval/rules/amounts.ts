// The amount of money that a call's arguments name. Pure; runs in browsers.

import { isMapping } from '../../shared/json/mapping.ts';

export interface Amount {
  readonly value: number;
  /** ISO 4217, upper case; null: the arguments name none. */
  readonly currency: string | null;
}

const amountNames = ['amount', 'total', 'sum', 'price', 'value'];
const currencyPattern = /^[A-Za-z]{3}$/;
const maxDepth = 3;

function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,6})?$/.test(value) ? Number(value) : null;
}

/**
 * A number under a name such as `amount`, with the `currency` beside it, not deeper than three levels; null if there is
 * none.
 */
export function amountOf(args: unknown, depth = 0): Amount | null {
  if (!isMapping(args) || depth >= maxDepth) return null;
  const { currency } = args;
  const code = typeof currency === 'string' && currencyPattern.test(currency) ? currency.toUpperCase() : null;
  for (const name of amountNames) {
    const value = Object.hasOwn(args, name) ? numberOf(args[name]) : null;
    // `value` alone may be anything.
    if (value !== null && (name !== 'value' || code !== null)) return { value, currency: code };
  }
  for (const inner of Object.values(args)) {
    const amount = amountOf(inner, depth + 1);
    if (amount) return { ...amount, currency: amount.currency ?? code };
  }
  return null;
}
