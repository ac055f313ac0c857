// What a tenant says of its agents' tools, beside its documents. Everybody who signs in may read it; admins write it.
import { actorName, type Principal } from '../domain/principal.ts';
import type { Setting, ToolWords } from '../domain/settings.ts';
import type { CustomWords } from '../ports/evaluator.ts';
import type { Store } from '../ports/store.ts';
import { requireRole } from './access.ts';
import { recorder } from './audit.ts';
import type { AppPorts } from './ports.ts';

export interface ToolSettings {
  /** Null when nobody has said anything. */
  get(principal: Principal): Promise<Setting<'tools'> | null>;
  /** Replaces what is given; what is absent stays as it was. @throws HubError forbidden */
  put(principal: Principal, changed: Partial<ToolWords>): Promise<Setting<'tools'>>;
}

/** What the tenant's agents add to the rule language, for compiler and linter. */
export async function customWords(
  { settings }: Pick<Store, 'settings'>,
  tenantId: string,
): Promise<CustomWords> {
  return wordsOf(await settings.get(tenantId, 'tools'));
}

export const wordsOf = (setting: Setting<'tools'> | null): CustomWords => ({
  tools: Object.keys(setting?.value.toolArguments ?? {}),
  selectors: setting?.value.customSelectors ?? [],
  operators: setting?.value.customOperators ?? [],
});

export function createToolSettings(ports: Pick<AppPorts, 'store' | 'clock' | 'secrets'>): ToolSettings {
  const { store, clock } = ports;
  const recorded = recorder(ports, 'setting');
  return {
    get: ({ tenantId }) => store.settings.get(tenantId, 'tools'),
    async put(principal, changed) {
      requireRole(principal, 'admin');
      const before = await store.settings.get(principal.tenantId, 'tools');
      const setting: Setting<'tools'> = {
        tenantId: principal.tenantId,
        name: 'tools',
        value: { toolArguments: {}, ...before?.value, ...changed },
        updatedAt: clock.now(),
        updatedBy: actorName(principal.actor),
      };
      await recorded(principal, 'changed', 'tools').settings.put(setting);
      return setting;
    },
  };
}
