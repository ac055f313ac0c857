// `reeve export`, `reeve diff` and `reeve apply`: a hub's contracts, compositions, bundles, rules, tool settings and
// deployments as a folder of files.

import { parseArgs } from 'node:util';
import { snakeKeys } from '../../shared/snake-keys.ts';
import { check, compare, confirm, countOf, lineOf, makeSteps } from '../as-code/apply.ts';
import { connect, type HubConnection } from '../as-code/connection.ts';
import { filesOf, writeFiles } from '../as-code/export.ts';
import { refuseProblems } from '../as-code/files.ts';
import { readFolder } from '../as-code/folder.ts';
import { readHub } from '../as-code/hub-state.ts';
import { planOf, readPlan, requirePlanned, writePlan } from '../as-code/plan.ts';
import type { ApplyStep } from '../as-code/steps.ts';
import { readClientVariables } from '../config.ts';
import { answer, say, UsageError } from './output.ts';

const shared = `  --allow-insecure  allow plain http to another machine
  --json            print the result or the error as JSON
  --help            print this text

Settings: REEVE_URL (the hub), REEVE_TOKEN (token of a service account).
`;

const exportHelp = `reeve export DIR [--json]

Writes the hub's contracts, compositions, bundles, assignment rules, tool settings and deployments as files into DIR.
Files that have the same content stay as they are; files of an earlier export whose thing is gone are removed.

${shared}
Exit code: 0 done, 1 refused, 2 wrong usage.
`;

const diffHelp = `reeve diff DIR [--plan FILE] [--json]

Lists what reeve apply would change on the hub, and changes nothing.

  --plan FILE       write the changes, and what was read of the hub, for reeve apply --plan
${shared}
Exit code: 0 nothing to change, 1 refused, 2 wrong usage, 4 changes.
`;

const applyHelp = `reeve apply DIR [--plan FILE] [--prune] [--yes] [--json]

Makes the hub equal to the files in DIR. Deployments come last. A run that was cut off is finished by the next one.

  --plan FILE       make the changes of this plan and no others
  --prune           also delete and undeploy what DIR does not contain
  --yes             do not ask; needed without a terminal
${shared}
Exit code: 0 done or nothing to do, 1 refused, 2 wrong usage, 3 the hub changed since the plan or while this ran.
`;

interface Request {
  readonly connection: HubConnection;
  readonly folder: string;
  readonly plan: string | null;
  readonly prunes: boolean;
  readonly isConfirmed: boolean;
}

interface Usage {
  readonly word: string;
  readonly help: string;
  readonly options: readonly ('plan' | 'prune' | 'yes')[];
}

/** Exit code of a diff that found something. */
const changesFound = 4;

type Result = Awaited<ReturnType<Parameters<typeof answer>[1]>>;

async function command(
  args: readonly string[],
  { word, help, options }: Usage,
  task: (request: Request) => Promise<Result>,
): Promise<void> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args, options);
  } catch (error) {
    throw new UsageError(`${(error as Error).message} See reeve ${word} --help.`);
  }
  const { values, positionals } = parsed;
  await answer({ help: values.help ? help : null, json: values.json === true }, () => {
    const [folder, ...more] = positionals;
    if (folder === undefined || more.length > 0)
      throw new UsageError(
        `The command takes one folder, not ${positionals.length}. See reeve ${word} --help.`,
      );
    if (values.plan === '') throw new UsageError('--plan needs a file.');
    return task({
      connection: connect(readClientVariables(), values['allow-insecure'] === true),
      folder,
      plan: values.plan ?? null,
      prunes: values.prune === true,
      isConfirmed: values.yes === true,
    });
  });
}

const parse = (args: readonly string[], options: Usage['options']) =>
  parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      'allow-insecure': { type: 'boolean' },
      ...Object.fromEntries(
        options.map((name) => [name, { type: name === 'plan' ? ('string' as const) : ('boolean' as const) }]),
      ),
    },
  }) as {
    values: {
      json?: boolean;
      help?: boolean;
      plan?: string;
      prune?: boolean;
      yes?: boolean;
      'allow-insecure'?: boolean;
    };
    positionals: string[];
  };

const render = (steps: readonly ApplyStep[]) =>
  steps.map(({ action, key, isPruning }) => snakeKeys({ action, thing: key, onlyWithPrune: isPruning }));

export const exportFolder = (args: readonly string[]): Promise<void> =>
  command(args, { word: 'export', help: exportHelp, options: [] }, async ({ connection, folder }) => {
    const report = (what: string): void => say(`Reading ${what} …`);
    const hub = await readHub(connection, report);
    const result = writeFiles(folder, await filesOf(connection, hub, report), hub);
    const { files, written, removed } = result;
    return {
      result: { files, written, removed },
      words: [`${files} files in ${folder}: ${written} written, ${removed.length} removed.`],
    };
  });

export const diff = (args: readonly string[]): Promise<void> =>
  command(args, { word: 'diff', help: diffHelp, options: ['plan'] }, async (request) => {
    const { connection, plan } = request;
    const folder = readFolder(request.folder);
    const comparison = await compare(connection, folder, false);
    const { hub, steps } = comparison;
    const changes = steps.filter(({ isPruning }) => !isPruning);
    // A caller without the right to apply may still read the differences.
    const notes = [...comparison.notes, ...check(folder, comparison, changes)];
    if (plan !== null) writePlan(plan, planOf(connection.url, folder, hub, steps));
    for (const note of notes) say(note);
    if (steps.length > 0) process.exitCode = changesFound;
    const words = steps.map((step) => `${lineOf(step)}${step.isPruning ? ', with --prune' : ''}`);
    return {
      result: { hub: connection.url, tenantId: hub.tenantId, changes: render(steps), notes },
      words: steps.length === 0 ? ['Nothing to change.'] : words,
    };
  });

export const apply = (args: readonly string[]): Promise<void> =>
  command(args, { word: 'apply', help: applyHelp, options: ['plan', 'prune', 'yes'] }, async (request) => {
    const { connection, prunes } = request;
    const plan = request.plan === null ? null : readPlan(request.plan);
    const folder = readFolder(request.folder);
    const comparison = await compare(connection, folder, prunes);
    const { hub, steps: all, notes } = comparison;
    const steps = all.filter(({ isPruning }) => prunes || !isPruning);
    if (plan) requirePlanned(plan, connection.url, folder, hub, steps);
    refuseProblems(check(folder, comparison, steps));
    for (const note of notes) say(note);
    const result = { hub: connection.url, tenantId: hub.tenantId, changes: render(steps), notes };
    if (steps.length === 0) return { result, words: ['Nothing to change.'] };
    if (!request.isConfirmed) await confirm(steps);
    await makeSteps(connection, hub, steps);
    return { result, words: [`${countOf(steps)} made.`] };
  });
