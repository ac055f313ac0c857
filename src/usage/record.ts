// Figures of coverage, and items that need a person's attention now.
import { z } from 'zod';
import type { Env } from '../shared/ids.ts';
import type { OperatorRole } from '../shared/principal.ts';
import { field, type RecordOf, record } from '../shared/record.ts';

const count = z.number().int();

/** Numbers of an agent's tools that a contract enforces, only observes, or none governs. */
const coverageFields = {
  total: field(count, { name: 'total_tools' }),
  enforced: field(count),
  observed: field(count),
  ungoverned: field(count),
  /** Whole percents that are enforced. */
  percent: field(count, { name: 'coverage_pct' }),
};
export type CoverageCounts = RecordOf<typeof coverageFields>;
export const coverageRecord = record('coverage', coverageFields);

export const attentionKinds = [
  'approval_deadline',
  'deny_spike',
  'out_of_date',
  'silent_agents',
  'cannot_load',
  'delivery_failing',
  'key_expiring',
  'tool_waits',
  'store',
] as const;

export interface AttentionItem {
  readonly kind: (typeof attentionKinds)[number];
  readonly severity: 'high' | 'medium';
  /** Null: of all environments. */
  readonly env: Env | null;
  readonly subject: {
    readonly type:
      | 'approval'
      | 'contract'
      | 'bundle'
      | 'channel'
      | 'key'
      | 'service_account'
      | 'server'
      | 'environment'
      | 'store';
    readonly id: string;
    readonly name: string;
  };
  /** Epoch milliseconds; null: unknown. */
  readonly since: number | null;
  /** Epoch milliseconds of the moment after which it is too late; null: none. */
  readonly deadline: number | null;
  readonly count: number;
  readonly facts: { readonly [name: string]: string | number | null };
  /** The role that may read the subject. */
  readonly role: OperatorRole;
}
