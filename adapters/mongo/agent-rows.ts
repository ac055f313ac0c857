// Registrations, reported versions and counts of agents that were left out, as documents of MongoDB.
import type { Registration, Reported } from '../../src/agent/record.ts';
import { fromManifestJson, type ManifestJson, toManifestJson } from '../../src/event/record/json.ts';
import type { StoredManifest } from '../../src/event/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import { type Fenced, fromText, type Row, toText } from './form.ts';

export type AgentRow = Omit<Row<Registration>, 'tags' | 'manifest'> &
  Fenced & {
    readonly tags: string;
    readonly manifest: string | null;
  };

export type ReportRow = Reported & { readonly _id: string; readonly tenantId: string; readonly env: Env };

/** Agents of a tenant that were not registered in an hour. */
export interface LeftOutRow {
  readonly _id: string;
  readonly tenantId: string;
  readonly hour: number;
  readonly count: number;
}

/** The text of a manifest as documents keep it. */
export const manifestText = (manifest: StoredManifest | null): string | null =>
  toText(manifest && toManifestJson(manifest));

export function readManifest(text: string | null): StoredManifest | null {
  const json = fromText<ManifestJson>(text);
  return json && fromManifestJson(json);
}
