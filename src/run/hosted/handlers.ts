// Runs in the hosted API's words.
import { runGrammar } from '../../event/rules/query/fields.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { fitting, pageFieldsOf } from '../../http/contract/hosted-pages.ts';
import { principalOf } from '../../http/contract/hosted-principal.ts';
import { RequestError } from '../../http/contract/request-error.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { RunPlace } from '../record.ts';
import type { hostedRunRoutes } from './routes.ts';
import { renderRun } from './run.ts';

export const hostedRuns: Handlers<typeof hostedRunRoutes> = {
  async hostedListRuns(hub, { query }, caller) {
    const { limit, offset, agent_id, session_id, status, cursor, q } = query;
    if (q !== undefined && offset > 0)
      throw new RequestError(
        'validation_failed',
        'With q, next_cursor leads to the next page. Leave out offset.',
        {
          problems: [{ loc: ['query', 'offset'], msg: 'q takes a cursor in place of an offset' }],
        },
      );
    const filter = omitUndefined({ agentId: agent_id, sessionId: session_id, statuses: status });
    const scope = { tenantId: caller.tenantId, list: 'runs' } as const;
    const after = cursor === undefined ? undefined : readRunPlace(openCursor(hub, scope, cursor));
    const pageRequest = { limit, offset: after ? 0 : offset, ...omitUndefined({ after }) };
    const principal = principalOf(caller);
    const terms = q === undefined ? undefined : await hub.app.eventSearches.read(principal, q, runGrammar);
    const page = await hub.app.runs.list(principal, filter, pageRequest, terms);
    const runs = fitting(page.items.map(renderRun));
    const next = runs.length < page.items.length ? (page.items[runs.length - 1]?.run ?? null) : page.next;
    const fields = pageFieldsOf(query, next ? runs.length : null);
    return {
      runs,
      total: page.total,
      ...fields,
      next_offset: q === undefined ? fields.next_offset : null,
      next_cursor: next && sealCursor(hub, scope, runPlace(next)),
    };
  },
};

/** Place of a run in the list, as a cursor holds it. */
const runPlace = ({ lastActivityAt, agentId, sessionId }: RunPlace): string =>
  JSON.stringify([lastActivityAt, agentId, sessionId]);

function readRunPlace(text: string): RunPlace {
  const [lastActivityAt, agentId, sessionId] = JSON.parse(text) as [number, string, string];
  return { lastActivityAt, agentId, sessionId };
}
