// The way by which what happened reaches the connected clients of every API.
import type { Announcement } from '../domain/announcement.ts';

/** Announces what happened. */
export interface Announcer {
  /**
   * Tells, in order, everybody who is connected or comes back within the hour. Resolves when all of it has its place in
   * the logs: what is acknowledged after that was announced. What names a record (an approval's state, a deployment and
   * its key) may be repeated, and is told once; of anything else a repeat is a second frame.
   * @throws HubError unavailable when the bus cannot be reached; some of it may have been told then
   */
  announce(announcements: readonly Announcement[]): Promise<void>;
}
