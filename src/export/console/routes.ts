// Routes of exports by cursor.
import { z } from 'zod';
import { intQuery, text } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

export const exportFormats = ['native', 'ocsf', 'cloudevents'] as const;
export type ExportFormat = (typeof exportFormats)[number];

const query = z.object({
  /** The cursor of a line: what came after it. Absent: from the oldest line. */
  after: text(1024, 1).optional(),
  /** Lines at most; fewer if they are large. */
  limit: intQuery(1, 1_000).default(500),
  /** Seconds to wait for the first line. */
  wait: intQuery(0, 30).default(0),
  format: z.enum(exportFormats).default('native'),
});

/** Fields that the routes of all kinds share. */
const shared = {
  method: 'GET',
  auth: ['cookie', 'operatorJwt'],
  tag: 'exports',
  query,
  status: 200,
  media: 'application/x-ndjson',
  download: true,
} as const;

export const exportRoutes = routes({
  exportEventLines: {
    ...shared,
    path: '/api/v1/exports/events',
    role: 'viewer',
    envs: 'record',
    summary:
      'Events and their later outcomes in the order of commits, an NDJSON line each with its cursor. A client that reads on ' +
      'from any line gets each later line once. X-Next-Cursor is behind the last line; X-Search-Complete is true ' +
      'only if no later line is stored',
    errors: ['bad_request', 'forbidden', 'cursor_expired', 'validation_failed', 'rate_limited'],
  },
  exportApprovalLines: {
    ...shared,
    path: '/api/v1/exports/approvals',
    role: 'viewer',
    envs: 'record',
    summary: 'Requests, decisions and timeouts of approvals in the order of commits, as exports/events',
    errors: ['bad_request', 'forbidden', 'cursor_expired', 'validation_failed', 'rate_limited'],
  },
  exportAuditLines: {
    ...shared,
    path: '/api/v1/exports/audit',
    role: 'admin',
    envs: 'none',
    summary: 'Entries of the audit chain in its order, as exports/events',
    errors: ['bad_request', 'forbidden', 'cursor_expired', 'validation_failed', 'rate_limited'],
  },
});
