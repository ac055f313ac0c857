// Contracts written as code of the agent's own, beside those of the document: what they are given, and how they are
// asked.
import type { GuardMode } from '../record.ts';
import type { EvaluatedRecord, RecordType } from '../rules/evaluate/record.ts';
import type { Warning } from './call.ts';
import { denialIn, type HookAnswer, type HookCall } from './hook.ts';

/** Counters of the run, the attempt that is asked about included. */
export interface RunCounts {
  /** Calls of the run that were asked for, whether they ran or not. */
  readonly attempts: number;
  /** Calls of the run that were let through. */
  readonly executions: number;
}

interface CommonContract {
  /** As in a document: its name in records. */
  readonly id: string;
  /** A glob of tool names; default `*`. */
  readonly tool?: string;
  /** `observe`: a failure is recorded and the call goes on. Default `enforce`. */
  readonly mode?: GuardMode;
}

/**
 * A contract as code. `check` answers as a hook does: nothing or true passes; false or a reason fails. One that throws,
 * or answers anything else, fails.
 */
export type CodeContract =
  | (CommonContract & {
      readonly type: 'pre';
      readonly check: (call: HookCall) => HookAnswer | Promise<HookAnswer>;
    })
  | (CommonContract & {
      readonly type: 'session';
      readonly check: (call: HookCall, counts: RunCounts) => HookAnswer | Promise<HookAnswer>;
    })
  | (CommonContract & {
      readonly type: 'post';
      /** @param output the result's text; null when there is none. A failure warns: it changes no result. */
      readonly check: (call: HookCall, output: string | null) => HookAnswer | Promise<HookAnswer>;
    });

export type ContractType = CodeContract['type'];

const kinds: { readonly [type in ContractType]: { readonly record: RecordType; readonly error: string } } = {
  pre: { record: 'precondition', error: 'Precondition error' },
  session: { record: 'session_contract', error: 'Session contract error' },
  post: { record: 'postcondition', error: 'Postcondition error' },
};

/** The result of an evaluated contract. */
export interface Asked {
  readonly record: EvaluatedRecord;
  /** False for a failure that is only observed, and for a pass. */
  readonly refuses: boolean;
}

/** Asks one contract. Never rejects: a contract that throws has failed, with `policy_error`. */
export async function askContract(
  { id, type, mode = 'enforce' }: CodeContract,
  answer: () => HookAnswer | Promise<HookAnswer>,
): Promise<Asked> {
  const { record, error } = kinds[type];
  let message: string | null = null;
  let failure = false;
  try {
    message = denialIn(await answer(), `contract ${id}`);
  } catch (thrown) {
    failure = true;
    message = `${error}: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
  const passed = message === null;
  return {
    record: {
      name: id,
      type: record,
      passed,
      message,
      ...(!passed && mode === 'observe' ? { observed: true as const } : {}),
      ...(failure ? { metadata: { policy_error: true } } : {}),
    },
    refuses: !passed && mode === 'enforce',
  };
}

/** Results of the agent's own contracts after a call. */
export interface OwnAfter {
  readonly records: readonly EvaluatedRecord[];
  readonly warnings: readonly Warning[];
  readonly passed: boolean;
  readonly policyError: boolean;
}

/** Asks post contracts, all of them. */
export async function askAfter(
  contracts: readonly CodeContract[],
  call: HookCall,
  output: string | null,
): Promise<OwnAfter> {
  const records: EvaluatedRecord[] = [];
  const warnings: Warning[] = [];
  let passed = true;
  for (const contract of contracts) {
    const { record, refuses } = await askContract(contract, () =>
      contract.type === 'post' ? contract.check(call, output) : undefined,
    );
    records.push(record);
    if (record.passed) continue;
    passed &&= !refuses;
    const message = record.message ?? '';
    warnings.push({ contract: record.name, message: refuses ? message : `[observe] ${message}` });
  }
  const policyError = records.some((record) => record.metadata?.policy_error === true);
  return { records, warnings, passed, policyError };
}
