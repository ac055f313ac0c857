// A tenant's settings: rotation of the signing key, removal of old events.
import type { settingRoutes } from '../api/settings.ts';
import { purgeLater, purgeSlices } from '../jobs/purge.ts';
import type { Handlers } from './hub.ts';
import { iso } from './render.ts';

const dayMs = 24 * 3_600_000;
/** A request removes for so long; what is left then is removed by a job. */
const maxMs = 10_000;

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
    const { clock, jobs, store } = hub;
    const now = clock.now();
    const cutoff = now - query.older_than_days * dayMs;
    const end = clock.monotonic() + maxMs;
    const { deleted, complete } = await purgeSlices(
      { events: store.events, clock },
      caller.tenantId,
      cutoff,
      { stop: () => clock.monotonic() >= end },
    );
    if (!complete) await purgeLater(jobs, caller.tenantId, cutoff, now);
    return { deleted_count: deleted, cutoff: iso(cutoff), complete };
  },
};
