// Makers of frames, from announcements, and their parts.

import type { AnnouncementKind, AnnouncementOf } from '../../shared/announcement.ts';
import { dashboardsOf, type Frame, type FrameHeader } from '../../shared/frame.ts';
import type { Env } from '../../shared/ids.ts';
import { currentTrace } from '../../shared/tracing.ts';

/** Makes one API's frames of each kind of announcement: none, one or several, in order. */
export type FrameMakers = {
  readonly [K in AnnouncementKind]: (announced: AnnouncementOf<K>) => readonly Frame[];
};

export const traceOf = (): Pick<FrameHeader, 'trace'> => {
  const trace = currentTrace();
  return trace === null ? {} : { trace };
};

/** A frame of an event; its data is written here, for all who get it. */
export const frame = (header: Omit<FrameHeader, 'type'>, data: { readonly type: string }): Frame => ({
  ...header,
  type: data.type,
  json: Buffer.from(JSON.stringify(data)),
});

export const toDashboards = (
  tenantId: string,
  data: { readonly type: string },
  { envs, idempotencyKey }: { readonly envs?: readonly Env[]; readonly idempotencyKey?: string } = {},
): readonly Frame[] => [
  frame(
    {
      audience: dashboardsOf(tenantId),
      ...(envs ? { envs } : {}),
      ...(idempotencyKey ? { idempotencyKey } : {}),
    },
    data,
  ),
];
