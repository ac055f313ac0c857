// Timeline of an agent, in the console API's words.
import type { Approval } from '../../approval/record.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso, isoOrNull } from '../../http/contract/render.ts';
import { dayMs } from '../../shared/duration.ts';
import type { TimelinePlace } from '../use-cases/timeline.ts';
import type { agentTimelineRoutes } from './timeline-routes.ts';

const placeText = ({ createdAt, id }: TimelinePlace): string => JSON.stringify([createdAt, id]);

/** A cursor was sealed by this hub: its content is what was written. */
function readPlace(text: string): TimelinePlace {
  const [createdAt, id] = JSON.parse(text) as [number, string];
  return { createdAt, id };
}

const endOf = ({ status, decidedAt, deadline }: Approval): number | null =>
  status === 'pending' ? null : (decidedAt ?? deadline);

export const agentTimelines: Handlers<typeof agentTimelineRoutes> = {
  async agentTimeline(hub, { params, query }, caller) {
    const { env = null, limit, cursor, until = hub.clock.now() + 1 } = query;
    const since = query.since ?? until - dayMs;
    const scope = { tenantId: caller.tenantId, list: 'agent_timeline' } as const;
    const after = cursor === undefined ? null : readPlace(openCursor(hub, scope, cursor));
    const principal = principalOf(caller);
    const request = { env, since, until, limit, after };
    const timeline = await hub.app.agentTimelines.get(principal, params.agent_id, request);
    const isAdmin = principal.roles.has('admin');
    return {
      env: timeline.env,
      streams: timeline.streams.map(({ startedAt, endedAt, isEndNoticed, transport, node }) => ({
        from: iso(startedAt),
        to: isoOrNull(endedAt),
        ...(isEndNoticed ? {} : { is_end_estimated: true }),
        transport,
        node: isAdmin ? node : null,
      })),
      documents: timeline.documents.map(({ at, bundleName, version, kind }) => ({
        at: iso(Math.floor(at)),
        bundle_name: bundleName,
        version,
        kind,
      })),
      approvals: timeline.approvals.map((approval) => ({
        id: approval.id,
        from: iso(approval.createdAt),
        to: isoOrNull(endOf(approval)),
        status: approval.status,
      })),
      next_cursor: timeline.next === null ? null : sealCursor(hub, scope, placeText(timeline.next)),
    };
  },
};
