// Declarations about a tenant's agents in the console API's words: what tools' arguments hold, custom words.

import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { ifMatchOf } from '../../shared/if-match.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { isolationOf, type Setting } from '../../tenant/rules/settings.ts';
import { wordsOf } from '../rules/custom-words.ts';
import type { toolSettingRoutes } from './tool-routes.ts';

export const toolSettings: Handlers<typeof toolSettingRoutes> = {
  toolSettings: async ({ app }, _input, caller) => render(await app.toolSettings.get(principalOf(caller))),

  putToolSettings: async ({ app }, { body }, caller, request) =>
    render(
      await app.toolSettings.update(
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
};

const render = (setting: Setting<'tools'> | null) => ({
  tool_arguments: setting?.value.toolArguments ?? {},
  custom_selectors: [...wordsOf(setting).selectors],
  custom_operators: [...wordsOf(setting).operators],
  command_profiles: wordsOf(setting).commandProfiles ?? {},
  isolation: isolationOf(setting),
  updated_at: setting ? iso(setting.updatedAt) : null,
  updated_by: setting?.updatedBy ?? null,
});
