// Lines of a tenant file, and the first and last of them.
import { HubError } from '../../shared/error.ts';
import type { MovedRecords } from '../../shared/ports/moved-records.ts';
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

/** A line with a record of the tenant, or the end of the file. @throws HubError unprocessable */
export function readLine(text: string, tenantId: string): FileLine | { readonly end: FileEnd } {
  const line = JSON.parse(text) as Partial<FileLine> & { readonly end?: FileEnd };
  if (line.end) return { end: line.end };
  if (line.kind === undefined || !kinds.has(line.kind)) throw unreadable();
  if ((line.record as { readonly tenantId?: unknown } | undefined)?.tenantId !== tenantId) throw unreadable();
  return line as FileLine;
}
