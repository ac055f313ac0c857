// The project folder of a coding assistant. Never its shell's current folder, because the model changes that one.
import { resolve } from 'node:path';
import type { Variables } from '../../environment.ts';
import type { HookFormat, HookInput } from './formats.ts';

/**
 * The folders of the project, absolute: those of `--project`, else those that the payload names. Without either: the
 * one that the assistant's environment names, else the folder that the hook was started in.
 * @param options the folders of `--project`
 * @param start the folder that the hook was started in
 */
export function projectsOf(
  options: readonly string[],
  input: HookInput,
  format: HookFormat,
  variables: Variables,
  start: string,
): readonly [string, ...string[]] {
  const fromPayload = input.roots ?? [];
  const variable = format.projectVariable === null ? undefined : variables[format.projectVariable];
  const fromVariable = variable === undefined || variable === '' ? [] : [variable];
  const folders = [options, fromPayload, fromVariable].find((one) => one.length > 0) ?? [];
  const [first = start, ...others] = folders.map((folder) => resolve(start, folder));
  return [first, ...others];
}
