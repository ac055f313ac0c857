// Which segments may hold a call id that the sender of a hosted event gave it. The table of calls contains none of
// these ids: a hosted event is stored under the id of its content.
import { hash32 } from '../../../src/shared/ids.ts';

const hashBytes = 3;

/** Four characters for each id. */
function hashesOf(callIds: ReadonlySet<string>): string {
  const bytes = Buffer.alloc(callIds.size * hashBytes);
  let at = 0;
  for (const callId of callIds) at = bytes.writeUIntBE(hash32(callId) & 0xffffff, at, hashBytes);
  return bytes.toString('base64url');
}

/** The last element of a segment's `names`. A segment that lacks it is read. */
export const markSentCallIds = (callIds: ReadonlySet<string>): readonly string[] =>
  callIds.size === 0 ? [] : [hashesOf(callIds)];

/** The text that `names` contains if an event of the segment has the id from its sender. */
export const markOfCallId = (callId: string): string => hashesOf(new Set([callId]));

/** SQL: true for a segment without the mark. Without it, `names` is a list of texts. */
const isUnmarked = "substr(names, -2) <> ']]'";

/**
 * SQL: true for a segment that may hold the id of the parameter, a text of `markOfCallId`. A body as it was sent
 * contains no hosted event, so its segment needs no mark.
 */
export const mayHoldSentCallId = `(instr(names, ?) > 0 OR (${isUnmarked}
  AND (SELECT form % 2 FROM segment_bodies WHERE segment = segments.id) = 0))`;
