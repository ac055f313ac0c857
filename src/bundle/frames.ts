// The frame of uploads.

import { z } from 'zod';
import { event, eventMaker, type FrameTable, hex, version } from '../http/contract/frame-table.ts';
import { type FrameMakers, toDashboards } from '../http/live/frame-makers.ts';

export const bundleDashboardFrames = {
  bundle_uploaded: event('bundle_uploaded', 'A bundle version is uploaded.', {
    bundle_name: z.string(),
    version,
    revision_hash: hex(64),
    uploaded_by: z.string(),
  }),
} satisfies FrameTable;

const forDashboards = eventMaker(bundleDashboardFrames);

export const bundleMakers: Pick<FrameMakers, 'bundleUploaded'> = {
  bundleUploaded: ({ bundle: { tenantId, name, version, revisionHash, uploadedBy } }) =>
    toDashboards(
      tenantId,
      forDashboards('bundle_uploaded', {
        bundle_name: name,
        version,
        revision_hash: revisionHash,
        uploaded_by: uploadedBy,
      }),
    ),
};
