// The words of a tenant's agents beside those of the rule language. Pure.
import type { CommandProfiles } from 'reeve-agent/rules';
import type { Setting } from '../../tenant/rules/settings.ts';

export const wordsOf = (setting: Setting<'tools'> | null): CustomWords => ({
  tools: Object.keys(setting?.value.toolArguments ?? {}),
  selectors: setting?.value.customSelectors ?? [],
  operators: setting?.value.customOperators ?? [],
  ...(setting?.value.commandProfiles ? { commandProfiles: setting.value.commandProfiles } : {}),
});

/** Custom selectors and operators of a tenant's agents. */
export interface CustomWords {
  /** Names of tools, or globs, whose arguments are declared. */
  readonly tools: readonly string[];
  /** Prefixes of selectors. */
  readonly selectors: readonly string[];
  readonly operators: readonly string[];
  /** Profiles of programs for commands in sandboxes. Default: the built-in ones. */
  readonly commandProfiles?: CommandProfiles;
}
