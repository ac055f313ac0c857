// JSON texts of calls as a hostile client writes them: doubled members, names in another case, numbers and characters
// that two readers understand differently. And the readings of a text by servers of other kinds.
import type { Random } from '../../../../test/random.ts';

type Json = { readonly [name: string]: unknown };

/** A member that only one kind of reader takes for `name`. */
function disguise(name: string, random: Random): string {
  const forms = [
    name.toUpperCase(),
    name.charAt(0).toUpperCase() + name.slice(1),
    name.replace('s', '\u017f'),
    name.replace('k', '\u212a'),
    `${name} `,
    `\ufeff${name}`,
  ];
  return random.pick(forms);
}

/** A name with escapes in place of characters: the same name to every reader. */
const escaped = (name: string): string =>
  `"${[...name].map((char) => (char.length > 1 ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)).join('')}"`;

const oddValues = [
  '1e400',
  '-0',
  '1.0',
  '12345678901234567890',
  '"\\ud800"',
  'null',
  '{}',
  '[]',
  '"/etc/x"',
  '"rm x"',
];

/** Writes JSON, spoiled at about `rate` of its members. */
export class TextWriter {
  readonly #random: Random;
  readonly #rate: number;

  constructor(random: Random, rate: number) {
    this.#random = random;
    this.#rate = rate;
  }

  write(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.write(item)).join(',')}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
    return `{${Object.entries(value)
      .flatMap(([name, field]) => this.#members(name, field))
      .join(',')}}`;
  }

  #members(name: string, field: unknown): readonly string[] {
    const random = this.#random;
    const text = this.write(field);
    const member = `${JSON.stringify(name)}:${text}`;
    if (random.next() >= this.#rate) return [member];
    const other = random.next() < 0.5 ? random.pick(oddValues) : text;
    const disguised = `${JSON.stringify(disguise(name, random))}:${other}`;
    return random.pick([
      [`${escaped(name)}:${text}`],
      [member, `${JSON.stringify(name)}:${other}`],
      [`${JSON.stringify(name)}:${other}`, member],
      [`${escaped(name)}:${other}`, member],
      [member, disguised],
      [disguised, member],
      [disguised],
      [`${JSON.stringify(name)}:${random.pick(oddValues)}`],
      [`"__proto__":${text}`, member],
    ]);
  }
}

/** Names that the tools of the fuzzer, and the protocol, know. */
const names = new Set(
  'jsonrpc id method params name arguments a b m x y long key path src note deep list folder command url'.split(
    ' ',
  ),
);
const fold = (name: string): string => name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();

/** A value as a server reads it that knows names in any case. @param keepsFirst which of two members it takes */
function foldNames(value: unknown, keepsFirst: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => foldNames(item, keepsFirst));
  if (typeof value !== 'object' || value === null) return value;
  const read = new Map<string, unknown>();
  for (const [name, field] of Object.entries(value)) {
    const own = names.has(fold(name)) ? fold(name) : name;
    if (!keepsFirst || !read.has(own)) read.set(own, foldNames(field, keepsFirst));
  }
  return Object.fromEntries(read);
}

/** The values that servers of different kinds read in a text. */
export function readingsOf(text: string): readonly unknown[] {
  const value: unknown = JSON.parse(text);
  return [value, foldNames(value, false), foldNames(value, true)];
}

const membersIn = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, item) => sum + membersIn(item), 0) +
      (Array.isArray(value) ? 0 : Object.keys(value).length)
    : 0;

/** True when an object in the text has two members with one name. */
export const hasDoubledMember = (text: string): boolean =>
  (text.match(/"(?:[^"\\]|\\.)*"\s*:?/g) ?? []).filter((token) => token.endsWith(':')).length !==
  membersIn(JSON.parse(text));

/** The calls of tools that a server finds in a value; a batch has several. */
export function callsIn(value: unknown): readonly { readonly tool: string; readonly args: Json }[] {
  if (Array.isArray(value)) return value.flatMap(callsIn);
  const { method, params } = (value ?? {}) as {
    method?: unknown;
    params?: { name?: unknown; arguments?: unknown };
  };
  if (method !== 'tools/call' || typeof params?.name !== 'string') return [];
  const args = params.arguments ?? {};
  if (typeof args !== 'object' || Array.isArray(args)) return [];
  return [{ tool: params.name, args: args as Json }];
}
