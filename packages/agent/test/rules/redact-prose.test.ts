// Secrets in sentences and codes that people type are hidden; what coding agents write all day stays as it is.
import { describe, expect, it } from 'vitest';
import { redactArgs, redactText } from '../../src/rules/redact.ts';
import { ordinaryCommands } from './sandbox/ordinary.ts';

const R = '[REDACTED]';

describe('secrets in sentences', () => {
  it.each([
    ['The password is hunter2.', `The password is ${R}`],
    ['my password is: S3cret!pw thanks', `my password is: ${R} thanks`],
    ['log in with PASSWORD hunter2', `log in with PASSWORD ${R}`],
    ['use ann and passphrase tr0ub4dor&3', `use ann and passphrase ${R}`],
    ['password was changed to "Winter#2024"', `password was changed to "${R}"`],
    ['password (for ann): Winter#2024', `password (for ann): ${R}`],
    ['the password for ann is Winter#2024', `the password for ann is ${R}`],
    ['Passwort: geheim!', `Passwort: ${R}`],
    ['mot de passe : s3same', `mot de passe : ${R}`],
    ['use the token `a8f3k2m9x7`', `use the token \`${R}\``],
    ['password changed to "Winter#2024"', `password changed to "${R}"`],
    ['the password is set to P@ssword', `the password is set to ${R}`],
    ['the token is a8f3k2m9x7', `the token is ${R}`],
    ['our api key is 9f8e7d6c5b4a', `our api key is ${R}`],
    ['PIN 4821', `PIN ${R}`],
    ['her pin is 482913, keep it', `her pin is ${R}, keep it`],
    ['OTP: 482913 (valid for 5 min)', `OTP: ${R} (valid for 5 min)`],
    ['the OTP is 482 913', `the OTP is ${R}`],
    ['your verification code is 482913', `your verification code is ${R}`],
    ['enter one-time password 48291377', `enter one-time password ${R}`],
    ['npm publish --otp 482913', `npm publish --otp ${R}`],
    ['npm publish --otp=482913', `npm publish --otp=${R}`],
    ['pin=4821', `pin=${R}`],
    ['{"pin":"4821","x":1}', `{"pin":"${R}","x":1}`],
    ['{"otp": 482913}', `{"otp": ${R}}`],
  ])('%s', (text, hidden) => {
    expect(redactText(text)).toBe(hidden);
    expect(redactArgs({ text })).toEqual({ text: hidden });
    expect(redactText(hidden)).toBe(hidden);
  });

  it('are hidden under keys and after flags, where the value is a code', () => {
    const args = {
      pin: '4821',
      card_pin: 4821,
      otp: '482 913',
      otpCode: '482913',
      verificationCode: 482913,
      cvv: '123',
      list: ['npm', 'publish', '--otp', '482913'],
      header: { name: 'otp', value: '482913' },
    };
    expect(redactArgs(args)).toEqual({
      pin: R,
      card_pin: R,
      otp: R,
      otpCode: R,
      verificationCode: R,
      cvv: R,
      list: ['npm', 'publish', '--otp', R],
      header: { name: 'otp', value: R },
    });
    const kept = {
      pin: true,
      gpio_pin: 13,
      spin: '4821',
      exit_code: 1234,
      otp: 'erlang',
      pinned: 4821,
      list: ['pin', 'lodash'],
      variable: { name: 'pin', value: 'left' },
    };
    expect(redactArgs(kept)).toEqual(kept);
  });
});

const sentences = `
Fix the password reset flow
Add a password field to the sign-up form
The password is required
password is incorrect
password is too short (minimum is 8 characters)
The password is hashed with bcrypt before it is stored
password hashing uses argon2id
password hash is sha256
Switch password storage to PBKDF2
password policy: at least 12 characters
Validate password length >= 8
show/hide password toggle
PASSWORD REQUIRED
PASSWORD_MIN_LENGTH must be 8
Rename password to passphrase
password confirmation does not match
Move the password check to validators.ts
password.test.ts fails on line 42
Update password reset-2024 template
Close password ticket JIRA-1234
Extract password max_length_8 into a constant
The password rule12 is too strict
password step2 of the wizard
forgot password link returns 404
The password was changed successfully
password is stored in the environment
Never log the password
passwords are compared in constant time
passwd file is not readable
The passphrase is optional
Add tests for password strength meter
user entered wrong password 3 times
password expires in 90 days
Password manager integration
The token is expired
The token is invalid or has been revoked
token is base64url encoded
the token is HS256 signed
Refresh the access token when it expires
token count is 12345678
max token is 100000000
The tokenizer splits on whitespace
lexer: token is an identifier
next token was unexpected
parse the token as an integer
secret is mounted at /run/secrets
The secret is rotated weekly
secret is stored in the keychain
The api key is missing
api key is read from the environment
API key was not found
The access key is optional here
primary key is composite
foreign key to users
sort key is created_at
press any key to continue
Pin the dependency to 4.17.21
pin 1.2.3
pin lodash 4.17.21 in package.json
Pin actions/checkout to a commit
pin version 2024.1
pinned 4821 messages
The map pin is misplaced
GPIO pin 13 is high
set pin 21 as output
connect pin 4 to ground
spin 1000 times
Erlang/OTP 27 is required
OTP 26.2.5
Upgrade to OTP 25
OTP supervisors restart the child
otp verification screen
Add OTP input with 6 digits
verification code expires after 10 minutes
The verification code is 6 digits long
exit code is 1234
status code 4040
error code 10061
zip code 90210
security code review
code 482913 lines of Rust
port is 8080
listening on 0.0.0.0:3000
commit a1b2c3d4 fixes it
issue is 1234
pid is 48213
build number 482913
the id is 550e8400e29b
timeout was 30000
retry as user2 later
login as admin1 failed
session is abc123
id is user_12345
Read src/auth/password.ts
grep -rn "password is" src
git commit -m "tokens: count input and output"
see docs/otp.md and docs/pin.md
if (password !== confirm) throw new Error
return token ?? null
rotate secret key material
a private key is generated on first start
access key was rotated in 2024
use oauth2 token as bearer
password oauth2 grant is deprecated
enter your pin code
TOTP is off by default
2FA code is asked for once
The SMS code is valid for 300 seconds
Passcode is four digits
`
  .trim()
  .split('\n');

describe('ordinary text', () => {
  it('has more than a hundred sentences here', () => {
    expect(sentences.length).toBeGreaterThan(100);
  });

  it.each(sentences)('stays: %s', (text) => {
    expect(redactText(text)).toBe(text);
    expect(redactArgs({ content: `${text}\n${text}` })).toEqual({ content: `${text}\n${text}` });
  });

  it('of commands stays, but for what -p takes and variables that name a secret', () => {
    const kept = ordinaryCommands.filter((command) => !/\s-p\s|^DATABASE_URL=/.test(command));
    for (const command of kept) expect(redactText(command)).toBe(command);
  });
});
