// Makes the steps of a folder, in order, each on the state that was read.
import { createInterface } from 'node:readline/promises';
import { HubError } from '../../shared/error.ts';
import { say } from '../commands/output.ts';
import { type Changes, changesOf } from './changes.ts';
import { problemsOf, rightsProblemsOf } from './checks.ts';
import type { HubConnection } from './connection.ts';
import type { Desired } from './desired.ts';
import { type FileProblem, refuseProblems } from './files.ts';
import type { Folder } from './folder.ts';
import { type HubState, previewOf, readHub } from './hub-state.ts';
import { actionWords } from './plan.ts';
import { type ApplyStep, newRun } from './steps.ts';

export interface Comparison extends Changes {
  readonly hub: HubState;
  readonly desired: Desired;
}

/** @throws HubError unprocessable where the folder names what is nowhere */
export async function compare(
  connection: HubConnection,
  folder: Folder,
  prunes: boolean,
): Promise<Comparison> {
  const hub = await readHub(connection, (what) => say(`Reading ${what} …`));
  const previews = new Map<string, Promise<string | null>>();
  const preview = (name: string): Promise<string | null> => {
    const hash =
      previews.get(name) ?? previewOf(connection, name).then((previewed) => previewed?.hash ?? null);
    previews.set(name, hash);
    return hash;
  };
  const problems: FileProblem[] = [];
  const changes = await changesOf(folder, hub, { prunes, preview }, problems);
  refuseProblems(problems);
  return { hub, ...changes };
}

/**
 * Returns a line for each step that the token may not make.
 * @throws HubError unprocessable with every reason why nobody can make the steps
 */
export function check(
  folder: Folder,
  { hub, desired }: Comparison,
  steps: readonly ApplyStep[],
): readonly FileProblem[] {
  const subject = { folder, hub, desired, steps };
  refuseProblems(problemsOf(subject));
  return rightsProblemsOf(subject);
}

export const countOf = (steps: readonly ApplyStep[]): string =>
  steps.length === 1 ? '1 change' : `${steps.length} changes`;

export const lineOf = ({ action, key, note }: ApplyStep): string =>
  `${actionWords[action]} ${key}${note === '' ? '' : ` (${note})`}`;

/** Asks in a terminal. @throws HubError conflict without one, or without a yes */
export async function confirm(steps: readonly ApplyStep[]): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new HubError(
      'conflict',
      'Nothing was changed, because nobody confirmed the changes. Add --yes, or run the command in a terminal.',
    );
  }
  for (const step of steps) say(lineOf(step));
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`Make ${countOf(steps)}? [y/N] `);
    if (/^y(?:es)?$/i.test(answer.trim())) return;
  } finally {
    terminal.close();
  }
  throw new HubError('conflict', 'Nothing was changed.');
}

/** @throws HubError with how far it came: the next run does the rest */
export async function makeSteps(
  connection: HubConnection,
  hub: HubState,
  steps: readonly ApplyStep[],
): Promise<void> {
  const run = newRun(connection, hub);
  for (const [i, step] of steps.entries()) {
    say(`[${i + 1}/${steps.length}] ${lineOf(step)}`);
    try {
      await step.run(run);
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      const code = error.code === 'not_found' && step.action !== 'deploy' ? 'changed' : error.code;
      const done = `${i} of ${steps.length} changes were made; run the command again to make the rest`;
      throw new HubError(code, `${lineOf(step)}: ${error.message} (${done})`);
    }
  }
}
