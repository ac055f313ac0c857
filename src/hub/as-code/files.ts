// The files of a folder: their names, and reading one within bounds, with the line of each problem.
import { type Dirent, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml, RuleError, type YamlDocument } from 'reeve-agent/rules';
import type { z } from 'zod';
import { maxProblems, sentences } from '../../http/contract/validation.ts';
import { HubError } from '../../shared/error.ts';
import { visibleLine } from '../../shared/visible-text.ts';

export const folders = ['contracts', 'compositions', 'bundles'] as const;
export type FolderName = (typeof folders)[number];
export const singles = {
  rules: 'rules.yaml',
  tools: 'tools.yaml',
  deployments: 'deployments.yaml',
} as const;

/** Files in all folders together. */
export const maxFiles = 10_000;
/** Of a file; of YAML the hub takes no more either. */
export const maxFileBytes = 1_048_576;

/** A place in a file, for messages. */
export interface FilePlace {
  /** Path from the folder. */
  readonly file: string;
  readonly line: number;
}

/** One line a problem: file, line and sentence. */
export type FileProblem = string;
export const problemAt = ({ file, line }: FilePlace, sentence: string): FileProblem =>
  visibleLine(`${file}:${line}: ${sentence}`);

/** @throws HubError with all problems, when there are any */
export function refuseProblems(problems: readonly FileProblem[]): void {
  if (problems.length === 0) return;
  const more = problems.length > maxProblems ? [`… and ${problems.length - maxProblems} more`] : [];
  throw new HubError(
    'unprocessable',
    ['Nothing was changed.', ...problems.slice(0, maxProblems), ...more].join('\n'),
  );
}

export interface ReadFile<T> {
  readonly value: T;
  placeOf(path: readonly (string | number)[]): FilePlace;
}

/** The text of a regular file; a sentence when it cannot be read. */
export function readText(folder: string, file: string): string | { readonly problem: FileProblem } {
  const fail = (sentence: string) => ({ problem: problemAt({ file, line: 1 }, sentence) });
  const path = join(folder, file);
  const stat = lstatSync(path);
  if (!stat.isFile()) return fail('is not a regular file');
  if (stat.size > maxFileBytes) return fail(`is larger than ${maxFileBytes} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    if (error instanceof TypeError) return fail('is not UTF-8 text');
    throw error;
  }
}

/** The content of a YAML file; null adds its problems. */
export function readYaml<S extends z.ZodType>(
  folder: string,
  file: string,
  schema: S,
  problems: FileProblem[],
): ReadFile<z.output<S>> | null {
  const text = readText(folder, file);
  if (typeof text !== 'string') {
    problems.push(text.problem);
    return null;
  }
  return parseText(text, file, schema, problems);
}

export function parseText<S extends z.ZodType>(
  text: string,
  file: string,
  schema: S,
  problems: FileProblem[],
): ReadFile<z.output<S>> | null {
  let document: YamlDocument | undefined;
  try {
    [document] = parseYaml(text, { maxBytes: maxFileBytes, maxDocuments: 1 });
  } catch (error) {
    if (!(error instanceof RuleError)) throw error;
    const line = Number(/line (\d+)/.exec(error.message)?.[1] ?? 1);
    problems.push(problemAt({ file, line }, error.message));
    return null;
  }
  const placeOf = (path: readonly (string | number)[]): FilePlace => ({
    file,
    line: document?.positionOf(path).line ?? 1,
  });
  const result = schema.safeParse(document?.value ?? {}, sentences);
  if (result.success) return { value: result.data, placeOf };
  for (const issue of result.error.issues) {
    const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) problems.push(problemAt(placeOf([...path, key]), `${key} is unknown`));
    } else {
      problems.push(problemAt(placeOf(path), `${path.join('.') || 'the file'} ${issue.message}`));
    }
  }
  return null;
}

/** Entries of a folder by name, without those that begin with a dot; null: there is no such folder. */
export function entriesOf(folder: string, name: string): readonly Dirent[] | null {
  let entries: Dirent[];
  try {
    entries = readdirSync(join(folder, name), { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  return entries
    .filter((entry) => !entry.name.startsWith('.'))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
