// How an approval is written in MongoDB: one document each, its large arguments apart.

import type { ApprovalPlace } from '../../src/approval/port.ts';
import { type Approval, approvalRecord, type argsRecord } from '../../src/approval/record.ts';
import type { ApprovalChange } from '../../src/export/record.ts';

type ApprovalDocument = ReturnType<typeof approvalRecord.toDocument>;

export type ApprovalRow = Omit<ApprovalDocument, keyof Context> & {
  readonly context: Context;
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

/** Further fields of an approval about its call. */
type Context = Pick<ApprovalDocument, 'contracts' | 'principal' | 'sessionId' | 'callId'>;

export type ArgsRow = ReturnType<typeof argsRecord.toDocument>;

export const approvalOf = ({ context, ...row }: ApprovalRow): Approval =>
  approvalRecord.fromDocument({ ...row, ...context });

export function rowOf(approval: Approval, arrival: string): ApprovalRow {
  const { contracts, principal, sessionId, callId, ...rest } = approvalRecord.toDocument(approval);
  const context = { contracts, principal, sessionId, callId };
  return { ...rest, context, arrival, unannouncedAt: approval.createdAt, unlined: ['requested'] };
}

export const placeOf = ({ _id, tenantId, env }: ApprovalRow): ApprovalPlace => ({ tenantId, env, id: _id });
