// The calls of a run in the console API's words.
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import type { runTimelineRoutes } from './timeline-routes.ts';

export const runTimelines: Handlers<typeof runTimelineRoutes> = {
  async runTimeline(hub, { params, query }, caller) {
    const scope = { tenantId: caller.tenantId, list: 'run_timeline' } as const;
    const cursor = query.cursor === undefined ? null : openCursor(hub, scope, query.cursor);
    const key = { agentId: params.agent_id, sessionId: params.session_id };
    const timeline = await hub.app.runTimelines.get(principalOf(caller), key, query.limit, cursor);
    return {
      calls: timeline.calls.map(({ eventId, at, durationMs, verdict, toolName }) => ({
        event_id: eventId,
        at: iso(Math.floor(at)),
        duration_ms: durationMs,
        verdict,
        tool_name: toolName,
      })),
      children: timeline.children.map(({ agentId, sessionId, startedAt, lastActivityAt, facts }) => ({
        agent_id: agentId,
        session_id: sessionId,
        started_at: iso(Math.floor(startedAt)),
        last_activity_at: iso(Math.floor(lastActivityAt)),
        calls: facts?.calls ?? 0,
      })),
      next_cursor: timeline.next === null ? null : sealCursor(hub, scope, timeline.next),
    };
  },
};
