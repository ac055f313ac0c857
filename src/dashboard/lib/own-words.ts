// Selectors and operators that the tenant's agents register. The editor accepts them.
import { useMemo } from 'react';
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

/** The problems that the rule engine finds in a document; null has none. */
export function useProblems(text: string | null): ReturnType<typeof problemsOf> {
  const words = useOwnWords();
  return useMemo(() => (text === null ? [] : problemsOf(text, words)), [text, words]);
}
