// The events of the hosted API's streams, collected from the nouns.

import { agentStreamFrames } from '../../agent/frames.ts';
import { hostedDeploymentFrames } from '../../deployment/frames/hosted.ts';
import { hostedEventFrames } from '../../event/frames.ts';
import type { FrameTable } from './frame-table.ts';

/** The event that carries a whole document. */
export const documentEvent = 'contract_update';

export const hostedAgentFrames = {
  ...hostedDeploymentFrames,
  assignment_changed: agentStreamFrames.assignment_changed,
  ...hostedEventFrames,
} satisfies FrameTable;
