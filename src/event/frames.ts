// Frames of decision events.

import { z } from 'zod';
import { env, instant } from '../http/contract/fields.ts';
import { event, eventMaker, type FrameTable } from '../http/contract/frame-table.ts';
import { iso } from '../http/contract/render.ts';
import { type FrameMakers, frame, toDashboards } from '../http/live/frame-makers.ts';
import { minuteMs } from '../shared/duration.ts';
import { dashboardsOf, eventsOf } from '../shared/frame.ts';
import { decisionEvent } from './hosted/event.ts';

const count = z.number().int().min(0);

export const eventDashboardFrames = {
  event_created: event(
    'event_created',
    'A batch of audit events is stored; `accepted` counts the new ones.',
    {
      accepted: z.number().int().min(1),
    },
  ),
  stats_changed: event(
    'stats_changed',
    'Only with `include=stats`, in place of `event_created`: how many events of a minute (by their receipt) were stored ' +
      'since the frame before, by their first verdict. Add them up. At most one a second for each environment and ' +
      'node. All are zero when only later outcomes of stored events came.',
    { env, minute: instant, allowed: count, denied: count, would_deny: count, asked: count },
  ),
} satisfies FrameTable;

/** A failed publication is repeated every second. An hour's keys of all environments would be many. */
const countsRememberedMs = 5 * minuteMs;

const forDashboards = eventMaker(eventDashboardFrames);

export const eventMakers: Pick<FrameMakers, 'eventsAccepted' | 'callsCounted'> = {
  eventsAccepted: ({ tenantId, env, accepted }) =>
    toDashboards(tenantId, forDashboards('event_created', { accepted }), { envs: [env] }),
  callsCounted: ({ id, tenantId, env, minute, counts: { allowed, denied, observed, pending } }) => [
    frame(
      {
        audience: dashboardsOf(tenantId),
        envs: [env],
        part: 'stats',
        idempotencyKey: `counts:${id}`,
        idempotencyMs: countsRememberedMs,
      },
      forDashboards('stats_changed', {
        env,
        minute: iso(minute),
        ...{ allowed, denied, would_deny: observed, asked: pending },
      }),
    ),
  ],
};

export const hostedEventFrames = {
  decision: {
    summary:
      'A decision event is stored. An agent receives its own events, an operator all in the environment; only one ' +
      'session if the stream names it.',
    data: decisionEvent,
  },
} satisfies FrameTable;

/** The event about a decision event: its data is that event alone. */
export const decisionFrame = 'decision';

/** Without an `event:` line, which browsers call `message`. */
export const decisionEventFrames = {
  message: {
    summary: 'A decision event is stored. The fields are those of `GET /v1/events`.',
    data: decisionEvent,
  },
} satisfies FrameTable;

export const hostedEventMakers: Pick<FrameMakers, 'eventsAccepted'> = {
  // Nodes that have followers read them.
  eventsAccepted: ({ tenantId }) => [frame({ audience: eventsOf(tenantId) }, { type: 'stored' })],
};
