// The way by which what happened reaches the connected clients of every API.
import type { Announcement } from '../announcement.ts';

/** Announces what happened. */
export interface Announcer {
  /**
   * Sends announcements, in order, to all clients that are connected or return within the hour. When the promise
   * resolves, all announcements have their positions in the logs. A repeat of an announcement about a record (an
   * approval's state, a deployment and its key) has no effect. A repeat of any other one is a second frame.
   * @throws HubError unavailable if the bus cannot be reached; some announcements may have been sent
   */
  announce(announcements: readonly Announcement[]): Promise<void>;
}
