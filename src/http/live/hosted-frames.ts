// The hosted API's frames of every kind of announcement, collected from the nouns.

import { hostedAgentMakers } from '../../agent/frames.ts';
import { type Digests, hostedDeploymentMakers } from '../../deployment/frames/hosted.ts';
import { hostedEventMakers } from '../../event/frames.ts';
import type { Frame } from '../../shared/frame.ts';
import type { ApiFrames } from './announcer.ts';
import { type FrameMakers, frame } from './frame-makers.ts';

/** Stands for frames that a stream has missed: a comment, because the API knows no event for it. */
export const gapType = ':gap';

const none = (): readonly Frame[] => [];

/** @param digests make the id of a key: the beginning of its digest */
export const hostedFrames = (digests: Digests): ApiFrames => ({
  makers: makersOf(digests),
  resync: (audience) => frame({ audience }, { type: gapType }),
});

const makersOf = (digests: Digests): FrameMakers => ({
  approvalRequested: none,
  approvalDecided: none,
  approvalExpired: none,
  approvalAssigned: none,
  callsCounted: none,
  bundleUndeployed: none,
  fleetChanged: none,
  toolPinsChanged: none,
  isolationChanged: none,
  agentsAssigned: none,
  assignmentRuleChanged: none,
  signingKeyRotated: none,
  bundleUploaded: none,
  contractCreated: none,
  contractUpdated: none,
  compositionChanged: none,
  apiKeyCreated: none,
  apiKeyRevoked: none,
  // Last, so that the compiler refuses a kind that also stands above as one without frames.
  ...hostedDeploymentMakers(digests),
  ...hostedAgentMakers,
  ...hostedEventMakers,
});
