// The environment as the settings read it: secrets from files, switches, and names that are probably misspelled.
import { readFileSync } from 'node:fs';
import { settings } from './settings.ts';

export interface Environment {
  readonly [name: string]: string | undefined;
}

/** Settings that may hold a secret: each can be read from the file that `NAME_FILE` names. */
export const secretSettings = [
  'SECRET_KEY',
  'ADMIN_PASSWORD',
  'SETUP_TOKEN',
  'OPERATOR_TOKEN',
  'OIDC_CLIENT_SECRET',
  'METRICS_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'MONGODB_URL',
  'REDIS_URL',
] as const;

/** True for a setting whose value no output shows. */
export const isSecret = (name: string): boolean => secretSettings.some((secret) => secret === name);

type Fail = (name: string, requirement: string) => void;

/**
 * The environment with the content of each `NAME_FILE` as `NAME`, without the line break at its end.
 * @param fail called for a file that cannot be read, has only blanks, or stands beside `NAME` itself
 */
export function withSecretFiles(env: Environment, fail: Fail): Environment {
  const secrets: { [name: string]: string } = {};
  for (const name of secretSettings) {
    const path = env[`${name}_FILE`]?.trim() ?? '';
    if (path === '') continue;
    if ((env[name] ?? '') !== '') fail(`${name}, ${name}_FILE`, 'are both set. Remove one');
    const text = readText(path)?.replace(/\r?\n$/, '') ?? '';
    if (text.trim() === '')
      fail(`${name}_FILE`, `must name a readable file that is not empty; the value is ${path}`);
    secrets[name] = text;
  }
  return { ...env, ...secrets };
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Null for a text that is no switch. */
export function readSwitch(text: string): boolean | null {
  const word = text.toLowerCase();
  if (['true', 'on', '1'].includes(word)) return true;
  return ['false', 'off', '0'].includes(word) ? false : null;
}

export const switchWords = 'must be true or false (on and off, 1 and 0)';

/** True when one letter more, less, other, or two letters exchanged make one name of the other. */
export function isOneLetterBeside(a: string, b: string): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  if (short === long || long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short[at] === long[at]) at++;
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1);
  if (short.slice(at + 1) === long.slice(at + 1)) return true;
  const isExchanged = short[at] === long[at + 1] && short[at + 1] === long[at];
  return isExchanged && short.slice(at + 2) === long.slice(at + 2);
}

/** A sentence for each variable that is one letter beside a setting which is not set. */
export function misspelledSettings(env: Environment): readonly string[] {
  const names = [...settings.map(({ name }) => name), ...secretSettings.map((name) => `${name}_FILE`)];
  const knownNames = new Set(names);
  return Object.keys(env).flatMap((variable) => {
    if (knownNames.has(variable)) return [];
    const setting = names.find((name) => env[name] === undefined && isOneLetterBeside(variable, name));
    return setting ? [`${variable} is not a setting and has no effect. Did you mean ${setting}?`] : [];
  });
}
