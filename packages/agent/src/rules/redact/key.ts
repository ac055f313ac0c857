// Which names stand for a secret: keys of arguments, and names in text before `=`, `:` or after `--`. Looks at values
// only to tell a working directory (`pwd`) from a password.

const sensitiveNames = `password secret token api_key apikey api-key authorization auth credentials private_key privatekey
  access_token refresh_token client_secret connection_string database_url db_password ssh_key passphrase
  api_tokens db_passwords user_credentials oauth_secrets encryption_keys jwt_tokens
  passwd proxy_authorization cookie set_cookie`;

const safeNames = `max_tokens num_tokens total_tokens completion_tokens prompt_tokens cached_tokens reasoning_tokens
  audio_tokens cache_tokens sort_keys index_keys input_tokens output_tokens max_output_tokens`;

const wordParts: ReadonlySet<string> = new Set(
  `token tokens key keys secret secrets password passwords credential credentials
  passwd passwds passphrase passphrases`.split(/\s+/),
);

/** Words that are also found at the end of a name written in one piece, as in `dbpassword` or `ACCESSTOKEN`. */
const joinedWords =
  /(?:(?:password|passwd|passphrase|secret|credential|(?:api|access|secret|private|auth|account|encryption|signing|ssh)key)s?|connectionstring|token)$/;

/** Keys (the noun) that are secrets also in running text, where `key=` alone may be anything. */
const secretKeys =
  /(?:(?:api|access|secret|private)|(?:^|_)(?:auth|account|shared_access|encryption|signing|master|service|storage|deploy|ssh|gpg|license|webhook|pre_?shared))_?keys?\d{0,8}$|secret_?access_?keys?\d{0,8}$|_key_data$|secret_key_base$|^(?:tls|wpa)_key$/;

/** An address with a password in it, whatever stands before the name. */
const connectionString = /(?:^|_)connection_?string\d{0,8}$/;

const exportedSecret = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/;

/** Characters of a key that are looked at; no field name is longer. */
const longestKey = 1024;

/** Names whose verdict is kept. */
const maxJudged = 1_000;

/** Lower case, and `-` is `_`. */
const lower = (key: string): string => key.toLowerCase().replaceAll('-', '_');

/** A name in parts: camelCase and whatever separates words become `_`. A blank separates none. */
export const snakeCase = (key: string): string =>
  key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s]+/gu, '_')
    .replace(/^_+|_+$/g, '');

const setOf = (names: Iterable<string>): ReadonlySet<string> =>
  new Set([...names].flatMap((name) => [lower(name), snakeCase(name)]));

/** Keys redacted whatever their value, normalised. */
export const sensitiveKeys = setOf(sensitiveNames.split(/\s+/));

/** Keys kept although a part of them is a sensitive word, normalised. */
export const safeKeys = setOf(safeNames.split(/\s+/));

/** `pwd`, alone or as the last part of a name. */
const endsInPwd = /(?:^|_)pwd\d*$|^oldpwd$/;

/** `pass` after a word that has a password: alone, or after others (`first_pass`), it is something else. */
const endsInPass =
  /(?:^|_)(?:admin|app|auth|basic|become|bind|database|db|docker|email|ftp|git|http|imap|key|ldap|login|mail|mongo|mysql|pg|postgres|proxy|redis|registry|root|sftp|smtp|ssh|store|sudo|user|vnc|wifi)_?pass\d*$|(?:^|_)psk$/;

/** Codes that people type: their names are ordinary words (`pin` a version, a pin of a board), so the value decides. */
const endsInCode =
  /(?:^|_)(?:pin|otp|totp|passcode|cvv2?|cvc2?|(?:pin|otp|totp|mfa|2fa|tfa|sms|verification|one_time|security|login)_code)$/;

/** 4 to 10 digits (a card's check digits are 3), in groups or not. */
const isCode = (name: string, value: unknown): boolean => {
  if (typeof value !== 'string' && typeof value !== 'number') return false;
  const digits = String(value)
    .trim()
    .replace(/[.,;)]$/, '');
  const least = /cv[vc]2?$/.test(name) ? 3 : 4;
  return digits.length <= 14 && /^\d+(?:[ -]\d+)*$/.test(digits) && digits.replace(/\D/g, '').length >= least;
};

