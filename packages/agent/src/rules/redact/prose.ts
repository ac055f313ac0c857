// Secrets in sentences: `the password is hunter2`, `OTP 482913`. What follows must look chosen or drawn, because words
// such as password stand in ordinary sentences far more often than secrets do. Linear in the text's length.
import { redacted } from './secret.ts';

/** What stands between the name and the value: a blank, or words that say what the value is. */
const link = String.raw`[ \t]{1,8}(?:(?:is|was|to|as|set to|changed to|is now|is set to|was set to)[ \t]{0,8}:?[ \t]{1,8})`;
const quote = String.raw`["'\x60]?`;

const password = new RegExp(
  String.raw`(\b(?:password|passwd|passphrase|passcode)(?:${link}|[ \t]{1,8})${quote})([^\s"'\x60]{6,128})`,
  'gi',
);
const token = new RegExp(
  String.raw`(\b(?:secret|token|(?:api|access|secret|private)[ \t_-]key)${link}${quote})([^\s"'\x60]{8,128})`,
  'gi',
);
const code = new RegExp(
  String.raw`(\b(?:pin|otp|totp|passcode|(?:pin|otp|mfa|2fa|sms|verification|one-time|security|login)[ \t]{1,8}(?:code|password|pin))(?:${link}|[ \t]{1,8})${quote})(\d{3}[ -]\d{3}|\d{4,8})(?![\w-]|\.\d)`,
  'gi',
);

/** Names of algorithms, encodings and numbered things that follow these words in ordinary sentences. */
const ordinary = new RegExp(
  `^(?:${[
    'sha-?\\d+|md\\d|bcrypt\\w*|s?crypt\\d*|argon2\\w*|pbkdf2\\w*|hmac\\w*|[hrep]s\\d{3}|aes-?\\d+\\w*|ed25519|x25519|curve\\w+',
    'base\\d+\\w*|utf-?\\d+\\w*|oauth-?\\d?\\w*|oidc\\d*|saml2?|jwt\\d*|x509\\w*|pkcs\\w*|rfc-?\\d+|iso-?\\d+|ipv\\d|http\\d',
    '(?:step|part|phase|level|line|page|test|field|input|form|section|case|version|option|type|slot|stage|issue|table|column|user|group|node|task|error|rule|chapter|example|release|sprint|milestone|v)s?\\d+\\w?',
  ].join('|')})$`,
  'i',
);

/** True for a value that a person chose or a machine drew, and not a word, an identifier or a number. */
function looksChosen(given: string): boolean {
  const value = given.replace(/[.,;:?)\]}]{1,8}$/, '');
  if (value.length < 6 || !/^[A-Za-z0-9!@#$%^&*~+_-]+$/.test(value) || ordinary.test(value)) return false;
  // Parts that are words or numbers make a name: `reset-2024`, `JIRA-12`, `max_length_8`.
  if (/[-_]/.test(value) && value.split(/[-_]+/).every((part) => /^(?:[A-Za-z]*|\d*)$/.test(part)))
    return false;
  return /[A-Za-z]/.test(value) && (/\d/.test(value) || /[!@#$%^&*~+]./.test(value));
}

/** Hides what sentences say is a secret. */
export function hideInProse(text: string): string {
  const hide = (whole: string, head: string, value: string): string =>
    looksChosen(value) ? head + redacted : whole;
  return text
    .replace(password, hide)
    .replace(token, hide)
    .replace(code, (_whole, head: string) => head + redacted);
}
