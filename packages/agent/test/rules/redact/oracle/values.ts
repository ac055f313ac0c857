// The test whether a value looks chosen by a person or drawn by a machine, and so like a secret, beside words and names
// that only stand where a secret could. Each test reads its value a bounded number of times.

/** Names of algorithms, encodings and numbered things: mixed like a secret, and none. */
const ordinaryWord =
  /^(?:(?:b|s)?crypt\w*|(?:argon2|pbkdf2|hmac|curve|jwt|pkcs|uuid|oauth)\w*|(?:sha-?|md|[hrep]s|aes-?|ed|x|base|utf-?|oauth-?|oidc|saml|rfc-?|iso-?|ipv|http|u?int|float|varchar|char|string|bytes|step|part|phase|level|line|page|test|field|input|form|section|case|version|option|type|slot|stage|issue|table|column|user|group|node|task|error|rule|chapter|example|release|sprint|milestone|v)s?\d+\w{0,4})$/i;
/** A value that declares or computes one: a type, a constant, a call, the begin of a list. */
const code =
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
  if (value.length < 6 || ordinaryWord.test(value)) return false;
  // A slash or a dot makes a path of what is not long and mixed; padding makes sure that it is none.
  if (!/^[A-Za-z0-9!@#$%^&*~+_-]+$/.test(value)) {
    const isMixed = /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/_.-]{14,}={0,2}$/.test(value);
    return isMixed && (value.endsWith('=') || (!/^[./]/.test(value) && !fileOrVersion.test(value)));
  }
  // Parts that are words or numbers make a name: `reset-2024`, `JIRA-12`, `max_length_8`, `MAX_LENGTH2`.
  if (/^[-_]*(?:[A-Za-z]+|\d+)(?:[-_]+(?:[A-Za-z]+|\d+))*[-_]*$|^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/.test(value))
    return false;
  // Marks count within, because `!name`, `@scope` and `~user` are ordinary.
  return /[A-Za-z]/.test(value) && /\d|.[!@#$%^&*~+]./.test(value);
}

/** True for 20 characters or more of 3.5 bits each and more, drawn from an alphabet and not from words. */
export function looksDrawn(value: string): boolean {
  if (!/^(?=.*[a-z])[A-Za-z0-9+/_=.~!@#$%^&*-]{20,}$/i.test(value) || fileOrVersion.test(value)) return false;
  const counts = [...new Set(value)].map((char) => value.split(char).length - 1);
  const bits = counts.reduce(
    (sum, count) => sum - (count / value.length) * Math.log2(count / value.length),
    0,
  );
  const lettersOf = (text: string): number => text.replace(/[^a-z]/gi, '').length;
  return bits >= 3.5 && lettersOf(value.replace(commonPairs, '')) > lettersOf(value) / 2;
}

export const isCode = (value: string): boolean => code.test(value);
export const isPath = (value: unknown): boolean =>
  typeof value === 'string' && folderPath.test(value.slice(0, 256));
/** True for 3 to 10 digits, in groups or not. */
export const isDigits = (value: unknown): boolean => /^\s*\d(?:[ -]?\d){2,9}[.,;)]?\s*$/.test(String(value));
