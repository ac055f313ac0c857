// The interface of the program's commands, and their common parts: options, files, the form of GitHub's annotations.
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { maxYamlBytes } from '../rules/yaml.ts';

export interface Command {
  readonly help: string;
  /** @returns the exit code @throws UsageError */
  run(args: readonly string[]): Promise<number>;
}

/** The command was called wrongly: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Options {
  readonly [name: string]: { readonly type: 'string' | 'boolean'; readonly multiple?: boolean };
}

type Value<O extends Options[string]> = O['type'] extends 'boolean'
  ? boolean
  : O['multiple'] extends true
    ? readonly string[]
    : string;

export interface Parsed<T extends Options> {
  readonly values: { readonly [K in keyof T]?: Value<T[K]> };
  readonly positionals: readonly string[];
}

/** Options and other arguments. @throws UsageError for an unknown option */
export function parseOptions<const T extends Options>(args: readonly string[], options: T): Parsed<T> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true }) as Parsed<T>;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Options and file names. @throws UsageError for an option nobody knows, or without a file */
export function parseCommand<const T extends Options>(args: readonly string[], options: T): Parsed<T> {
  const parsed = parseOptions(args, options);
  if (parsed.positionals.length === 0)
    throw new UsageError('name at least one file, or - for standard input');
  return parsed;
}

export const formats = ['text', 'json', 'github'] as const;
export type Format = (typeof formats)[number];

/** @throws UsageError */
export function formatOf(format: string | undefined, json: boolean | undefined): Format {
  if (json) return 'json';
  const chosen = formats.find((one) => one === (format ?? 'text'));
  if (!chosen) throw new UsageError(`--format must be one of ${formats.join(', ')}`);
  return chosen;
}

/**
 * The text of a file, `-` for standard input.
 * @throws Error in plain words when it cannot be read, is no UTF-8, or is over 1 MiB
 */
export async function readText(file: string): Promise<string> {
  const bytes = file === '-' ? await readAll(process.stdin) : await readFile(file).catch(failed);
  if (bytes.length > maxYamlBytes) throw new Error(`is larger than ${maxYamlBytes} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('is not UTF-8 text');
  }
}

function failed(error: NodeJS.ErrnoException): never {
  const reasons: { readonly [code: string]: string } = {
    ENOENT: 'does not exist',
    EISDIR: 'is a folder',
    EACCES: 'is not readable by this user',
  };
  throw new Error(reasons[error.code ?? ''] ?? `cannot be read: ${error.message}`);
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of stream) {
    size += part.length;
    if (size > maxYamlBytes) break;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

export interface Annotation {
  readonly severity: 'error' | 'warning' | 'notice';
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/**
 * A line that an editor or a terminal makes a link of: `file:line:column: error: message`. Names of files and keys may
 * contain what a terminal obeys: control characters appear as `\u{1b}`.
 */
export const textLine = ({ file, line, column, severity, message }: Annotation): string =>
  `${file}:${line}:${column}: ${severity}: ${message}`.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );

/** A workflow command that GitHub shows beside the line (docs.github.com, "Workflow commands for GitHub Actions"). */
export function githubLine({ severity, file, line, column, message }: Annotation): string {
  const data = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = (text: string) => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::${severity} file=${property(file)},line=${line},col=${column}::${data(message)}`;
}
