// Frames as tests write and read them: with their data as a value.

import { createAnnouncer } from '../src/http/live/announcer.ts';
import { consoleFrames } from '../src/http/live/console-frames.ts';
import type { Frame, FrameHeader } from '../src/shared/frame.ts';
import type { Announcer } from '../src/shared/ports/announcer.ts';
import type { Broadcast } from '../src/shared/ports/broadcast.ts';

export interface ReadFrame extends FrameHeader {
  readonly data: { readonly [key: string]: unknown };
}

export const writeFrame = ({ data, ...header }: ReadFrame): Frame => ({
  ...header,
  json: Buffer.from(JSON.stringify(data)),
});

export const readFrame = ({ json, ...header }: Frame): ReadFrame => ({
  ...header,
  data: JSON.parse(Buffer.from(json).toString()),
});

/** Announces to the console API's streams, as a hub does. */
export const consoleAnnouncer = (
  broadcast: Pick<Broadcast, 'publish'>,
  encoding: 'hex' | 'base64' = 'hex',
): Announcer => createAnnouncer(broadcast, [consoleFrames(encoding)]);
