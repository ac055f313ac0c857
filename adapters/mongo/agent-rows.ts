// Registrations, reported versions and counts of agents that were left out, as documents of MongoDB.
import type { registrationRecord, StoredReport } from '../../src/agent/record.ts';
import type { Fenced } from './form.ts';

export type AgentRow = ReturnType<typeof registrationRecord.toDocument> & Fenced;

export type ReportRow = StoredReport & { readonly _id: string };

/** Agents of a tenant that were not registered in an hour. */
export interface LeftOutRow {
  readonly _id: string;
  readonly tenantId: string;
  readonly hour: number;
  readonly count: number;
}
