// The audit chain in the hosted API's words. Entries are kept as they are shown.
import { auditGrammar } from '../../event/rules/query/fields.ts';
import { Reply } from '../../http/contract/call.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { fitting } from '../../http/contract/hosted-pages.ts';
import { principalOf } from '../../http/contract/hosted-principal.ts';
import type { ReplyBody } from '../../http/contract/route.ts';
import { canonicalJson } from '../../shared/json/canonical.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { AuditPlace } from '../record.ts';
import { headText, linkText, type SignedHead } from '../record.ts';
import type { hostedAuditRoutes } from './routes.ts';

type Entry = ReplyBody<(typeof hostedAuditRoutes)['hostedListAudit']>['entries'][number];

export const hostedAudit: Handlers<typeof hostedAuditRoutes> = {
  async hostedListAudit(hub, { query }, caller) {
    const { limit, cursor, ...filters } = query;
    // A cursor is for the same question alone: its pages would not fit together otherwise.
    const list = `audit-${hub.secrets.sha256(canonicalJson(filters)).slice(0, 16)}` as const;
    const scope = { tenantId: caller.tenantId, list };
    const before = cursor === undefined ? null : placeIn(openCursor(hub, scope, cursor));
    const principal = principalOf(caller);
    const terms =
      query.q === undefined ? undefined : await hub.app.eventSearches.read(principal, query.q, auditGrammar);
    const { entries: feed, stop } = await hub.app.auditLog.list(
      principal,
      {
        from: query.from ?? null,
        to: query.to ?? null,
        actor: query.actor ?? null,
        actions: query.action_type ?? null,
        subjects: query.subject_type ?? null,
        actorTypes: query.actor_type ?? null,
        everything: query.scope === 'all',
        ...omitUndefined({ query: terms }),
      },
      before,
      limit + 1,
    );
    // As `entryText` wrote them.
    const entries = fitting(feed.slice(0, limit).map(({ entry }) => entry as unknown as Entry));
    const last = feed.length > entries.length ? feed[entries.length - 1] : stop;
    return {
      entries,
      limit,
      has_more: !!last,
      next_cursor: last ? sealCursor(hub, scope, `${last.seq} ${last.position}`) : null,
    };
  },

  async hostedExportAudit(hub, { query }, caller) {
    const { links, start, head, next } = await hub.app.auditLog.export(
      principalOf(caller),
      query.from_seq,
      query.to_seq ?? null,
      { from: query.from ?? null, to: query.to ?? null },
    );
    const lines = links.map((link) => `{"digest":"${link.digest}",${linkText(link).slice(1)}\n`);
    const to = [
      query.to_seq === undefined ? '' : `&to_seq=${query.to_seq}`,
      query.to === undefined ? '' : `&to=${new Date(query.to).toISOString()}`,
    ].join('');
    const opening = start ? `${headLine(start)}\n` : '';
    return new Reply(`${opening}${lines.join('')}${headLine(head)}\n`, {
      headers: {
        'Content-Disposition': `attachment; filename="audit-${links[0]?.seq}-${head.seq}.ndjson"`,
        ...(next === null ? {} : { Link: `</v1/audit/export?from_seq=${next}${to}>; rel="next"` }),
      },
    });
  },

  async hostedAuditHead(hub, _input, caller) {
    return JSON.parse(headLine(await hub.app.auditLog.getHead(principalOf(caller))));
  },
};

/** `{head, sig}`: the signature covers the canonical JSON of `{head}`. */
const headLine = (head: SignedHead): string => `${headText(head).slice(0, -1)},"sig":"${head.signature}"}`;

function placeIn(cursor: string): AuditPlace {
  const [seq = 0, position = 0] = cursor.split(' ').map(Number);
  return { seq, position };
}
