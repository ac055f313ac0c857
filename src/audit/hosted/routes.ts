// Routes of the audit chain.
import { z } from 'zod';
import { maxQueryLength } from '../../event/rules/query/parse.ts';
import { anyObject, instant, instantInput, intQuery, line, text, uuid } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { auditSubjects } from '../record/subjects.ts';
import { auditActorTypes, signedHeadRecord } from '../record.ts';

export const auditActorType = z.enum(auditActorTypes);
export const auditSubjectType = z.enum(auditSubjects);

export const auditEntry = z.object({
  id: uuid,
  occurred_at: instant,
  actor: z.object({ type: auditActorType, id: z.string(), display: z.string() }),
  action_type: z.string(),
  subject_type: auditSubjectType,
  subject: z.object({ type: auditSubjectType, id: z.string(), name: z.string().nullable() }),
  summary: z.string(),
  details: anyObject,
  agent_id: z.string().nullable(),
  session_id: z.string().nullable(),
});

const seq = intQuery(1, Number.MAX_SAFE_INTEGER);

export const hostedAuditRoutes = routes({
  hostedListAudit: {
    method: 'GET',
    path: '/v1/audit',
    auth: ['operatorJwt'],
    role: 'viewer',
    envs: 'record',
    tag: 'hosted-audit',
    summary:
      'Audit entries, newest first: approvals, keys, ruleset deployments and run decisions; the last 30 ' +
      'days by default',
    query: z.object({
      from: instantInput.optional(),
      to: instantInput.optional(),
      actor: text(255, 1).optional(),
      /** Kind of the actor: people are `operator` and `chat`. May be repeated. */
      actor_type: z.array(auditActorType).max(auditActorTypes.length).optional(),
      action_type: z.array(line(64)).max(20).optional(),
      subject_type: z.array(auditSubjectType).max(auditSubjects.length).optional(),
      /** `all` lists every subject type. */
      scope: z.literal('all').optional(),
      /**
       * A query of Audit (docs/query.md). Terms and the other filters narrow together. A page may be short or empty and
       * still have a `next_cursor`.
       */
      q: text(maxQueryLength).optional(),
      limit: intQuery(1, 200).default(50),
      cursor: text(2048, 1).optional(),
    }),
    repeated: ['actor_type', 'action_type', 'subject_type'],
    status: 200,
    reply: z.object({
      entries: z.array(auditEntry),
      limit: z.number().int(),
      /** True when more follows: this page may hold fewer than `limit`, by its 4 MiB or its time. */
      has_more: z.boolean(),
      /** Null when nothing is left. */
      next_cursor: z.string().nullable(),
    }),
    search: true,
    errors: ['bad_request', 'forbidden', 'validation_failed', 'search_timeout', 'rate_limited'],
  },
  hostedExportAudit: {
    method: 'GET',
    path: '/v1/audit/export',
    auth: ['operatorJwt'],
    role: 'admin',
    envs: 'none',
    tag: 'hosted-audit',
    summary:
      'Links of the audit chain, one JSON object a line, and the signed head of the last link; after about 8 MiB, a ' +
      'Link header names the next part',
    query: z.object({
      from_seq: seq.default(1),
      to_seq: seq.optional(),
      /** Links from this time on. */
      from: instantInput.optional(),
      /** Links before this time. */
      to: instantInput.optional(),
    }),
    status: 200,
    media: 'application/x-ndjson',
    download: true,
    search: true,
    errors: ['forbidden', 'not_found', 'validation_failed', 'rate_limited', 'unavailable'],
  },
  hostedAuditHead: {
    method: 'GET',
    path: '/v1/audit/head',
    auth: ['operatorJwt'],
    role: 'viewer',
    envs: 'none',
    tag: 'hosted-audit',
    summary: 'The newest signed head of the audit chain; the hub signs one every hour',
    status: 200,
    reply: z.object({
      head: signedHeadRecord.reply('hosted', 'one'),
      /** Ed25519 in standard base64, over the envelope (DSSE) of the canonical JSON of `{head}`. */
      sig: z.string(),
    }),
    errors: ['forbidden', 'not_found'],
  },
});
