// A tenant's settings: rotation of the signing key, what tools' arguments hold, removal of old events.
import type { settingRoutes } from '../../api/settings.ts';
import { wordsOf } from '../../app/tool-settings.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import type { Setting } from '../../domain/settings.ts';
import { purgeLater, purgeSlices } from '../../jobs/purge.ts';
import type { Handlers } from './hub.ts';
import { principalOf } from './principal.ts';
import { iso } from './render.ts';

const dayMs = 24 * 3_600_000;
/** A request removes for so long; what is left then is removed by a job. */
const maxMs = 10_000;

const pinAgain =
  'The old key does not vouch for the new one. Agents that pinned the old key keep their rules and refuse new ones until they are ' +
  'pinned again: give them the new public key, or delete the pin file that their error names and restart them.';

export const settings: Handlers<typeof settingRoutes> = {
  async rotateSigningKey(hub, { body }, caller) {
    const { publicKey, rotatedAt, resigned, followed } = await hub.actors.ask(
      'tenant',
      caller.tenantId,
      'rotateSigningKey',
      { newKeyId: hub.secrets.uuid(), compromised: body.compromised ?? false },
    );
    return {
      public_key: publicKey,
      rotated_at: iso(rotatedAt),
      deployments_re_signed: resigned,
      agents_follow: followed,
      warning: followed ? null : pinAgain,
    };
  },

  toolSettings: async ({ app }, _input, caller) => render(await app.toolSettings.get(principalOf(caller))),

  putToolSettings: async ({ app }, { body }, caller) =>
    render(
      await app.toolSettings.put(
        principalOf(caller),
        omitUndefined({
          toolArguments: body.tool_arguments === null ? {} : body.tool_arguments,
          customSelectors: body.custom_selectors === null ? [] : body.custom_selectors,
          customOperators: body.custom_operators === null ? [] : body.custom_operators,
        }),
      ),
    ),

  async purgeEvents(hub, { query }, caller) {
    const { clock, jobs, store } = hub;
    const now = clock.now();
    const cutoff = now - query.older_than_days * dayMs;
    if (query.dry_run === 'true') {
      const count = await store.events.countReceived(caller.tenantId, cutoff);
      return { deleted_count: count, cutoff: iso(cutoff), complete: true, dry_run: true };
    }
    const end = clock.monotonic() + maxMs;
    const { deleted, complete } = await purgeSlices(
      { events: store.events, clock },
      caller.tenantId,
      cutoff,
      { stop: () => clock.monotonic() >= end },
    );
    if (!complete) await purgeLater(jobs, caller.tenantId, cutoff, now);
    return { deleted_count: deleted, cutoff: iso(cutoff), complete, dry_run: false };
  },
};

const render = (setting: Setting<'tools'> | null) => ({
  tool_arguments: setting?.value.toolArguments ?? {},
  custom_selectors: [...wordsOf(setting).selectors],
  custom_operators: [...wordsOf(setting).operators],
  updated_at: setting ? iso(setting.updatedAt) : null,
  updated_by: setting?.updatedBy ?? null,
});
