// Which names stand for a secret: keys of arguments, and names in running text. Looks at a value only where the name is
// also an ordinary word.
import * as tables from './tables.ts';
import { isDigits, isPath } from './values.ts';

/** How surely a value behind a name is one: any is, a text is, digits are, one that looks chosen is, none is. */
export type Strength = 'any' | 'text' | 'code' | 'chosen' | null;

export interface NameTest {
  /** True when a key says that its value is a secret. */
  isSensitiveKey(key: string, value?: unknown): boolean;
  /** The same of a name in running text, which needs a stronger word: `key=` and `tokens:` may be anything there. */
  strengthOf(name: string): Strength;
}

/** Characters of a key that are looked at; no field name is longer. */
const longestKey = 1024;
const lower = (key: string): string => key.toLowerCase().replaceAll('-', '_');
const withoutNumber = (name: string): string => name.replace(/\d{1,8}$/, '');

/** A name in parts: camelCase and what separates words become `_`. A blank separates none. */
const snakeCase = (key: string): string =>
  key
    .replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3_$2')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s]+/gu, '_')
    .replace(/^_|_$/g, '');

const setOf = (names: Iterable<string>): Set<string> =>
  new Set([...names].flatMap((name) => [lower(name), snakeCase(name)]));
const listed = setOf(tables.sensitiveNames.split(' '));
const listedTexts = setOf(tables.sensitiveTextNames.split(' '));
const parts = new Set(tables.sensitiveParts.split(' '));
const abroad = new Set(tables.namesAbroad.split(' '));
const hasEnding = (name: string): boolean =>
  tables.joinedEnding.test(withoutNumber(name.replaceAll('_', '')));
const hasPart = (name: string): boolean =>
  name.split('_').some((part) => parts.has(withoutNumber(part))) || hasEnding(name);

/**
 * The sensitive set, then the safe set, then the parts of a name.
 * @param sensitive added to the sensitive set; beats the safe set
 * @param safe added to the safe set; does not free a key of the sensitive set
 */
export function nameTest(sensitive: Iterable<string>, safe: Iterable<string>): NameTest {
  const own = setOf(sensitive);
  const kept = setOf([...tables.safeNames.split(' '), ...safe]);
  /** Undefined where the lists have neither the name as it is nor in parts. */
  const listing = (plain: string, name: string): Strength | undefined => {
    if ([own, listed].some((set) => set.has(plain) || set.has(name))) return 'any';
    if (kept.has(plain) || kept.has(name)) return null;
    return listedTexts.has(plain) || listedTexts.has(name) || tables.passOf.test(name) ? 'text' : undefined;
  };
  return {
    isSensitiveKey(key, value) {
      const [plain, name] = [lower(key.slice(0, longestKey)), snakeCase(key.slice(0, longestKey))];
      const strength = listing(plain, name);
      if (strength === 'text') return typeof value !== 'boolean' && typeof value !== 'number';
      if (strength !== undefined) return strength === 'any';
      if (tables.folderName.test(name)) return !isPath(value);
      return tables.codeName.test(name) ? isDigits(name, value) : hasPart(name) || hasPart(plain);
    },
    strengthOf(key) {
      if (abroad.has(key.toLowerCase())) return 'any';
      if (!tables.nameStem.test(key) && own.size === 0) return null;
      const [plain, name] = [lower(key), snakeCase(key)];
      // In prose this is a topic more often than a value.
      if (name === 'auth' && key !== '_auth' && !own.has(name)) return 'chosen';
      const strength = listing(plain, name);
      if (strength !== undefined) return strength;
      if (tables.codeName.test(name)) return 'code';
      if (/basic_?auth$/.test(name)) return 'chosen';
      if (tables.folderName.test(name) || tables.secretKey.test(name)) return 'any';
      // An environment variable is named by whoever needs it: any sensitive word counts.
      if (/^[A-Z][A-Z0-9_]*$/.test(key)) return hasPart(name) ? 'any' : null;
      if (/keys?\d*$|tokens$/.test(name)) return null;
      return hasPart(name.slice(name.lastIndexOf('_') + 1)) || hasEnding(name) ? 'any' : null;
    },
  };
}
