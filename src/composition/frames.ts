// The frame of compositions.

import { z } from 'zod';
import { event, eventMaker, type FrameTable, version } from '../http/contract/frame-table.ts';
import { type FrameMakers, toDashboards } from '../http/live/frame-makers.ts';

export const compositionDashboardFrames = {
  composition_changed: event(
    'composition_changed',
    'A composition is created, changed, deleted or deployed; `bundle_version` is present if it is deployed.',
    { composition_name: z.string(), bundle_version: version.optional() },
  ),
} satisfies FrameTable;

const forDashboards = eventMaker(compositionDashboardFrames);

export const compositionMakers: Pick<FrameMakers, 'compositionChanged'> = {
  compositionChanged: ({ tenantId, name, bundleVersion }) =>
    toDashboards(
      tenantId,
      forDashboards('composition_changed', {
        composition_name: name,
        ...(bundleVersion === null ? {} : { bundle_version: bundleVersion }),
      }),
    ),
};
