// Judges of names, values and tokens. Each test reads its value a bounded number of times.
import { lists, part, patterns, type Strength, stem, topic } from './tables.ts';
import { tokenPattern } from './tokens.ts';

const lower = (key: string): string => key.toLowerCase().replaceAll('-', '_');
/** A name in parts: camelCase and what separates words become `_`. A blank separates none. */
const snakeCase = (key: string): string =>
  lower(key.replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3_$2'))
    .replace(/[^\p{L}\p{N}\s]+/gu, '_')
    .replace(/^_|_$/g, '');

export type Judges = ReturnType<typeof createJudges>;

/** @param keyPrefixes of hubs' API keys beside `svk_`; one that is empty counts for nothing */
export function createJudges(sensitive: string[], safe: string[], keyPrefixes: string[]) {
  const listed = new Map<string, Strength>();
  for (const row of [['none', ...safe], ...lists.map((list) => list.split(' ')), ['any', ...sensitive]])
    for (const name of row.slice(1))
      listed.set(lower(name), row[0] as Strength).set(snakeCase(name), row[0] as Strength);
  const strengthOf = (name: string, isKey: boolean): Strength => {
    const [snake, plain] = [snakeCase(name), lower(name)];
    const fits = (pattern: RegExp): boolean => pattern.test(snake) || pattern.test(plain);
    const other = isKey && fits(part) ? 'any' : 'none';
    const list = listed.get(snake) ?? listed.get(plain);
    return list ?? patterns.find((row) => fits(row.pattern))?.strength ?? other;
  };
  return {
    tokens: tokenPattern(keyPrefixes),
    /** Of a key of arguments. 1,024 characters are read; no field name is longer. */
    ofKey: (key: string): Strength => strengthOf(key.slice(0, 1024), true),
    /** Of a name that ends at a place of a running text. */
    ofWord(name: string, text = name, end = name.length): Strength {
      if (name.length > 128 || (!stem.test(name) && sensitive.length === 0)) return 'none';
      // An environment variable is named by whoever needs it: any sensitive word counts.
      const before = text.slice(Math.max(0, end - 32), end);
      return topic.test(before) ? 'chosen' : strengthOf(name, /^[A-Z][A-Z0-9_]*$/.test(name));
    },
  };
}

/** Names of algorithms, encodings and numbered things: mixed like a secret, and none. */
const ordinaryWord =
  /^(?:(?:b|s)?crypt\w*|(?:argon2|pbkdf2|hmac|curve|jwt|pkcs|uuid|oauth)\w*|(?:sha-?|md|[hrep]s|aes-?|ed|x|base|utf-?|oauth-?|oidc|saml|rfc-?|iso-?|ipv|http|u?int|float|varchar|char|string|bytes|step|part|phase|level|line|page|test|field|input|form|section|case|version|option|type|slot|stage|issue|table|column|user|group|node|task|error|rule|chapter|example|release|sprint|milestone|v)s?\d+\w{0,4})$/i;
/** A value that declares or computes one: a type, a constant, a call, the begin of a list. */
export const declaration =
  /^[[{(<]|^[A-Za-z_$][\w$.?!]{0,127}\(|^&?(?:string|number|bool(?:ean)?|true|false|null|none|nil|undefined|void|any|unknown|never|object|str|int|bytes|text|await|new|async|function|typeof|return|not|optional|const|let|var)(?=$|[;,)\]}>?&|]|[ \t]*[|=&:]|\[)/i;
/** A name that others give: an address of mail, a file, a version. */
const fileOrVersion = /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$|\.[a-z]{1,5}\d?$|^v?\d+(?:\.\d+)+/i;
/** From the root, a drive, home, or here. */
const folderPath = /^(?:(?:[A-Za-z]:)?[\\/]|(?:~|\.{1,2})(?=$|[\\/]))[\p{L}\p{N}\s._~\\/@:-]*$/u;
/** The commonest pairs of letters in English words and in names in code. */
const commonPairs =
  /th|he|in|er|an|re|on|at|en|nd|ti|es|or|te|of|ed|is|it|al|ar|st|to|nt|ng|se|ha|as|ou|io|le|ve|co|me|de|hi|ri|ro|ic|ne|ea|ra|ce|li|ch|ll|be|ma|si|om|ur|ec|ca|el|la|ta|et|tr|us|ge|ol|lo|na|po|ct|ac|un|pe|ai|ul|id|mo|ns|pr|em|il|sp|ut|ad|im|ub|am|ap|ex|di|su|no|ag|ry|ke|ly/gi;

/** True for 6 characters or more that are no word, identifier, path or number. */
export function looksChosen(text: string): boolean {
  const value = text.replace(/[.,;:?)\]}]{1,8}$/, '');
  // Parts that are words or numbers make a name: `reset-2024`, `JIRA-12`, `max_length_8`, `MAX_LENGTH2`.
  const name = /^[-_]*(?:[A-Za-z]+|\d+)(?:[-_]+(?:[A-Za-z]+|\d+))*[-_]*$|^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/;
  // Marks count within, because `!name`, `@scope` and `~user` are ordinary.
  const isMixed = /^(?=.*[A-Za-z])(?=.*\d|.+[!@#$%^&*~+].)[A-Za-z0-9!@#$%^&*~+_-]{6,}$/.test(value);
  return isMixed && !ordinaryWord.test(value) && !name.test(value);
}

/** True for 20 characters or more of 3.5 bits each and more, drawn from an alphabet and not from words. */
export function looksDrawn(value: string): boolean {
  if (!/^(?=.*[a-z])[A-Za-z0-9+/_=.~!@#$%^&*-]{20,}$/i.test(value) || fileOrVersion.test(value)) return false;
  const share = (char: string): number => (value.split(char).length - 1) / value.length;
  const bits = [...new Set(value)].reduce((sum, char) => sum - share(char) * Math.log2(share(char)), 0);
  const lettersOf = (text: string): number => text.replace(/[^a-z]/gi, '').length;
  return bits >= 3.5 && lettersOf(value.replace(commonPairs, '')) > lettersOf(value) / 2;
}

export function isSecretValue(strength: Strength, value: unknown): boolean {
  const text = typeof value === 'object' ? '' : String(value);
  if (strength === 'text') return typeof value !== 'boolean' && typeof value !== 'number';
  if (strength === 'path') return typeof value !== 'string' || !folderPath.test(value.slice(0, 256));
  if (strength === 'code') return /^\s*\d(?:[ -]?\d){2,9}[.,;)]?\s*$/.test(text);
  return strength === 'any' || (strength === 'chosen' && (looksChosen(text) || looksDrawn(text)));
}
