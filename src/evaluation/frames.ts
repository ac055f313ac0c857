// The frame of the tools' settings.

import { isolationMode } from '../http/contract/fields.ts';
import { event, eventMaker, type FrameTable } from '../http/contract/frame-table.ts';
import { type FrameMakers, frame } from '../http/live/frame-makers.ts';
import { agentsOf } from '../shared/frame.ts';

export const isolationFrames = {
  isolation_changed: event(
    'isolation_changed',
    "Only with `isolation=1`: the tenant's least isolation of programs, at connect and on each change. Treat an unknown " +
      'mode as `required`.',
    { isolation: isolationMode },
  ),
} satisfies FrameTable;

const forAgents = eventMaker(isolationFrames);

export const isolationMakers: Pick<FrameMakers, 'isolationChanged'> = {
  isolationChanged: ({ tenantId, env, isolation }) => [
    frame(
      { audience: agentsOf(tenantId, env), part: 'isolation' },
      forAgents('isolation_changed', { isolation }),
    ),
  ],
};
