// A tenant's settings about its agents' tools, beside its documents. All signed-in people may read them; admins write
// them.
import { changeBy, recorded } from '../../audit/note.ts';
import { requireRole } from '../../shared/access.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { changed, type IfMatch, requireMatch, timeTag } from '../../shared/if-match.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Setting, ToolWords } from '../../tenant/rules/settings.ts';

export interface ToolSettings {
  /** Null when nobody has set anything. */
  get(principal: Principal): Promise<Setting<'tools'> | null>;
  /**
   * Replaces what is given; what is absent stays as it was.
   * @param ifMatch time of the last change
   * @throws HubError forbidden, changed
   */
  put(principal: Principal, patch: Partial<ToolWords>, ifMatch?: IfMatch): Promise<Setting<'tools'>>;
}

/** The settings as a node read them less than a second ago, for calls that come one after another. */
export interface RecentToolSettings {
  /** At most a second old; what this node wrote itself is seen at once. */
  get(tenantId: string): Promise<Setting<'tools'> | null>;
  forget(tenantId: string): void;
}

const subject = 'The tool settings';
const recentMs = 1_000;
const maxTenants = 1_000;

export function createRecentToolSettings({
  store,
  clock,
}: Pick<AppPorts, 'store' | 'clock'>): RecentToolSettings {
  const read = new BoundedMap<Setting<'tools'> | 'none'>(maxTenants);
  return {
    async get(tenantId) {
      const now = clock.monotonic();
      const cached = read.get(tenantId, now);
      if (cached !== undefined) return cached === 'none' ? null : cached;
      const setting = await store.settings.get(tenantId, 'tools');
      read.set(tenantId, setting ?? 'none', now + recentMs);
      return setting;
    },
    forget: (tenantId) => read.delete(tenantId),
  };
}

export function createToolSettings(
  ports: Pick<AppPorts, 'store' | 'clock' | 'secrets'> & { readonly recentToolSettings: RecentToolSettings },
): ToolSettings {
  const { store, clock, recentToolSettings } = ports;
  return {
    get: ({ tenantId }) => store.settings.get(tenantId, 'tools'),
    async put(principal, patch, ifMatch = null) {
      requireRole(principal, 'admin');
      const before = await store.settings.get(principal.tenantId, 'tools');
      requireMatch(ifMatch, before ? [timeTag(before.updatedAt)] : [], subject);
      const setting: Setting<'tools'> = {
        tenantId: principal.tenantId,
        name: 'tools',
        value: { toolArguments: {}, ...before?.value, ...patch },
        updatedAt: Math.max(clock.now(), (before?.updatedAt ?? 0) + 1),
        updatedBy: actorName(principal.actor),
      };
      const { settings } = recorded(ports, 'setting', principal, 'changed', 'tools', {
        details: changeBy(ports, before?.value ?? null, patch),
      });
      const ifUpdatedAt = ifMatch === null ? undefined : (before?.updatedAt ?? null);
      if (!(await settings.put(setting, ifUpdatedAt))) throw changed(subject);
      recentToolSettings.forget(principal.tenantId);
      return setting;
    },
  };
}
