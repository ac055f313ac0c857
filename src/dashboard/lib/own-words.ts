// Selectors and operators that the tenant's agents register. The editor accepts them.
import { useMemo } from 'react';
import type { OwnWords } from './engine.ts';
import { useCall } from './query.ts';

/** Empty until the hub has answered. */
export function useOwnWords(): OwnWords {
  const { data } = useCall('toolSettings');
  return useMemo(
    () => ({ selectors: data?.custom_selectors ?? [], operators: data?.custom_operators ?? [] }),
    [data],
  );
}
