// Exports by cursor in the console API's words: cursors are sealed for their tenant and kind.
import type { z } from 'zod';
import { type Caller, Reply, type Request } from '../../http/contract/call.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { HubError } from '../../shared/error.ts';
import type { ExportKind, ExportRecord } from '../record.ts';
import type { ExportCursor } from '../use-cases.ts';
import { cloudEvent } from './cloud-events.ts';
import { nativeLine } from './native.ts';
import { ocsfEvent } from './ocsf.ts';
import type { ExportFormat, exportRoutes } from './routes.ts';

type PersonCaller = Extract<Caller, { kind: 'user' | 'hostedOperator' }>;
type ExportQuery = z.output<(typeof exportRoutes)['exportEventLines']['query']>;

const textOf = ({ place, removed }: ExportCursor): string => `${removed} ${place}`;

function cursorIn(text: string): ExportCursor {
  const [removed = '0', place = ''] = text.split(' ');
  return { place, removed: Number(removed) };
}

async function readLines(
  hub: Hub,
  kind: ExportKind,
  query: ExportQuery,
  caller: PersonCaller,
  { recheckCaller: recheckReader }: Pick<Request, 'recheckCaller'>,
): Promise<Reply<string>> {
  const { tenantId } = caller;
  const { format, limit, wait } = query;
  const scope = { tenantId, list: `export-${kind}` } as const;
  const seal = (cursor: ExportCursor): string => sealCursor(hub, scope, textOf(cursor));
  const after = query.after === undefined ? null : cursorIn(openCursor(hub, scope, query.after));
  const request = { kind, format, after, limit, waitMs: wait * 1000, recheckReader };
  const answer = await hub.app.exports.list(principalOf(caller), request);
  if (answer.isExpired) {
    throw new HubError(
      'cursor_expired',
      'Lines behind this cursor were removed by retention. Continue with oldest_cursor, which leaves them out.',
      { members: { oldest_cursor: seal(answer.oldest), lines_removed: answer.removed } },
    );
  }
  const context = { tenantId, version: hub.settings.version };
  const body = answer.lines.map(
    (line) => `${JSON.stringify(shape(line, seal(line.cursor), format, context))}\n`,
  );
  const headers: { [name: string]: string } = { 'X-Search-Complete': String(answer.isComplete) };
  if (answer.next !== null) headers['X-Next-Cursor'] = seal(answer.next);
  return new Reply(body.join(''), { headers });
}

function shape(
  record: ExportRecord,
  cursor: string,
  format: ExportFormat,
  { tenantId, version }: { readonly tenantId: string; readonly version: string },
): object {
  if (format === 'native') return nativeLine(record, cursor);
  if (format === 'ocsf') return ocsfEvent(record, { cursor, tenantId, version });
  return cloudEvent(record, cursor, tenantId);
}

export const exports: Handlers<typeof exportRoutes> = {
  exportEventLines: (hub, { query }, caller, request) => readLines(hub, 'events', query, caller, request),
  exportApprovalLines: (hub, { query }, caller, request) =>
    readLines(hub, 'approvals', query, caller, request),
  exportAuditLines: (hub, { query }, caller, request) => readLines(hub, 'audit', query, caller, request),
};
