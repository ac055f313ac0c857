// Settings from a YAML file, whose path is the setting REEVE_CONFIG. The environment wins over the file.
import { readFileSync, statSync } from 'node:fs';
import { parseYaml, RuleError } from 'reeve-agent/rules';
import { type Environment, isOneLetterBeside, isSecret, secretSettings } from './environment.ts';
import { settings } from './settings.ts';

const maxFileBytes = 256 << 10;

/** The names that a file may contain. */
const fileNames: ReadonlySet<string> = new Set([
  ...settings.map(({ name }) => name).filter((name) => name !== 'REEVE_CONFIG'),
  ...secretSettings.map((name) => `${name}_FILE`),
]);

type Fail = (name: string, requirement: string) => void;

/** The file's text. Null if it cannot be read, after a call of `fail`. */
function readText(path: string, fail: Fail): string | null {
  try {
    if (statSync(path).size <= maxFileBytes) return readFileSync(path, 'utf8');
    fail('REEVE_CONFIG', `must name a file of at most ${maxFileBytes >> 10} KiB; ${path} is larger`);
  } catch {
    fail('REEVE_CONFIG', `must name a readable file; the value is ${path}`);
  }
  return null;
}

function parse(path: string, text: string, fail: Fail): object | null {
  try {
    const value = parseYaml(text, { plain: true, maxDocuments: 1 })[0]?.value ?? {};
    if (typeof value === 'object' && !Array.isArray(value)) return value;
    fail(path, 'must contain a mapping from settings to values, such as "PORT: 8000"');
  } catch (error) {
    if (!(error instanceof RuleError)) throw error;
    fail(path, error.message);
  }
  return null;
}

/** A value as the environment would contain it. Undefined if no setting has such a value. */
function textOf(value: unknown): string | undefined {
  if (value === null) return '';
  if (Array.isArray(value))
    return value.every((item) => typeof item === 'string') ? value.join(',') : undefined;
  return typeof value === 'object' ? undefined : String(value);
}

function nearName(name: string): string {
  const near = [...fileNames].find(
    (setting) => setting === name.toUpperCase() || isOneLetterBeside(name, setting),
  );
  return near === undefined ? '' : ` Did you mean ${near}?`;
}

/**
 * The settings in a file.
 * @param fail called for each unknown name and unfit value, and for a file that cannot be read
 */
export function readConfigFile(path: string, fail: Fail): Environment {
  const text = readText(path, fail);
  const document = text === null ? null : parse(path, text, fail);
  const values: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(document ?? {})) {
    const valueText = textOf(value);
    if (!fileNames.has(name)) fail(`${name} in ${path}`, `is not a setting.${nearName(name)}`);
    else if (isSecret(name) && typeof value !== 'string')
      fail(`${name} in ${path}`, 'must be a text in quotes, because YAML changes numbers such as 0123');
    else if (valueText === undefined)
      fail(`${name} in ${path}`, 'must be a text, a number, true, false or a list of texts');
    else values[name] = valueText;
  }
  return values;
}

/** Variables of the environment, and below them those from the file that REEVE_CONFIG names. */
export interface Layers {
  readonly variables: Environment;
  /** Null if REEVE_CONFIG is not set. */
  readonly file: { readonly path: string; readonly variables: Environment } | null;
}

/** A secret from one layer hides both forms of the secret in the layer below: `NAME` and `NAME_FILE`. */
function isHidden(name: string, variables: Environment): boolean {
  const plainName = name.replace(/_FILE$/, '');
  const names = isSecret(plainName) ? [plainName, `${plainName}_FILE`] : [name];
  return names.some((one) => (variables[one] ?? '').trim() !== '');
}

/** @param fail as for `readConfigFile` */
export function withConfigFile(environment: Environment, fail: Fail): Layers {
  const path = environment.REEVE_CONFIG?.trim() ?? '';
  if (path === '') return { variables: environment, file: null };
  const inFile = Object.entries(readConfigFile(path, fail)).filter(([name]) => !isHidden(name, environment));
  const variables = Object.fromEntries(inFile);
  return { variables: { ...environment, ...variables }, file: { path, variables } };
}