/** A value that can only be a folder's path: from the root, a drive, home, or here. */
const path = /^(?:[\\/]|[A-Za-z]:[\\/]|~(?:[\\/]|$)|\.{1,2}(?:[\\/]|$))[\p{L}\p{N}\s._~\\/@:-]*$/u;

const isPath = (value: unknown): boolean => typeof value === 'string' && path.test(value.slice(0, 256));

export interface NameTest {
  /** True when a key says that its value is a secret. */
  isSensitiveKey(key: string, value?: unknown): boolean;
  /**
   * The same of a name in running text, which needs a stronger word: `key=` and `tokens:` may be anything there.
   * @param exported the shell exports a variable of this name
   */
  isSensitiveName(
    name: string,
    about?: { readonly value?: string | undefined; readonly exported?: boolean },
  ): boolean;
}

/**
 * The sensitive set, then the safe set, then the parts of the name.
 * @param sensitive added to the sensitive set; beats the safe set
 * @param safe added to the safe set; does not free a key of the sensitive set
 */
export function nameTest(sensitive: Iterable<string>, safe: Iterable<string>): NameTest {
  const ownHidden = setOf(sensitive);
  const hidden = new Set([...sensitiveKeys, ...ownHidden]);
  const kept = new Set([...safeKeys, ...setOf(safe)]);
  /** Null: the lists know neither the name as it is nor in parts. */
  const listed = (plain: string, name: string): boolean | null => {
    if (hidden.has(plain) || hidden.has(name)) return true;
    return kept.has(plain) || kept.has(name) ? false : null;
  };
  const hasWord = (name: string): boolean =>
    name.split('_').some((part) => wordParts.has(part.replace(/\d{1,8}$/, ''))) ||
    joinedWords.test(name.replaceAll('_', '').replace(/\d{1,8}$/, ''));
  const nameIs = (given: string, value: string | undefined, exported: boolean): boolean => {
    const [plain, name] = [lower(given), snakeCase(given)];
    // In prose this is a topic more often than a value.
    const known = name === 'auth' ? given === '_auth' || ownHidden.has(name) : listed(plain, name);
    if (known !== null) return known;
    if (connectionString.test(name)) return true;
    if (endsInPwd.test(name)) return !isPath(value);
    if (endsInPass.test(name)) return true;
    if (endsInCode.test(name)) return value === undefined || isCode(name, value);
    // An environment variable is named by whoever needs it: any sensitive word counts.
    if (/^[A-Z][A-Z0-9_]*$/.test(given)) return hasWord(name) || (exported && exportedSecret.test(given));
    return secretKeys.test(name) || (!/keys?\d*$|tokens$/.test(name) && lastWord(name));
  };
  /** Names that were judged without a value: texts repeat theirs. */
  const judged = new Map<string, boolean>();
  return {
    isSensitiveKey(key, value) {
      const given = key.slice(0, longestKey);
      const [plain, name] = [lower(given), snakeCase(given)];
      const known = listed(plain, name);
      if (known !== null) return known;
      if (endsInPwd.test(name)) return !isPath(value);
      if (endsInPass.test(name)) return typeof value !== 'boolean' && typeof value !== 'number';
      if (endsInCode.test(name)) return isCode(name, value);
      return (
        connectionString.test(name) || hasWord(name) || plain.split('_').some((part) => wordParts.has(part))
      );
    },
    isSensitiveName(given, { value, exported = false } = {}) {
      if (value !== undefined || exported) return nameIs(given, value, exported);
      let verdict = judged.get(given);
      if (verdict === undefined) {
        if (judged.size >= maxJudged) judged.clear();
        verdict = nameIs(given, value, exported);
        judged.set(given, verdict);
      }
      return verdict;
    },
  };
}

const lastWord = (name: string): boolean => {
  const last = name.slice(name.lastIndexOf('_') + 1).replace(/\d{1,8}$/, '');
  return wordParts.has(last) || joinedWords.test(last);
};
