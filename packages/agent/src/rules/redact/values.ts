// Whether a value looks chosen by a person or drawn by a machine, and so like a secret, beside words and names that
// only stand where a secret could. Each test reads its value a bounded number of times.
import { codeWords, folderPath, letterPairs, ordinaryWords } from './tables.ts';

const pairs = new Set(letterPairs.split(' '));
const code = new Set(codeWords.split(' '));
/** A name that others give: an address of mail, a file, a version. */
const fileOrVersion = /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$|\.[a-z]{1,5}\d?$|^v?\d+(?:\.\d+)+/i;

/** True for 6 characters or more that are no word, identifier, path or number. */
export function looksChosen(text: string): boolean {
  const value = text.replace(/[.,;:?)\]}]{1,8}$/, '');
  if (value.length < 6 || ordinaryWords.test(value)) return false;
  // A slash or a dot makes a path of what is not long and mixed; padding makes sure that it is none.
  if (!/^[A-Za-z0-9!@#$%^&*~+_-]+$/.test(value)) {
    const isMixed =
      /^[A-Za-z0-9+/_.-]{14,}={0,2}$/.test(value) && [/\d/, /[a-z]/, /[A-Z]/].every((one) => one.test(value));
    return isMixed && (value.endsWith('=') || (!/^[./]/.test(value) && !fileOrVersion.test(value)));
  }
  // Parts that are words or numbers make a name: `reset-2024`, `JIRA-12`, `max_length_8`.
  if (/[-_]/.test(value) && value.split(/[-_]+/).every((part) => /^(?:[A-Za-z]*|\d*)$/.test(part)))
    return false;
  if (/^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/.test(value)) return false;
  // Marks count within, because `!name`, `@scope` and `~user` are ordinary.
  return /[A-Za-z]/.test(value) && (/\d/.test(value) || /.[!@#$%^&*~+]./.test(value));
}

/** True for 20 characters or more of 3.5 bits each and more, drawn from an alphabet and not from words. */
export function looksDrawn(value: string): boolean {
  if (value.length < 20 || !/^[A-Za-z0-9+/_=.~!@#$%^&*-]+$/.test(value) || fileOrVersion.test(value))
    return false;
  const counts = new Map<string, number>();
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1);
  const bits = [...counts.values()].reduce(
    (sum, n) => sum - (n / value.length) * Math.log2(n / value.length),
    0,
  );
  const letters = value.toLowerCase().match(/[a-z]{2}/g) ?? [];
  const ordinary = letters.filter((pair) => pairs.has(pair)).length / letters.length;
  return (
    bits >= 3.5 && (letters.length < 4 ? /\d/.test(value) && !/^[\d./:-]+$/.test(value) : ordinary < 0.5)
  );
}

/** True for a bare value that declares or computes one: a type, a constant, a call, the begin of a list. */
export const isCode = (value: string): boolean =>
  /^[[{(<]|^[A-Za-z_$][\w$.?!]{0,127}\(/.test(value) ||
  code.has(/^&?([A-Za-z]+)(?=$|[;,)\]}>?&|]|[ \t]*[|=&:]|\[)/.exec(value)?.[1]?.toLowerCase() ?? '');

/** True for a value that can only be a folder's path: from the root, a drive, home, or here. */
export const isPath = (value: unknown): boolean =>
  typeof value === 'string' && folderPath.test(value.slice(0, 256));

/** True for 4 to 10 digits, in groups or not; a card's check digits are 3. */
export function isDigits(name: string, value: unknown): boolean {
  const digits = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  const count = digits.replace(/\D/g, '').length;
  return (
    digits.length <= 15 && /^\d[\d -]*[.,;)]?$/.test(digits) && count >= (/cv[vc]2?$/i.test(name) ? 3 : 4)
  );
}
