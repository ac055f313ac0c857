// Reads settings of one kind or another from the environment. A mistake is noted, and reading goes on, so that a start
// names all of them at once.
import { isHttpUrl } from './addresses.ts';
import { type Environment, readSwitch, switchWords } from './environment.ts';
import { settings } from './settings.ts';

const headerOrCookie = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The texts between commas, without blanks around them. */
export const split = (value: string): string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** Reads a setting: what is set, else its default. */
export function reader(env: Environment): (name: string) => string {
  const fallbacks = new Map(settings.map((s) => [s.name, s.fallback]));
  return (name) => {
    const value = env[name]?.trim();
    return value === undefined || value === '' ? (fallbacks.get(name) ?? '') : value;
  };
}

export class SettingReader {
  readonly get: (name: string) => string;
  /** Notes that a setting is wrong. */
  readonly fail: (name: string, requirement: string) => void;

  constructor(env: Environment, fail: (name: string, requirement: string) => void) {
    this.get = reader(env);
    this.fail = fail;
  }

  int(name: string, min: number, max: number): number {
    const value = this.get(name);
    const number = Number(value);
    if (!/^\d{1,15}$/.test(value) || number < min || number > max)
      this.fail(name, `must be a whole number from ${min} to ${max}`);
    return number;
  }

  flag(name: string): boolean {
    const value = readSwitch(this.get(name));
    if (value === null) this.fail(name, switchWords);
    return value === true;
  }

  /** A text of a pattern. */
  text(name: string, pattern: RegExp, requirement: string): string {
    const value = this.get(name);
    if (!pattern.test(value)) this.fail(name, requirement);
    return value;
  }

  /** A secret; null if it is not set. @param least its length in characters */
  secret(name: string, least: number): string | null {
    const value = this.get(name);
    if (value !== '' && value.length < least) this.fail(name, `must have ${least} characters or more`);
    return value === '' ? null : value;
  }

  /** One of some words, in any case. */
  word<W extends string>(name: string, words: readonly W[]): W | undefined {
    const text = this.get(name).toLowerCase();
    const word = words.find((one) => one === text);
    if (!word) this.fail(name, `must be one of ${words.join(', ')}`);
    return word;
  }

  names(name: string): string[] {
    const list = split(this.get(name));
    if (list.length === 0 || list.length > 16 || list.some((item) => item.length > 100 || /\s/.test(item))) {
      this.fail(name, 'must contain 1 to 16 names, comma separated, without blanks');
    }
    return list;
  }

  /** Names of headers, in lower case. */
  headers(name: string): string[] {
    const list = this.names(name);
    for (const value of list) this.#checkHeaderOrCookie(name, value);
    return list.map((header) => header.toLowerCase());
  }

  /** The name of a header or of a cookie. */
  headerOrCookie(name: string): string {
    const value = this.get(name);
    this.#checkHeaderOrCookie(name, value);
    return value;
  }

  /** Texts between commas. @param wrong why one is wrong, without its quotes */
  list(name: string, isFine: (value: string) => boolean, wrong: string): readonly string[] {
    const list = split(this.get(name));
    for (const value of list) if (!isFine(value)) this.fail(name, `'${value}' ${wrong}`);
    return list;
  }

  /** The address of a server, without slashes at its end. */
  url(name: string): string {
    const value = this.get(name).replace(/(?<!\/)\/+$/, '');
    if (!/^https?:\/\/[^\s/]/.test(value) || !URL.canParse(value))
      this.fail(name, 'must be an http or https URL');
    return value;
  }

  /** An address as it is set. */
  address(name: string): string {
    const value = this.get(name);
    if (!isHttpUrl(value)) this.fail(name, 'must be an http or https URL');
    return value;
  }

  #checkHeaderOrCookie(name: string, value: string): void {
    if (!headerOrCookie.test(value)) this.fail(name, `'${value}' is not a valid name for a header or cookie`);
  }
}
