// What a tenant says of its agents' tools, beside its documents. Everybody who signs in may read it; admins write it.
import type { ToolArguments } from 'reeve-agent/rules';
import { actorName, type Principal } from '../domain/principal.ts';
import type { Setting } from '../domain/settings.ts';
import { requireRole } from './access.ts';
import type { AppPorts } from './ports.ts';

export interface ToolSettings {
  /** Null when nobody has said anything. */
  get(principal: Principal): Promise<Setting<'tools'> | null>;
  /** Replaces all that was said before. @throws HubError forbidden */
  put(principal: Principal, toolArguments: ToolArguments): Promise<Setting<'tools'>>;
}

export function createToolSettings({ store, clock }: Pick<AppPorts, 'store' | 'clock'>): ToolSettings {
  return {
    get: ({ tenantId }) => store.settings.get(tenantId, 'tools'),
    async put(principal, toolArguments) {
      requireRole(principal, 'admin');
      const setting: Setting<'tools'> = {
        tenantId: principal.tenantId,
        name: 'tools',
        value: { toolArguments },
        updatedAt: clock.now(),
        updatedBy: actorName(principal.actor),
      };
      await store.settings.put(setting);
      return setting;
    },
  };
}
