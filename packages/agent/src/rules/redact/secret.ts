// What a secret looks like by itself: values by their prefix. Every pattern runs in linear time.
// Does not decide by a name beside the value (key.ts, text.ts).

export const redacted = '[REDACTED]';

/** API keys, cloud keys, JSON web tokens, chat and repository tokens; each with the least that follows its prefix. */
const known = [
  'sk-[A-Za-z0-9_-]{20,}',
  '[rs]k_(?:live|test)_[A-Za-z0-9]{16,}',
  'A[KS]IA[A-Z0-9]{16,}',
  'AIza[A-Za-z0-9_-]{35,}',
  'ya29\\.[A-Za-z0-9_-]{20,}',
  'eyJ[A-Za-z0-9_-]{20,}\\.[\\w.-]*',
  'gh[oprsu]_[A-Za-z0-9]{36,}',
  'github_pat_[A-Za-z0-9_]{22,}',
  'glpat-[A-Za-z0-9_-]{20,}',
  'xox[bpasre]-[A-Za-z0-9-]{10,}',
  'xapp-[A-Za-z0-9-]{10,}',
  'do[opr]_v1_[A-Za-z0-9]{40,}',
  'shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32,}',
  'hv[bs]\\.[A-Za-z0-9_-]{24,}',
  'npm_[A-Za-z0-9]{36,}',
  'pypi-[A-Za-z0-9_-]{32,}',
  'hf_[A-Za-z0-9]{30,}',
  'SG\\.[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{16,}',
  'whsec_[A-Za-z0-9+/=]{16,}',
];

/** What a hub's own API keys begin with, wherever nothing else is configured. */
const defaultKeyPrefix = 'svk_';

/** A whole key is longer than the part of it that the hub shows in lists. */
const hubKey = (prefix: string): string =>
  `${prefix.replace(/[^A-Za-z0-9_]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`)}[A-Za-z0-9_-]{24,}`;

export interface SecretTest {
  /** True when the text starts like a known kind of secret. */
  looksSecret(value: string): boolean;
  /** Replaces secrets of the known kinds wherever they stand in the text. */
  hideTokens(text: string): string;
}

/** @param keyPrefixes of hubs' API keys besides `svk_`; ASCII, one that is empty counts for nothing */
export function secretTest(keyPrefixes: Iterable<string> = []): SecretTest {
  const prefixes = new Set([defaultKeyPrefix, ...keyPrefixes]);
  prefixes.delete('');
  const own = [...prefixes].map(hubKey);
  const any = [...known, ...own].join('|');
  const start = new RegExp(`^(?:${any}|-----BEGIN [A-Z ]{0,40}PRIVATE KEY)`);
  // The look-behind lets a match start only where a run of token characters starts, which keeps the search linear.
  const anywhere = new RegExp(`(?<![\\w-])(?:${any})`, 'g');
  return {
    looksSecret: (value) => start.test(value),
    hideTokens: (text) => text.replace(anywhere, redacted),
  };
}

const byDefault = secretTest();

/**
 * True when the text starts like a known kind of secret: an API key, a cloud key, a JWT, a chat token, a private key.
 */
export const looksSecret = (value: string): boolean => byDefault.looksSecret(value);
