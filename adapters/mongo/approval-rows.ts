// How an approval is written in MongoDB: one document each, its large arguments apart.

import type { ApprovalPlace } from '../../src/approval/port.ts';
import type { Approval, AskingContract } from '../../src/approval/record.ts';
import type { ApprovalChange } from '../../src/export/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import { fromRow, fromText, type Row, toRow, toText } from './form.ts';

export type ApprovalRow = Omit<Row<Approval>, 'toolArgs' | 'argsBytes' | keyof Names | keyof Context> &
  Partial<Names> & {
    /** Null when they are kept apart. */
    readonly toolArgs: string | null;
    /** Absent in what earlier versions stored. */
    readonly context?: Context;
    /** Absent in rows of before arguments were kept apart. */
    readonly argsBytes?: number;
    readonly arrival: string;
    /** Since when it waits to be announced; absent once it was. */
    readonly unannouncedAt?: number;
    /** The decision that won. */
    readonly decisionId?: string;
    /** Changes that exports do not contain yet. */
    readonly unlined?: readonly ApprovalChange[];
    /** The bulk write that timed it out. */
    readonly timedOutBy?: string;
  };

/** Absent in what earlier versions stored. */
type Names = Pick<Approval, 'rulesetName' | 'decidedBySubject' | 'assignee'>;

/** What an approval knows of its call besides. JSON as text. */
interface Context {
  readonly contracts: string | null;
  readonly principal: string | null;
  readonly sessionId: string | null;
  readonly callId: string | null;
}

const noContext: Context = { contracts: null, principal: null, sessionId: null, callId: null };

/** Arguments that are kept apart; `_id` is their approval's. */
export interface ArgsRow {
  readonly _id: string;
  readonly tenantId: string;
  readonly env: Env;
  /** Absent in rows of earlier versions. */
  readonly keyId?: string | null;
  readonly bytes: number;
  readonly createdAt: number;
  readonly json: string;
}

export function approvalOf({
  arrival: _arrival,
  unannouncedAt: _unannouncedAt,
  timedOutBy: _bulk,
  unlined: _unlined,
  decisionId: _decision,
  toolArgs,
  argsBytes = Buffer.byteLength(toolArgs ?? ''),
  context: { contracts, principal, ...context } = noContext,
  rulesetName = null,
  decidedBySubject = null,
  assignee = null,
  ...rest
}: ApprovalRow): Approval {
  return fromRow<Approval>({
    ...rest,
    rulesetName,
    decidedBySubject,
    assignee,
    ...context,
    contracts: fromText<readonly AskingContract[]>(contracts),
    principal: fromText(principal),
    toolArgs: fromText(toolArgs),
    argsBytes,
  });
}

export function rowOf(approval: Approval, arrival: string): ApprovalRow {
  const { contracts, principal, sessionId, callId, toolArgs, ...rest } = approval;
  const context = { contracts: toText(contracts), principal: toText(principal), sessionId, callId };
  const unannouncedAt = approval.createdAt;
  const unlined = ['requested'] as const;
  return { ...toRow(rest), toolArgs: toText(toolArgs), context, arrival, unannouncedAt, unlined };
}

export const placeOf = ({ _id, tenantId, env }: ApprovalRow): ApprovalPlace => ({ tenantId, env, id: _id });
