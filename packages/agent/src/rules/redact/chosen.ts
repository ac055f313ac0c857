// Whether a value looks chosen by a person or drawn by a machine, and so like a secret, beside words and identifiers
// that only stand where a secret could. Linear in the value's length.

/** Names of algorithms, encodings and numbered things that stand beside these words in ordinary text. */
const ordinary = new RegExp(
  `^(?:${[
    'sha-?\\d+|md\\d|bcrypt\\w*|s?crypt\\d*|argon2\\w*|pbkdf2\\w*|hmac\\w*|[hrep]s\\d{3}|aes-?\\d+\\w*|ed25519|x25519|curve\\w+',
    'base\\d+\\w*|utf-?\\d+\\w*|oauth-?\\d?\\w*|oidc\\d*|saml2?|jwt\\d*|x509\\w*|pkcs\\w*|rfc-?\\d+|iso-?\\d+|ipv\\d|http\\d',
    'u?int\\d+|float\\d+|uuid\\w*|varchar\\d*|char\\d+|string\\d+|bytes\\d+',
    '(?:step|part|phase|level|line|page|test|field|input|form|section|case|version|option|type|slot|stage|issue|table|column|user|group|node|task|error|rule|chapter|example|release|sprint|milestone|v)s?\\d+\\w?',
  ].join('|')})$`,
  'i',
);
/** A name that others give: an address of mail, a file, a version. */
const given = /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$|\.[a-z]{1,5}\d?$|^v?\d+(?:\.\d+)+/i;
/** Within, because `!name`, `@scope` and `~user` are ordinary. */
const mark = /.[!@#$%^&*~+]./;

/** True for a value that a person chose or a machine drew, and not a word, an identifier or a number. */
export function looksChosen(text: string): boolean {
  const value = text.replace(/[.,;:?)\]}]{1,8}$/, '');
  if (value.length < 6 || ordinary.test(value)) return false;
  // A slash or a dot makes a path of what is not long and mixed.
  if (!/^[A-Za-z0-9!@#$%^&*~+_-]+$/.test(value)) return looksDrawn(value);
  // Parts that are words or numbers make a name: `reset-2024`, `JIRA-12`, `max_length_8`.
  if (/[-_]/.test(value) && value.split(/[-_]+/).every((part) => /^(?:[A-Za-z]*|\d*)$/.test(part)))
    return false;
  if (/^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/.test(value)) return false;
  return /[A-Za-z]/.test(value) && (/\d/.test(value) || mark.test(value));
}

/** What a machine writes in base64: long, of both cases and digits, and no path. */
const looksDrawn = (value: string): boolean =>
  /^[A-Za-z0-9+/_.-]{14,}={0,2}$/.test(value) &&
  /\d/.test(value) &&
  /[a-z]/.test(value) &&
  /[A-Z]/.test(value) &&
  // Padding makes sure that it is no path.
  (value.endsWith('=') || (!/^[./]/.test(value) && !given.test(value)));
