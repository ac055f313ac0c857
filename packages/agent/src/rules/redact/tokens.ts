// What a secret looks like by itself: by its prefix. Does not decide by a name beside the value (names.ts, scan.ts).
import * as tables from './tables.ts';

/** A hub's own key: its prefix (`svk_` is the default), and more than the hub shows of a key in lists. */
const hubKey = (prefix: string): string =>
  `${prefix.replace(/[^A-Za-z0-9_]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`)}[A-Za-z0-9_-]{24,}`;

export interface SecretTest {
  /** True when the text starts like a known kind of secret. */
  looksSecret(value: string): boolean;
  /** Sticky: a token that begins here. */
  readonly tokens: RegExp;
}

/** @param keyPrefixes of hubs' API keys besides `svk_`; ASCII, one that is empty counts for nothing */
export function secretTest(keyPrefixes: Iterable<string> = []): SecretTest {
  const prefixes = ['svk_', ...keyPrefixes].filter((prefix) => prefix !== '');
  const any = [...tables.tokens, ...prefixes.map(hubKey)].join('|');
  const start = new RegExp(`^(?:${any})`);
  return { looksSecret: (value) => start.test(value), tokens: new RegExp(any, 'y') };
}

/** True when a text starts like a known kind of secret: an API key, a cloud key, a JWT, a chat token, a private key. */
export const { looksSecret } = secretTest();
