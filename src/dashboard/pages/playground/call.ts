// A call as the playground's form holds it, and the cases that are kept of it: in and out as the YAML that `reeve-agent
// test` reads.
import type { CompiledBundle } from '../../../../packages/agent/src/rules/evaluate/compile.ts';
import {
  type Case,
  type CaseResult,
  readCases,
  runCase,
} from '../../../../packages/agent/src/rules/testing/cases.ts';
import { stringifyYaml } from '../../../../packages/agent/src/rules/yaml.ts';
import { ownKey, readStored, writeStored } from '../../lib/prefs.ts';

export interface Call {
  readonly tool: string;
  readonly args: string;
  readonly environment: string;
  readonly role: string;
  readonly user: string;
  readonly output: string;
}

/** What is kept: all that a file of cases can say, so that none of it is lost on the way through. */
export type Kept = Omit<Case, 'line'>;

export const firstCall: Call = {
  tool: 'read_file',
  args: '{\n  "path": "/srv/app/.env"\n}',
  environment: 'production',
  role: '',
  user: '',
  output: '',
};

export type Parsed =
  | { readonly ok: true; readonly value: { readonly [name: string]: unknown } }
  | { readonly ok: false; readonly why: string };

export function parseArgs(text: string): Parsed {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? { ok: true, value: value as { [name: string]: unknown } }
      : { ok: false, why: 'Arguments are a JSON object.' };
  } catch (error) {
    return { ok: false, why: `Not JSON yet: ${(error as Error).message}` };
  }
}

const word = (value: unknown): string => (typeof value === 'string' ? value : '');

export const callOf = ({ call, output }: Kept): Call => ({
  tool: call.tool,
  args: JSON.stringify(call.args, null, 2),
  environment: call.environment ?? firstCall.environment,
  role: word(call.principal?.role),
  user: word(call.principal?.user_id),
  output: output === undefined ? '' : typeof output === 'string' ? output : JSON.stringify(output),
});

/** @param args what `call.args` says */
export function keptOf(
  name: string,
  call: Call,
  args: { readonly [name: string]: unknown },
  expect: Kept['expect'],
): Kept {
  const principal = {
    ...(call.role === '' ? {} : { role: call.role }),
    ...(call.user === '' ? {} : { user_id: call.user }),
  };
  return {
    name,
    call: {
      tool: call.tool,
      args,
      environment: call.environment,
      principal: call.role === '' && call.user === '' ? null : principal,
      metadata: {},
    },
    ...(call.output === '' ? {} : { output: call.output }),
    expect,
  };
}

export function readKept(): readonly Kept[] {
  try {
    const stored: unknown = JSON.parse(readStored(ownKey('cases')) ?? '[]');
    const isKept = (one: Partial<Kept> | null): boolean =>
      typeof one?.name === 'string' && typeof one.call?.tool === 'string' && one.expect !== undefined;
    return Array.isArray(stored) ? stored.filter(isKept) : [];
  } catch {
    return [];
  }
}

export const writeKept = (cases: readonly Kept[]): void =>
  writeStored(ownKey('cases'), JSON.stringify(cases));

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0);

/** A file for `reeve-agent test`, beside the document that it names. */
export const casesText = (document: string, cases: readonly Kept[]): string =>
  stringifyYaml({
    contracts: document,
    cases: cases.map(({ name, call, output, session, expect }) => ({
      name,
      call: Object.fromEntries(Object.entries(call).filter(([, value]) => !isEmpty(value))),
      ...(output === undefined ? {} : { output }),
      ...(session === undefined
        ? {}
        : {
            // What is read counts this call as an attempt as well.
            session: {
              attempts: session.attempts - 1,
              calls: session.executions,
              calls_of_tool: session.toolExecutions,
            },
          }),
      expect,
    })),
  });

/** @throws Error with the place of what is wrong */
export const readCaseFile = (text: string): readonly Kept[] =>
  readCases(text).cases.map(({ line: _, ...kept }) => kept);

/** Whether a case comes out as it should, by a document. */
export const runKept = (bundle: CompiledBundle, kept: Kept): CaseResult =>
  runCase(bundle, { ...kept, line: 0 });
