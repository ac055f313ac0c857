// Selectors, operators and declarations of tools that the tenant's agents register. The editor accepts them.
import { useMemo } from 'react';
import { absentOperators } from '../../../packages/agent/src/rules/evaluate/operator.ts';
import type { EngineOptions } from '../../../packages/agent/src/rules/evaluate/options.ts';
import type { CommandProfiles } from '../../../packages/agent/src/rules/sandbox/profiles/profile.ts';
import { type OwnWords, problemsOf } from './engine.ts';
import { useCall } from './query.ts';

/** Empty until the hub has answered. */
export function useOwnWords(): OwnWords {
  const { data } = useCall('toolSettings');
  return useMemo(
    () => ({ selectors: data?.custom_selectors ?? [], operators: data?.custom_operators ?? [] }),
    [data],
  );
}

/**
 * Options of the rule engine in the browser, as the hub's own dry runs have them; null until the hub has answered.
 * Operators of the tenant's agents are code that neither has.
 */
export function useEngineOptions(): EngineOptions | null {
  const { data } = useCall('toolSettings');
  return useMemo(
    () =>
      data === undefined
        ? null
        : {
            operators: absentOperators(data.custom_operators),
            toolArguments: data.tool_arguments,
            commandProfiles: data.command_profiles as CommandProfiles,
          },
    [data],
  );
}

/** The problems that the rule engine finds in a document; null has none. */
export function useProblems(text: string | null): ReturnType<typeof problemsOf> {
  const words = useOwnWords();
  return useMemo(() => (text === null ? [] : problemsOf(text, words)), [text, words]);
}
