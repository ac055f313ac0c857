// The console API's frames of every kind of announcement, collected from the nouns.

import { agentMakers } from '../../agent/frames.ts';
import { approvalMakers } from '../../approval/frames.ts';
import { bundleMakers } from '../../bundle/frames.ts';
import { compositionMakers } from '../../composition/frames.ts';
import { contractMakers } from '../../contract/frames.ts';
import { deploymentMakers } from '../../deployment/frames.ts';
import { isolationMakers } from '../../evaluation/frames.ts';
import { eventMakers } from '../../event/frames.ts';
import { keyMakers } from '../../key/frames.ts';
import { signingMakers } from '../../signing/frames.ts';
import { toolMakers } from '../../tool/frames.ts';
import { eventMaker } from '../contract/frame-table.ts';
import { consoleAgentFrames } from '../contract/frames.ts';
import type { SignatureEncoding } from '../contract/signature.ts';
import type { ApiFrames } from './announcer.ts';
import { type FrameMakers, frame } from './frame-makers.ts';

const forAgents = eventMaker(consoleAgentFrames);

/** @param encoding how contract updates write their signature */
export const consoleFrames = (encoding: SignatureEncoding): ApiFrames => ({
  makers: makersOf(encoding),
  resync: (audience, reason) => frame({ audience }, forAgents('resync', reason ? { reason } : {})),
});

const makersOf = (encoding: SignatureEncoding): FrameMakers => ({
  ...agentMakers,
  ...approvalMakers,
  ...bundleMakers,
  ...compositionMakers,
  ...contractMakers,
  ...eventMakers,
  ...keyMakers,
  ...signingMakers,
  ...toolMakers,
  ...isolationMakers,
  ...deploymentMakers(encoding),
});
