// A tenant's settings: rotation of the signing key, what tools' arguments hold, removal of old events.
import { wordsOf } from '../../evaluation/rules/custom-words.ts';
import type { RemovalAge } from '../../event/use-cases/removal.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { HubError } from '../../shared/error.ts';
import { ifMatchOf } from '../../shared/if-match.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { isolationOf, type Setting } from '../rules/settings.ts';
import type { settingRoutes } from './routes.ts';

const pinAgain =
  'The old key does not attest the new one. Agents that pinned the old key keep their rules and refuse new ones until they ' +
  'pin the new key: configure the new public key, or delete the pin file in their error message and restart them.';

export const settings: Handlers<typeof settingRoutes> = {
  async rotateSigningKey({ app }, { body }, caller) {
    const { publicKey, rotatedAt, resigned, followed } = await app.signingKeys.rotate(
      principalOf(caller),
      body.compromised ?? false,
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

  putToolSettings: async ({ app }, { body }, caller, request) =>
    render(
      await app.toolSettings.put(
        principalOf(caller),
        omitUndefined({
          toolArguments: body.tool_arguments === null ? {} : body.tool_arguments,
          customSelectors: body.custom_selectors === null ? [] : body.custom_selectors,
          customOperators: body.custom_operators === null ? [] : body.custom_operators,
          commandProfiles: body.command_profiles === null ? {} : body.command_profiles,
          isolation: body.isolation === null ? 'none' : body.isolation,
        }),
        ifMatchOf(request.header('if-match')),
      ),
    ),

  async purgeEvents({ app }, { query }, caller) {
    const isDry = query.dry_run === 'true';
    const { removed, cutoff, complete } = await app.eventRemoval[isDry ? 'count' : 'remove'](
      principalOf(caller),
      ageOf(query),
    );
    return { deleted_count: removed, cutoff: iso(cutoff), complete, dry_run: isDry };
  },
};

/** @throws HubError validation_failed unless one of the two is there */
function ageOf(query: {
  readonly older_than_days?: number | undefined;
  readonly older_than_hours?: number | undefined;
}): RemovalAge {
  const { older_than_days: days, older_than_hours: hours } = query;
  if (days !== undefined && hours === undefined) return { unit: 'days', count: days };
  if (hours !== undefined && days === undefined) return { unit: 'hours', count: hours };
  throw new HubError(
    'validation_failed',
    'The request needs one age. Send either older_than_days or older_than_hours.',
  );
}

const render = (setting: Setting<'tools'> | null) => ({
  tool_arguments: setting?.value.toolArguments ?? {},
  custom_selectors: [...wordsOf(setting).selectors],
  custom_operators: [...wordsOf(setting).operators],
  command_profiles: wordsOf(setting).commandProfiles ?? {},
  isolation: isolationOf(setting),
  updated_at: setting ? iso(setting.updatedAt) : null,
  updated_by: setting?.updatedBy ?? null,
});
