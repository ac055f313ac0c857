// Lines of a tenant file, and the first and last of them.
import {
  type EventJson,
  fromEventJson,
  fromManifestJson,
  fromOutcomeJson,
  type ManifestJson,
  type OutcomeJson,
  toEventJson,
  toManifestJson,
  toOutcomeJson,
} from '../../event/record/json.ts';
import { HubError } from '../../shared/error.ts';
import { canonicalJson } from '../../shared/json/canonical.ts';
import type { MovedEvent, MovedRecords } from '../../shared/ports/moved-records.ts';
import { camelKeys, snakeKeys } from '../../shared/snake-keys.ts';
import { type TenantFileKind, tenantFileKinds } from '../rules/file-kinds.ts';
import type { LineDigests } from '../rules/file-records.ts';

export const fileFormat = 'reeve-tenant/1';

/** The only line of the first part. */
export interface FileHead {
  readonly format: string;
  readonly id: string;
  readonly version: string;
  readonly exportedAt: string;
  readonly salt: string;
  readonly tenant: {
    readonly id: string;
    readonly name: string;
    readonly createdAt: number;
    readonly suspendedAt: number | null;
  };
}

/** The only line of the last part. */
export interface FileEnd {
  readonly parts: number;
  readonly kinds: LineDigests;
}

export interface FileLine<K extends TenantFileKind = TenantFileKind> {
  readonly kind: K;
  readonly record: MovedRecords[K];
}

const kinds: ReadonlySet<string> = new Set(tenantFileKinds);

export const unreadable = (): HubError =>
  new HubError(
    'unprocessable',
    'This part of the file cannot be read. A newer version of the hub may have written it.',
  );

export const headText = ({ tenant, ...head }: FileHead): string =>
  JSON.stringify(snakeKeys({ ...head, tenant: snakeKeys(tenant) }));

export function readHead(text: string): FileHead {
  const { tenant, ...head } = camelKeys(JSON.parse(text) as FileHead);
  if (head.format === fileFormat) return { ...head, tenant: camelKeys(tenant) };
  throw new HubError(
    'unprocessable',
    `The file has the format ${String(head.format)}; this hub reads ${fileFormat}. Use a newer version of the hub.`,
  );
}

type AgentRecord = MovedRecords['agents'];
type AgentJson = Omit<AgentRecord, 'manifest'> & { readonly manifest: ManifestJson | null };
type PlaceField = 'id' | 'seq' | 'env' | 'createdAt' | 'sample' | 'tenantId' | 'outcomeIds';
type MovedEventJson = Pick<MovedEvent, PlaceField> &
  EventJson & { readonly outcomes: readonly OutcomeJson[] };

function toMovedEventJson(event: MovedEvent): object {
  const { id, seq, env, createdAt, sample, tenantId, outcomeIds } = event;
  return {
    ...{ id, seq, env, createdAt, sample, tenantId, outcomeIds },
    ...toEventJson(event),
    outcomes: event.outcomes.map(toOutcomeJson),
  };
}

function fromMovedEventJson(json: MovedEventJson): MovedEvent {
  const { id, seq, env, createdAt, sample, tenantId, outcomeIds } = json;
  return {
    ...fromEventJson(json),
    ...{ id, seq, env, createdAt, tenantId, outcomeIds },
    ...(sample ? { sample } : {}),
    outcomes: json.outcomes.map(fromOutcomeJson),
  };
}

const toAgentJson = ({ manifest, ...agent }: AgentRecord): AgentJson => ({
  ...agent,
  manifest: manifest && toManifestJson(manifest),
});

const fromAgentJson = ({ manifest, ...agent }: AgentJson): AgentRecord => ({
  ...agent,
  manifest: manifest && fromManifestJson(manifest),
});

/** The line of a record. */
export function writeLine<K extends TenantFileKind>(kind: K, record: MovedRecords[K]): string {
  if (kind === 'events') return canonicalJson({ kind, record: toMovedEventJson(record as MovedEvent) });
  if (kind === 'agents') return canonicalJson({ kind, record: toAgentJson(record as AgentRecord) });
  return canonicalJson({ kind, record });
}

function toFileLine({ kind, record }: { readonly kind: TenantFileKind; readonly record: unknown }): FileLine {
  if (kind === 'events') return { kind, record: fromMovedEventJson(record as MovedEventJson) };
  if (kind === 'agents') return { kind, record: fromAgentJson(record as AgentJson) };
  return { kind, record } as FileLine;
}

/** A line with a record of the tenant, or the end of the file. @throws HubError unprocessable */
export function readLine(text: string, tenantId: string): FileLine | { readonly end: FileEnd } {
  const line = JSON.parse(text) as Partial<FileLine> & { readonly end?: FileEnd };
  if (line.end) return { end: line.end };
  if (line.kind === undefined || !kinds.has(line.kind)) throw unreadable();
  if ((line.record as { readonly tenantId?: unknown } | undefined)?.tenantId !== tenantId) throw unreadable();
  return toFileLine({ kind: line.kind, record: line.record });
}
