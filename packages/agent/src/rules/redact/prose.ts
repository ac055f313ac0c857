// Secrets in sentences: `the password is hunter2`, `OTP 482913`. What follows must look chosen or drawn, because words
// such as password stand in ordinary sentences far more often than secrets do. Linear in the text's length.
import { looksChosen } from './chosen.ts';
import { redacted } from './secret.ts';

/** What stands between the name and the value: a blank, or words that say what the value is. */
const link = String.raw`[ \t]{1,8}(?:(?:is|was|to|as|set to|changed to|is now|is set to|was set to)[ \t]{0,8}:?[ \t]{1,8})`;
/** For whom it is. */
const owner = String.raw`[ \t]{1,8}\(?for[ \t]{1,8}[^\s()]{1,64}\)?(?:${link}|:[ \t]{1,8})`;
const quote = String.raw`["'\x60]?`;

const password = new RegExp(
  String.raw`(\b(?:password|passwd|passphrase|passcode)(?:${link}|${owner}|[ \t]{1,8})${quote})([^\s"'\x60]{6,128})`,
  'gi',
);
const token = new RegExp(
  String.raw`(\b(?:secret|token|(?:api|access|secret|private)[ \t_-]key)(?:${link}|${owner}|[ \t]{1,8}(?=["'\x60]))${quote})([^\s"'\x60]{8,128})`,
  'gi',
);
const code = new RegExp(
  String.raw`(\b(?:pin|otp|totp|passcode|(?:pin|otp|mfa|2fa|sms|verification|one-time|security|login)[ \t]{1,8}(?:code|password|pin))(?:${link}|[ \t]{1,8})${quote})(\d{3}[ -]\d{3}|\d{4,8})(?![\w-]|\.\d)`,
  'gi',
);

/** The word in other languages, where it names a value. */
const abroad =
  /((?<!\p{L})(?:passwort|kennwort|contraseña|mot de passe|senha|wachtwoord|hasło|пароль|密码|密碼|パスワード|비밀번호)[ \t]{0,4}[:=：][ \t]{0,4}["'`]?)[^\s"'`]+/giu;

/** Hides what sentences say is a secret. */
export function hideInProse(text: string): string {
  const hide = (whole: string, head: string, value: string): string =>
    looksChosen(value) ? head + redacted : whole;
  return text
    .replace(password, hide)
    .replace(token, hide)
    .replace(abroad, `$1${redacted}`)
    .replace(code, (_whole, head: string) => head + redacted);
}
