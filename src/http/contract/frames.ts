// The events of the live streams as data, collected from the nouns: one schema per event type, one table per stream.
// From the tables come what the hub may send, the OpenAPI components, the clients' types and docs/protocol.md.

import { agentDashboardFrames, agentStreamFrames } from '../../agent/frames.ts';
import { approvalDashboardFrames, approvalStreamFrames } from '../../approval/frames.ts';
import { bundleDashboardFrames } from '../../bundle/frames.ts';
import { compositionDashboardFrames } from '../../composition/frames.ts';
import { contractDashboardFrames } from '../../contract/frames.ts';
import { deploymentDashboardFrames, deploymentStreamFrames } from '../../deployment/frames.ts';
import { isolationFrames } from '../../evaluation/frames.ts';
import { eventDashboardFrames } from '../../event/frames.ts';
import { keyDashboardFrames } from '../../key/frames.ts';
import { signingDashboardFrames } from '../../signing/frames.ts';
import { toolDashboardFrames, toolStreamFrames } from '../../tool/frames.ts';
import { type FrameTable, resync } from './frame-table.ts';

/** The agent stream of the console API. */
export const consoleAgentFrames = {
  ...deploymentStreamFrames,
  ...approvalStreamFrames,
  ...agentStreamFrames,
  ...toolStreamFrames,
  ...isolationFrames,
  resync,
} satisfies FrameTable;

/** The dashboard stream of the console API: of all environments of a tenant. */
export const consoleDashboardFrames = {
  ...approvalDashboardFrames,
  assignment_changed: agentDashboardFrames.assignment_changed,
  ...bundleDashboardFrames,
  ...compositionDashboardFrames,
  contract_created: contractDashboardFrames.contract_created,
  contract_update: deploymentDashboardFrames.contract_update,
  contract_updated: contractDashboardFrames.contract_updated,
  event_created: eventDashboardFrames.event_created,
  ...keyDashboardFrames,
  bundle_deployed: deploymentDashboardFrames.bundle_deployed,
  fleet_changed: agentDashboardFrames.fleet_changed,
  ...toolDashboardFrames,
  stats_changed: eventDashboardFrames.stats_changed,
  ...signingDashboardFrames,
  resync,
} satisfies FrameTable;
