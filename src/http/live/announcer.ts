// From what happened to frames on the bus: every API's frames of an announcement are made here, once (promise P18).

import type { Announcement } from '../../shared/announcement.ts';
import type { Audience, Frame } from '../../shared/frame.ts';
import type { Announcer } from '../../shared/ports/announcer.ts';
import type { Broadcast } from '../../shared/ports/broadcast.ts';
import { resumed, traced } from '../../shared/tracing.ts';
import type { ResyncReason } from '../contract/frame-table.ts';
import type { FrameMakers } from './frame-makers.ts';

/** The frames of one API's streams. */
export interface ApiFrames {
  readonly makers: FrameMakers;
  /** For streams that have missed frames; without a reason: the hub lost them. */
  resync(audience: Audience, reason?: ResyncReason): Frame;
}

export function framesOf({ makers }: ApiFrames, announcement: Announcement): readonly Frame[] {
  // The kind that names the function is the one of its parameter, which the compiler does not follow through the union.
  const make = makers[announcement.kind] as (announced: Announcement) => readonly Frame[];
  return make(announcement);
}

/** Frames for a node's streams of all APIs. */
export interface StreamFrames extends Pick<ApiFrames, 'resync'> {
  framesOf(announcement: Announcement): readonly Frame[];
}

/** The frames of several APIs: of an announcement all are made, and an audience is its own API's. */
export const joinedFrames = (
  apis: readonly ApiFrames[],
  apiOf: (audience: Audience) => ApiFrames,
): StreamFrames => ({
  framesOf: (announcement) => apis.flatMap((api) => framesOf(api, announcement)),
  resync: (audience, reason) => apiOf(audience).resync(audience, reason),
});

/** The frames of one API, where there is no other. */
export const oneApi = (api: ApiFrames): StreamFrames => joinedFrames([api], () => api);

/** @param apis those that have streams */
export function createAnnouncer(
  broadcast: Pick<Broadcast, 'publish'>,
  apis: readonly ApiFrames[],
): Announcer {
  async function push(announcements: readonly Announcement[]): Promise<void> {
    const frames = announcements.flatMap((announcement) =>
      apis.flatMap((api) => framesOf(api, announcement)),
    );
    if (frames.length > 0) await traced('push', () => broadcast.publish(frames));
  }

  const traceOf = (announcement: Announcement): string | undefined =>
    'trace' in announcement ? announcement.trace : undefined;

  return {
    async announce(announcements) {
      if (announcements.every((one) => traceOf(one) === undefined)) return push(announcements);
      for (const one of announcements) await resumed('approval ended', traceOf(one), () => push([one]));
    },
  };
}
