// Routes of the live streams, over SSE and WebSocket. The live edge serves them.
import { z } from 'zod';
import { consoleAgentFrames, consoleDashboardFrames } from '../../http/contract/frames.ts';
import { routes } from '../../http/contract/route.ts';

const includedParts = ['fleet', 'tools', 'assignments', 'stats'];

/** Parts that a dashboard may request beside the events that every dashboard gets: one or several, with commas. */
export const includeField = z
  .string()
  .max(100)
  .refine(
    (text) => {
      const parts = text.split(',');
      return new Set(parts).size === parts.length && parts.every((part) => includedParts.includes(part));
    },
    `must be one of ${includedParts.join(', ')}, or several with commas, each once`,
  );

export const streamRoutes = routes({
  agentStream: {
    method: 'GET',
    path: '/api/v1/stream',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'streams',
    summary: 'Stream of an agent: contract updates, decisions on its approvals, and its assignment',
    query: z.object({
      /** The key's environment, also when absent: another answers 403 before any stream. */
      env: z.string().max(255).optional(),
      bundle_name: z.string().max(255).optional(),
      policy_version: z.string().max(255).optional(),
      /** `any` when the client loads bundles of contracts and rulesets alike; anything else is ignored. */
      documents: z.string().max(255).optional(),
      /** `1` adds `tool_pins_changed`; anything else is ignored. */
      pins: z.string().max(255).optional(),
      /** `1` adds `isolation_changed`; anything else is ignored. */
      isolation: z.string().max(255).optional(),
      /** `1` adds `traceparent` to `contract_update` and `approval_decided`; anything else is ignored. */
      trace: z.string().max(255).optional(),
      /** JSON text of an object of texts; anything else is ignored. */
      tags: z.string().optional(),
    }),
    status: 200,
    media: 'text/event-stream',
    frames: consoleAgentFrames,
    errors: ['env_mismatch', 'forbidden', 'validation_failed', 'overloaded', 'unavailable'],
    limit: 'stream',
  },
  dashboardStream: {
    method: 'GET',
    path: '/api/v1/stream/dashboard',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'streams',
    summary: "Stream of a dashboard: changes in its tenant's environments",
    query: z.object({
      /**
       * `fleet` adds `fleet_changed`: the numbers of connected agents, live. `tools` adds `tool_pins_changed`,
       * `assignments` adds `approval_assigned`; `stats` sends `stats_changed` in place of `event_created`.
       */
      include: includeField.optional(),
    }),
    status: 200,
    media: 'text/event-stream',
    frames: consoleDashboardFrames,
    errors: ['validation_failed', 'unavailable'],
    limit: 'stream',
  },
});
