// Operands that a comparison does not read as their author meant.
import type { Json } from '../yaml.ts';

export interface OperandDoubt {
  readonly severity: 'error' | 'warning';
  readonly code: 'placeholder-operand' | 'unsafe-number';
  readonly message: string;
}

const equalities: ReadonlySet<string> = new Set(['equals', 'not_equals', 'in', 'not_in']);
const orders: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte']);
const wholePlaceholder = /^\{[^{}]+\}$/;

/** Digits of a whole number that a message has room for. */
const maxDigits = 30;

function digitsOf(value: number): string {
  const digits = String(BigInt(value));
  return digits.length > maxDigits ? String(value) : digits;
}

/**
 * At most one doubt of each kind.
 * @param rounded those of the document
 */
export function operandDoubts(
  operator: string,
  operand: Json,
  rounded: ReadonlySet<number>,
): readonly OperandDoubt[] {
  const doubts: OperandDoubt[] = [];
  const isEquality = equalities.has(operator);
  if (!isEquality && !orders.has(operator)) return doubts;
  const values = Array.isArray(operand) ? operand : [operand];
  const placeholder = values.find((value) => typeof value === 'string' && wholePlaceholder.test(value));
  if (isEquality && placeholder !== undefined) {
    const message = `${String(placeholder)} is compared literally: only messages fill placeholders.`;
    doubts.push({ severity: 'error', code: 'placeholder-operand', message });
  }
  const unsafe = values.find((value) => typeof value === 'number' && rounded.has(value));
  if (unsafe !== undefined) {
    const message = `Agents read this number rounded, as ${digitsOf(unsafe as number)}. Compare texts instead.`;
    doubts.push({ severity: 'warning', code: 'unsafe-number', message });
  }
  return doubts;
}
