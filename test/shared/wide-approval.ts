// The record of an approval with one more field: the declaration alone changes.
import { z } from 'zod';
import { approvalFields } from '../../src/approval/record.ts';
import { field, type RecordOf, record } from '../../src/shared/record.ts';
import { anApproval } from '../conformance/fixtures.ts';

const fields = { ...approvalFields, costCentre: field(z.string().nullable()) };
export type WideApproval = RecordOf<typeof fields>;

export const wideApprovalRecord = record('approvals', fields);
export const aWideApproval = (costCentre: string | null = 'K7'): WideApproval => ({
  ...anApproval(),
  costCentre,
});
