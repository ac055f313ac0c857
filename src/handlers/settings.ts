// A tenant's settings: rotation of the signing key, removal of old events.
import type { settingRoutes } from '../api/settings.ts';
import type { Handlers } from './hub.ts';
import { iso } from './render.ts';

const dayMs = 24 * 3_600_000;
const slice = 5_000;
/** One call removes at most this many slices, and begins none after this time, so that a request ends. */
const maxSlices = 200;
const maxMs = 20_000;

export const settings: Handlers<typeof settingRoutes> = {
  async rotateSigningKey(hub, _input, caller) {
    const { publicKey, rotatedAt, resigned } = await hub.actors.ask(
      'tenant',
      caller.tenantId,
      'rotateSigningKey',
      { newKeyId: hub.secrets.uuid() },
    );
    return { public_key: publicKey, rotated_at: iso(rotatedAt), deployments_re_signed: resigned };
  },

  async purgeEvents(hub, { query }, caller) {
    const cutoff = hub.clock.now() - query.older_than_days * dayMs;
    const end = hub.clock.monotonic() + maxMs;
    let deleted = 0;
    let complete = false;
    for (let i = 0; i < maxSlices && !complete && hub.clock.monotonic() < end; i++) {
      const removed = await hub.store.events.purge(caller.tenantId, cutoff, slice);
      deleted += removed;
      complete = removed === 0;
    }
    return { deleted_count: deleted, cutoff: iso(cutoff), complete };
  },
};
