// Which names stand for a secret: keys of arguments, and names in running text. Looks at a value only where the name is
// also an ordinary word.
import { isDigits, isPath } from './values.ts';

/** Which values behind a name are secrets: any, texts, all but folders, digits, what looks chosen, none. */
export type Strength = 'any' | 'text' | 'path' | 'code' | 'chosen' | 'none';

/** Strengths that names have everywhere; a later row beats an earlier one. Switches have the names with `text` too. */
const lists: readonly string[] = [
  'text pass pw creds cred jwt bearer authheader mnemonic seed_phrase recovery_phrase secret_phrase backup_phrase passcode',
  'text pgpass secret_string securestring convertto_securestring from_literal add_mask requirepass keypass masterauth bindpw',
  'text rootpw storepass private_mac private_hash',
  'none max_tokens num_tokens total_tokens completion_tokens prompt_tokens cached_tokens reasoning_tokens audio_tokens',
  'none cache_tokens sort_keys index_keys input_tokens output_tokens max_output_tokens',
  'any password secret token api_key apikey api-key authorization auth credentials private_key privatekey access_token',
  'any refresh_token client_secret connection_string database_url db_password ssh_key passphrase api_tokens db_passwords',
  'any user_credentials oauth_secrets encryption_keys jwt_tokens passwd proxy_authorization cookie set_cookie',
  'any assword passwort kennwort contraseña passe senha wachtwoord hasło пароль 密码 密碼 パスワード 비밀번호',
];
/** Of other names: the strength in arguments, in running text, and the pattern. The first that fits counts. */
const patterns = [
  'text text (?:^|_)psk$|(?:^|_)(?:admin|app|auth|basic|become|bind|database|db|docker|email|ftp|git|http|imap|key|ldap|login|mail)_?pass\\d*$',
  'text text (?:^|_)(?:mongo|mysql|pg|postgres|proxy|redis|registry|root|sftp|smtp|ssh|store|sudo|user|vnc|wifi)_?pass\\d*$',
  'path path (?:^|_)(?:old)?pwd\\d*$',
  'code code (?:^|_)(?:pin|t?otp|cv[vc]2?|(?:pin|t?otp|mfa|2fa|tfa|sms|verification|one_time|security|login)_code)$',
  'any any (?:token|(?:pass_?(?:word|wd|phrase)|secret|credential)s?|connection_?string)_?\\d*$',
  'any any (?:api|access|secret|private)_?keys?\\d*$|(?:_key_data|secret_key_base|^(?:tls|wpa)_key)$',
  'any any (?:^|_)(?:auth|account|encryption|signing|master|service|storage|deploy|ssh|gpg|license|webhook|pre_?shared)_?keys?\\d*$',
  'any none (?:auth|account|encryption|signing|ssh)keys?\\d*$',
  'any none (?:^|_)(?:token|key|secret|password|credential|passwd|passphrase)s?\\d*(?:_|$)',
].map((row) => {
  const [inArguments, inText, pattern = ''] = row.split(' ');
  return { strengths: [inArguments, inText] as [Strength, Strength], pattern: new RegExp(pattern) };
});
/** Every sensitive name has one of these; most names have none. */
const stem =
  /pass|pwd|pw|psk|secret|token|key|cred|cookie|auth|string|database|pin|otp|code|cv[vc]|phrase|mnemonic|jwt|bearer|literal|mask|private|sswor|kennw|contrase|senha|wacht|hasło|парол|密|パス|비밀/i;
/** Words of a text that are a topic more often than a name, and codes named by two words. */
const topic = /(?:^| )(?:(?:api|access|secret|private) key|(?:seed|recovery) phrase|auth)$|basic_?auth$/i;
const codePair =
  /^(?:(?:verification|security|login|sms|mfa|pin|otp|one-time) code|one-time (?:password|pin))$/i;

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
  const strengthIn = (column: 0 | 1, key: string): Strength => {
    const spellings = [snakeCase(key), lower(key)];
    const fits = ({ pattern }: { pattern: RegExp }): boolean => spellings.some((name) => pattern.test(name));
    const listing = spellings.map((name) => listed.get(name)).find((strength) => strength !== undefined);
    return listing ?? patterns.find(fits)?.strengths[column] ?? 'none';
  };
  /** Of a name in running text, also by the word before it. `key=` and `tokens:` may be anything there. */
  const strengthOf = (name: string, pair = name): Strength => {
    if (!stem.test(name) && ownSensitive.length === 0) return 'none';
    if (topic.test(pair)) return 'chosen';
    // An environment variable is named by whoever needs it: any sensitive word counts.
    return codePair.test(pair) ? 'code' : strengthIn(/^[A-Z][A-Z0-9_]*$/.test(name) ? 0 : 1, name);
  };
  return {
    /** True when a key says that its value is a secret. Of a key 1,024 characters are read; no field name is longer. */
    isSensitiveKey: (key: string, value?: unknown) => isSecret(strengthIn(0, key.slice(0, 1024)), value),
    /** The same of a text that holds a name. */
    isSecretName: (name: unknown, value?: unknown) =>
      typeof name === 'string' && name.length <= 128 && isSecret(strengthOf(name), value),
    strengthOf,
  };
}

function isSecret(strength: Strength, value: unknown): boolean {
  if (strength === 'text') return typeof value !== 'boolean' && typeof value !== 'number';
  if (strength === 'path') return !isPath(value);
  return strength === 'code' ? isDigits(value) : strength === 'any';
}
