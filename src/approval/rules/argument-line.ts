// The arguments of a call in one line, for lists, buttons and chats: `EUR 9,800.00 → ada · order=4711`. Pure; runs in
// browsers.
import { isMapping } from '../../shared/json/mapping.ts';
import { endCut } from '../../shared/visible-text.ts';
import { currencyName, currencyOf, moneyValue, plainName } from './amounts.ts';

type Arguments = { readonly [name: string]: unknown };

const commandNames = new Set(['command', 'cmd', 'script', 'shell', 'commandline', 'argv']);

/** A command as one text. A list of words gets the quotes that a shell needs. */
export function commandOf(name: string, value: unknown): string | null {
  if (!commandNames.has(plainName(name))) return null;
  if (typeof value === 'string') return value;
  if (!Array.isArray(value) || value.length === 0 || !value.every((one) => typeof one === 'string'))
    return null;
  return value
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

/** A sum with its currency, such as `EUR 900.00`; null if the arguments contain no currency. */
export function moneyOf(name: string, value: unknown, args: Arguments): string | null {
  if (isMapping(value)) {
    const inner = value.amount ?? value.value;
    return Object.keys(value).length === 2 && typeof inner !== 'object'
      ? moneyOf('amount', inner, value)
      : null;
  }
  const currency = currencyOf(args);
  const sum = currency === null ? null : moneyValue(name, value, currency);
  if (currency === null || sum === null) return null;
  const options = { style: 'currency', currency, currencyDisplay: 'code' } as const;
  // More decimal places than the currency has are kept.
  const written = new Intl.NumberFormat('en', { ...options, maximumFractionDigits: 12 }).format(sum);
  return written.replaceAll('\u00a0', ' ');
}

const textUnder =
  (pattern: RegExp) =>
  (name: string, value: unknown): string | null =>
    pattern.test(plainName(name)) && typeof value === 'string' && value !== '' ? value : null;

const receiverOf = textUnder(/^(?:to|recipients?|receiver|payee|beneficiary)$/);
const statementOf = textUnder(/^(?:sql|query|statement)$/);
const isStatement = (text: string): boolean =>
  /^\s*(?:select|insert|update|delete|with|alter|create|drop|truncate)\b/i.test(text);

/** The arguments that stand first and without their names: the first one of each kind. */
const leads: readonly ((name: string, value: unknown, args: Arguments) => string | null)[] = [
  commandOf,
  (name, value) => {
    const statement = statementOf(name, value);
    return statement !== null && isStatement(statement) ? statement : null;
  },
  textUnder(/^(?:path|file|filename|filepath|dir|directory|folder)$/),
  (_, value) => (typeof value === 'string' && /^https?:\/\/\S+$/i.test(value) ? value : null),
  moneyOf,
  (name, value) => {
    const receiver = receiverOf(name, Array.isArray(value) && value.length === 1 ? value[0] : value);
    return receiver && `→ ${receiver}`;
  },
];

/** UTF-16 code units of the line. Panels contain the complete arguments. */
const maxLine = 300;
/** UTF-16 code units of `key=value` that stands behind shorter ones. */
const longText = 40;

/** Quotes show the end of a text that could be mistaken for several arguments. */
const valueText = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=·→]+$/.test(value) ? value : (JSON.stringify(value) ?? '');

/**
 * First the command, the SQL, the path, the address, the sum with its currency and the receiver, then the others as
 * `key=value`, long ones last. At most 300 characters.
 */
export function argumentLine(args: unknown): string {
  if (!isMapping(args)) return '';
  const rest = new Map(Object.entries(args));
  const parts: string[] = [];
  for (const textOf of leads) {
    for (const [name, value] of rest) {
      const text = textOf(name, value, args);
      if (text === null) continue;
      parts.push(text);
      rest.delete(name);
      // The sum contains it.
      if (textOf === moneyOf && !isMapping(value)) rest.delete(currencyName(args) ?? '');
      break;
    }
  }
  const others = [...rest].map(([name, value]) => `${name}=${valueText(value)}`);
  const isLong = (text: string): boolean => text.length > longText;
  const all = [...parts, ...others.filter((one) => !isLong(one)), ...others.filter(isLong)];
  const [first = '', ...more] = all;
  return endCut(
    first + more.map((text) => (text.startsWith('→ ') ? ` ${text}` : ` · ${text}`)).join(''),
    maxLine,
  );
}
