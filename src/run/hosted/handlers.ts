// Runs in the hosted API's words.
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { fitting, pageFieldsOf } from '../../http/contract/hosted-pages.ts';
import { principalOf } from '../../http/contract/hosted-principal.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { RunPlace } from '../record.ts';
import type { hostedRunRoutes } from './routes.ts';
import { renderRun } from './run.ts';

export const hostedRuns: Handlers<typeof hostedRunRoutes> = {
  async hostedListRuns(hub, { query }, caller) {
    const { limit, offset, agent_id, session_id, status, cursor } = query;
    const filter = omitUndefined({ agentId: agent_id, sessionId: session_id, statuses: status });
    const scope = { tenantId: caller.tenantId, list: 'runs' } as const;
    const after = cursor === undefined ? undefined : readRunPlace(openCursor(hub, scope, cursor));
    const pageRequest = { limit, offset: after ? 0 : offset, ...omitUndefined({ after }) };
    const page = await hub.app.runs.list(principalOf(caller), filter, pageRequest);
    const runs = fitting(page.items.map(renderRun));
    const has_more = page.more || runs.length < page.items.length;
    const last = page.items[runs.length - 1]?.run;
    return {
      runs,
      total: page.total,
      ...pageFieldsOf(query, has_more ? runs.length : null),
      next_cursor: has_more && last ? sealCursor(hub, scope, runPlace(last)) : null,
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
