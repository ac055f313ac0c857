// What a secret looks like: values by their prefix, and secrets inside commands and other text. Every pattern runs in linear time.
// Does not decide by key name (redact/key.ts).

export const redacted = '[REDACTED]';

const secretValue =
  /^(?:sk-[A-Za-z0-9_-]{20}|AKIA[A-Z0-9]{16}|eyJ[A-Za-z0-9_-]{20,}\.|ghp_[A-Za-z0-9]{36}|xox[bpas]-[A-Za-z0-9-]{10})/;

/** True when the text starts like a known kind of secret (document 5 §3.4): an API key, a cloud key, a JWT, a chat token. */
export const looksSecret = (value: string): boolean => secretValue.test(value);

// The look-behind lets a match start only where a run of token characters starts, which keeps the search linear.
const secretToken =
  /(?<![\w-])(?:sk-[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{16,}|eyJ[A-Za-z0-9_-]{20,}\.[\w.-]*|ghp_[A-Za-z0-9]{36,}|xox[bpas]-[A-Za-z0-9-]{10,})/g;

/** Replaces secrets of the known kinds wherever they stand in the text. */
export const hideTokens = (text: string): string => text.replace(secretToken, redacted);

const valueRun = String.raw`(?:"[^"\n]*"|'[^'\n]*'|\S+)`;
const assignment = new RegExp(String.raw`(\bexport\s+(\w+)=)${valueRun}`, 'g');
const secretName = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/;
const passwordFlag = new RegExp(
  String.raw`((?<![^\s"'=(;&|])-p\s*|(?<![^\s"'=(;&|])--password[=\s]\s*)${valueRun}`,
  'g',
);

/** Hides assigned values, password flags and passwords of URLs, as they stand in shell commands (document 5 §3.4). */
export function hideInline(text: string): string {
  let hidden = text;
  if (hidden.includes('export')) {
    hidden = hidden.replace(assignment, (whole: string, head: string, name: string) =>
      secretName.test(name) ? head + redacted : whole,
    );
  }
  if (hidden.includes('-p')) hidden = hidden.replace(passwordFlag, `$1${redacted}`);
  return hidden.includes('://') ? hidden.replace(/\S+/g, hideUrlPassword) : hidden;
}

const userPart = /:\/\/([^\s:/@?#]*):/g;
const passwordPart = /[^\s/@]+@/y;

/** One run without blanks. After a plain word as user, the password reaches to the run's last `@`; else to the next one. */
function hideUrlPassword(run: string): string {
  const last = run.lastIndexOf('@');
  if (last < 0) return run;
  let out = '';
  let from = 0;
  userPart.lastIndex = 0;
  for (let match = userPart.exec(run); match; match = userPart.exec(run)) {
    const start = match.index + match[0].length;
    if (start >= last) break;
    if (/^\w+$/.test(match[1] ?? '')) return out + run.slice(from, start) + redacted + run.slice(last);
    passwordPart.lastIndex = start;
    const password = passwordPart.exec(run);
    if (!password) continue;
    out += run.slice(from, start) + redacted;
    from = start + password[0].length - 1;
    userPart.lastIndex = from;
  }
  return out + run.slice(from);
}
