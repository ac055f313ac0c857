// The frame of the signing key.

import { event, eventMaker, type FrameTable, hex } from '../http/contract/frame-table.ts';
import { type FrameMakers, toDashboards } from '../http/live/frame-makers.ts';

export const signingDashboardFrames = {
  signing_key_rotated: event('signing_key_rotated', 'The signing key is replaced.', { public_key: hex(64) }),
} satisfies FrameTable;

const forDashboards = eventMaker(signingDashboardFrames);

export const signingMakers: Pick<FrameMakers, 'signingKeyRotated'> = {
  signingKeyRotated: ({ tenantId, publicKey }) =>
    toDashboards(tenantId, forDashboards('signing_key_rotated', { public_key: publicKey })),
};
