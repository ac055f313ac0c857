// The form's state of a call in the playground, and cases, which are exported and imported as YAML for
// `reeve-agent test`.
import type { Principal, ToolCall } from '../../../../packages/agent/src/rules/evaluate/call.ts';
import type { CompiledBundle } from '../../../../packages/agent/src/rules/evaluate/compile.ts';
import type { Counters } from '../../../../packages/agent/src/rules/evaluate/limits.ts';
import {
  type Case,
  type CaseResult,
  readCases,
  runCase,
} from '../../../../packages/agent/src/rules/testing/cases.ts';
import { stringifyYaml } from '../../../../packages/agent/src/rules/yaml.ts';

/** A saved case, with everything that a file of cases can contain, so that an import and export loses nothing. */
export type Kept = Omit<Case, 'line'>;

export const firstCall = {
  tool: 'read_file',
  args: '{\n  "path": "/srv/app/.env"\n}',
  environment: 'production',
  role: '',
  user: '',
  service: '',
  org: '',
  ticket: '',
  /** JSON like `args`; empty for none. */
  claims: '',
  metadata: '',
  cwd: '',
  output: '',
  /** Counters of the session before this call. If all are empty, session contracts and limits are not evaluated. */
  attempts: '',
  calls: '',
  callsOfTool: '',
};

/** The texts in the fields of the form. */
export type Call = { readonly [F in keyof typeof firstCall]: string };

/** The form's content as the engine's input. */
export interface ReadCall {
  readonly call: ToolCall;
  /** Undefined: post contracts are not evaluated. */
  readonly output?: string;
  /** Counters including this attempt, as the engine needs them. */
  readonly session?: Counters;
}

export type Parsed =
  | { readonly ok: true; readonly value: ReadCall }
  | { readonly ok: false; readonly field: keyof Call; readonly why: string };

class Unread extends Error {
  readonly field: keyof Call;
  constructor(field: keyof Call, why: string) {
    super(why);
    this.field = field;
  }
}

/** Null for an empty field. */
function mappingOf(call: Call, field: 'args' | 'claims' | 'metadata'): { [name: string]: unknown } | null {
  const text = call[field].trim();
  if (text === '') return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Unread(field, `The text is not valid JSON: ${(error as Error).message}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as { [name: string]: unknown };
  throw new Unread(field, 'Enter a JSON object, in { and }.');
}

const maxCount = 1_000_000_000;

/** Undefined for an empty field. */
function countOf(call: Call, field: 'attempts' | 'calls' | 'callsOfTool'): number | undefined {
  const text = call[field].trim();
  if (text === '') return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0 && value <= maxCount) return value;
  throw new Unread(field, 'Enter a whole number, 0 or more.');
}

function principalOf(call: Call): Principal | null {
  const claims = mappingOf(call, 'claims');
  const { role, user: user_id, service: service_id, org: org_id, ticket: ticket_ref } = call;
  const texts = Object.entries({ role, user_id, service_id, org_id, ticket_ref });
  const fields = texts.filter(([, text]) => text !== '');
  if (fields.length === 0 && claims === null) return null;
  return { ...Object.fromEntries(fields), ...(claims === null ? {} : { claims }) };
}

function sessionOf(call: Call): Counters | undefined {
  const attempts = countOf(call, 'attempts');
  const calls = countOf(call, 'calls');
  const ofTool = countOf(call, 'callsOfTool');
  if (attempts === undefined && calls === undefined && ofTool === undefined) return undefined;
  const executions = calls ?? ofTool ?? 0;
  return { attempts: (attempts ?? executions) + 1, executions, toolExecutions: ofTool ?? 0 };
}

/** Parses the form, or returns the first invalid field. */
export function readCall(call: Call): Parsed {
  try {
    const session = sessionOf(call);
    return {
      ok: true,
      value: {
        call: {
          tool: call.tool,
          args: mappingOf(call, 'args') ?? {},
          environment: call.environment,
          principal: principalOf(call),
          metadata: mappingOf(call, 'metadata') ?? {},
          ...(call.cwd.trim() === '' ? {} : { cwd: call.cwd.trim() }),
        },
        ...(call.output === '' ? {} : { output: call.output }),
        ...(session ? { session } : {}),
      },
    };
  } catch (error) {
    if (error instanceof Unread) return { ok: false, field: error.field, why: error.message };
    throw error;
  }
}

/** Empty for another value than a text. */
const word = (value: unknown): string => (typeof value === 'string' ? value : '');

const jsonText = (value: unknown): string => (isEmpty(value) ? '' : JSON.stringify(value, null, 2));

/** The form's fields of a principal, as a case or an event contains it. */
export const principalFields = (principal: { readonly [F in keyof Principal]: unknown }) => ({
  role: word(principal.role),
  user: word(principal.user_id),
  service: word(principal.service_id),
  org: word(principal.org_id),
  ticket: word(principal.ticket_ref),
  claims: jsonText(principal.claims),
});

export const callOf = ({ call, output, session }: Kept): Call => ({
  tool: call.tool,
  args: JSON.stringify(call.args, null, 2),
  environment: call.environment ?? firstCall.environment,
  ...principalFields(call.principal ?? {}),
  metadata: jsonText(call.metadata),
  cwd: call.cwd ?? '',
  output: output === undefined ? '' : typeof output === 'string' ? output : JSON.stringify(output),
  // A saved case includes this call in the attempts.
  attempts: session === undefined ? '' : String(session.attempts - 1),
  calls: session === undefined ? '' : String(session.executions),
  callsOfTool: session === undefined ? '' : String(session.toolExecutions),
});

export const keptOf = (name: string, read: ReadCall, expect: Kept['expect']): Kept => ({
  name,
  ...read,
  expect,
});

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0);

/** The session before the call. Case files and the hub add the call to the attempts themselves. */
export const earlierCalls = ({ attempts, executions, toolExecutions }: Counters) => ({
  attempts: attempts - 1,
  calls: executions,
  calls_of_tool: toolExecutions,
});

/** A file for `reeve-agent test`. It refers to a document beside it. */
export const casesText = (document: string, cases: readonly Kept[]): string =>
  stringifyYaml({
    contracts: document,
    cases: cases.map(({ name, call, output, session, expect }) => ({
      name,
      call: Object.fromEntries(Object.entries(call).filter(([, value]) => !isEmpty(value))),
      ...(output === undefined ? {} : { output }),
      ...(session === undefined ? {} : { session: earlierCalls(session) }),
      expect,
    })),
  });

/** @throws Error with the position of the fault */
export const readCaseFile = (text: string): readonly Kept[] =>
  readCases(text).cases.map(({ line: _, ...kept }) => kept);

/** True if a document gives the expected result for a case. */
export const runKept = (bundle: CompiledBundle, kept: Kept): CaseResult =>
  runCase(bundle, { ...kept, line: 0 });
