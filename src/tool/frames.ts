// Frames of tool pins.

import { z } from 'zod';
import { env } from '../http/contract/fields.ts';
import { event, eventMaker, type FrameTable } from '../http/contract/frame-table.ts';
import { type FrameMakers, frame } from '../http/live/frame-makers.ts';
import { agentsOf, dashboardsOf } from '../shared/frame.ts';

/** Null: every server of the environment. */
const pinFields = { server: z.string().nullable(), sequence: z.number().int() };

export const toolStreamFrames = {
  tool_pins_changed: event(
    'tool_pins_changed',
    'Only with `pins=1`: the pin document of a server (null: of all servers) has changed up to this sequence.',
    pinFields,
  ),
} satisfies FrameTable;

export const toolDashboardFrames = {
  tool_pins_changed: event(
    'tool_pins_changed',
    'Only with `include=tools`: tool definitions, decisions or modes of an environment have changed.',
    { ...pinFields, env },
  ),
} satisfies FrameTable;

const forAgents = eventMaker(toolStreamFrames);
const forDashboards = eventMaker(toolDashboardFrames);

export const toolMakers: Pick<FrameMakers, 'toolPinsChanged'> = {
  toolPinsChanged: ({ tenantId, env, server, sequence, isForAgents }) => [
    ...(isForAgents
      ? [
          frame(
            { audience: agentsOf(tenantId, env), tools: true },
            forAgents('tool_pins_changed', { server, sequence }),
          ),
        ]
      : []),
    frame(
      { audience: dashboardsOf(tenantId), envs: [env], tools: true },
      forDashboards('tool_pins_changed', { server, sequence, env }),
    ),
  ],
};
