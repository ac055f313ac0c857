// Which names stand for a secret: keys of arguments, and names in running text.
import type { Strength } from './values.ts';

/** A strength and its names; a later row beats an earlier one. */
const lists: readonly string[] = [
  'text pass pw creds cred jwt bearer authheader mnemonic seed_phrase recovery_phrase secret_phrase backup_phrase passcode',
  'text pgpass secret_string securestring convertto_securestring from_literal add_mask requirepass keypass masterauth bindpw',
  'text rootpw storepass',
  'none max_tokens num_tokens total_tokens completion_tokens prompt_tokens cached_tokens reasoning_tokens audio_tokens',
  'none cache_tokens sort_keys index_keys input_tokens output_tokens max_output_tokens',
  'any password secret token api_key apikey api-key authorization auth credentials private_key privatekey access_token',
  'any refresh_token client_secret connection_string database_url db_password ssh_key passphrase',
  'any proxy_authorization cookie set_cookie',
  'any assword passwort kennwort contraseña passe senha wachtwoord hasło пароль 密码 密碼 パスワード 비밀번호',
];
/** Strengths of other names; the first that fits counts. */
const patterns: readonly (readonly [Strength, RegExp])[] = [
  [
    'text',
    /(?:^|_)(?:psk|(?:admin|app|auth|basic|become|bind|database|db|docker|email|ftp|git|http|imap|key)_?pass\d*)$/,
  ],
  [
    'text',
    /(?:^|_)(?:ldap|login|mail|mongo|mysql|pg|postgres|proxy|redis|registry|root|sftp|smtp|ssh|store)_?pass\d*$/,
  ],
  ['text', /(?:^|_)(?:sudo|user|vnc|wifi)_?pass\d*$/],
  ['path', /(?:^|_)(?:old)?pwd\d*$/],
  ['code', /(?:^|_)(?:pin|t?otp|cv[vc]2?|(?:mfa|2fa|tfa|sms|verification|one_time|security|login)_code)$/],
  ['any', /(?:token|(?:pass_?(?:word|wd|phrase)|secret|credential)s?|connection_?string)_?\d*$/],
  ['any', /(?:api|access|secret|private)_?keys?\d*$|(?:_key_data|secret_key_base|^(?:tls|wpa)_key)$/],
  ['any', /(?:^|_)(?:auth|account|encryption|signing|master|service|storage|deploy|ssh)_?keys?\d*$/],
  ['any', /(?:^|_)(?:gpg|license|webhook|pre_?shared)_?keys?\d*$/],
];
/** A part of a key that makes its value a secret. In running text it may stand for anything: `key=`, `tokens:`. */
const part = /(?:^|_)(?:token|key|secret|password|credential|passwd|passphrase)s?\d*(?:_|$)/;
/** Every sensitive name has one of these; most names have none. */
const stem =
  /pass|pwd|pw|psk|secret|token|key|cred|cookie|auth|string|database|pin|otp|code|cv[vc]|phrase|mnemonic|jwt|bearer|literal|mask|sswor|kennw|contrase|senha|wacht|hasło|парол|密|パス|비밀/i;
/** Words of a text that are a topic more often than a name. */
const topic =
  /(?:^|[^\w-])(?:(?:api|access|secret|private) key|(?:seed|recovery) phrase|auth)$|basic_?auth$/i;

const lower = (key: string): string => key.toLowerCase().replaceAll('-', '_');
/** A name in parts: camelCase and what separates words become `_`. A blank separates none. */
const snakeCase = (key: string): string =>
  lower(key.replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3_$2'))
    .replace(/[^\p{L}\p{N}\s]+/gu, '_')
    .replace(/^_|_$/g, '');

export type NameTest = ReturnType<typeof nameTest>;

export function nameTest(ownSensitive: readonly string[], ownSafe: readonly string[]) {
  const listed = new Map<string, Strength>();
  for (const row of [['none', ...ownSafe], ...lists.map((list) => list.split(' ')), ['any', ...ownSensitive]])
    for (const name of row.slice(1))
      listed.set(lower(name), row[0] as Strength).set(snakeCase(name), row[0] as Strength);
  const strengthOf = (name: string, isKey: boolean): Strength => {
    const spellings = [snakeCase(name), lower(name)];
    const fits = (pattern: RegExp): boolean => spellings.some((spelling) => pattern.test(spelling));
    const listing = spellings.map((spelling) => listed.get(spelling)).find((strength) => strength);
    return listing ?? patterns.find((row) => fits(row[1]))?.[0] ?? (isKey && fits(part) ? 'any' : 'none');
  };
  return {
    /** Of a key of arguments. 1,024 characters are read; no field name is longer. */
    ofKey: (key: string): Strength => strengthOf(key.slice(0, 1024), true),
    /** @param before running text up to the end of the name */
    inText(name: string, before = name): Strength {
      if (!stem.test(name) && ownSensitive.length === 0) return 'none';
      // An environment variable is named by whoever needs it: any sensitive word counts.
      return topic.test(before) ? 'chosen' : strengthOf(name, /^[A-Z][A-Z0-9_]*$/.test(name));
    },
  };
}
