// Which keys name a secret (document 1, Redaction 1–3; document 5 §3.3). Looks at names only, never at values.

const sensitiveNames = `password secret token api_key apikey api-key authorization auth credentials private_key privatekey
  access_token refresh_token client_secret connection_string database_url db_password ssh_key passphrase
  api_tokens db_passwords user_credentials oauth_secrets encryption_keys jwt_tokens`;

const safeNames = `max_tokens num_tokens total_tokens completion_tokens prompt_tokens cached_tokens reasoning_tokens
  audio_tokens cache_tokens sort_keys index_keys input_tokens output_tokens`;

const wordParts: ReadonlySet<string> = new Set(
  'token tokens key keys secret secrets password passwords credential credentials'.split(' '),
);

/** Characters of a key that are looked at; no field name is longer. */
const longestKey = 1024;

/** Lower case, and `-` is `_`. */
const normalise = (key: string): string => key.toLowerCase().replaceAll('-', '_');

const setOf = (names: string): string[] => names.split(/\s+/).map(normalise);

/** Keys redacted whatever their value, normalised. */
export const sensitiveKeys: ReadonlySet<string> = new Set(setOf(sensitiveNames));

/** Keys kept although a part of them is a sensitive word, normalised. */
export const safeKeys: ReadonlySet<string> = new Set(setOf(safeNames));

/**
 * A test of key names: the sensitive set, then the safe set, then any part between `_` and `-` that is a sensitive word.
 * @param sensitive added to the sensitive set; beats the safe set
 * @param safe added to the safe set; does not free a key of the sensitive set
 */
export function keyTest(sensitive: Iterable<string>, safe: Iterable<string>): (key: string) => boolean {
  const hidden = new Set([...sensitiveKeys, ...[...sensitive].map(normalise)]);
  const kept = new Set([...safeKeys, ...[...safe].map(normalise)]);
  return (key) => {
    const name = normalise(key.slice(0, longestKey));
    if (hidden.has(name)) return true;
    return !kept.has(name) && name.split('_').some((part) => wordParts.has(part));
  };
}
