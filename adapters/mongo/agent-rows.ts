// Registrations, reported versions and counts of agents that were left out, as documents of MongoDB.
import type { Registration, Reported } from '../../src/domain/agent.ts';
import type { Env } from '../../src/domain/ids.ts';
import type { Fenced, Row } from './form.ts';

export type AgentRow = Omit<Row<Registration>, 'tags' | 'manifest' | 'retiredAt'> &
  Fenced & {
    readonly tags: string;
    readonly manifest: string | null;
    /** Absent in what earlier versions stored. */
    readonly retiredAt?: number | null;
  };

export type ReportRow = Reported & { readonly _id: string; readonly tenantId: string; readonly env: Env };

/** Agents of a tenant that were not registered in an hour. */
export interface LeftOutRow {
  readonly _id: string;
  readonly tenantId: string;
  readonly hour: number;
  readonly count: number;
}
