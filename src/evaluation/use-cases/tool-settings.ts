// A tenant's settings about its agents' tools, beside its documents. All signed-in people may read them; admins write
// them.
import type { IsolationMode } from 'reeve-agent/rules';
import { changeBy, recorded } from '../../audit/note.ts';
import { requireRole } from '../../shared/access.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { changed, type IfMatch, requireMatch, timeTag } from '../../shared/if-match.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { mergeSetting, tryMergeSetting } from '../../tenant/port/settings.ts';
import { isolationChanges, isolationOf, type Setting, type ToolWords } from '../../tenant/rules/settings.ts';

export interface ToolSettings {
  /** Null when nobody has set anything. */
  get(principal: Principal): Promise<Setting<'tools'> | null>;
  /** The tenant's least isolation of programs, at most a second old. */
  getIsolation(tenantId: string): Promise<IsolationMode>;
  /**
   * Replaces what is given; what is absent stays as it was, also if others write at the same time. When the promise
   * resolves, a mode of isolation is announced to the agents. If it rejects, the mode may be stored, but not announced:
   * a repeat announces it.
   * @param ifMatch time of the last change
   * @throws HubError forbidden, changed, unavailable
   */
  update(principal: Principal, patch: Partial<ToolWords>, ifMatch?: IfMatch): Promise<Setting<'tools'>>;
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

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets' | 'announcer'> & {
  readonly recentToolSettings: RecentToolSettings;
};

export function createToolSettings(ports: Ports): ToolSettings {
  const { store, recentToolSettings } = ports;
  return {
    get: ({ tenantId }) => store.settings.get(tenantId, 'tools'),
    getIsolation: async (tenantId) => isolationOf(await recentToolSettings.get(tenantId)),
    async update(principal, patch, ifMatch = null) {
      requireRole(principal, 'admin');
      const change = {
        name: 'tools',
        patch,
        usual: { toolArguments: {} },
        noting: (before: Setting<'tools'> | null) => {
          requireMatch(ifMatch, before ? [timeTag(before.updatedAt)] : [], subject);
          const details = changeBy(ports, before?.value ?? null, patch);
          return recorded(ports, 'setting', principal, 'changed', 'tools', { details }).settings;
        },
      } as const;
      const merge = ifMatch === null ? mergeSetting : tryMergeSetting;
      const setting = await merge(ports, principal, change);
      if (setting === null) throw changed(subject);
      recentToolSettings.forget(principal.tenantId);
      if (patch.isolation !== undefined) await announceIsolation(ports, principal.tenantId, patch.isolation);
      return setting;
    },
  };
}

/** The last announced mode is the stored one, also if others write at the same time. */
async function announceIsolation(
  { store, announcer }: Ports,
  tenantId: string,
  written: IsolationMode,
): Promise<void> {
  let announcedMode = written;
  for (;;) {
    await announcer.announce(isolationChanges(tenantId, announcedMode));
    const storedMode = isolationOf(await store.settings.get(tenantId, 'tools'));
    if (storedMode === announcedMode) return;
    announcedMode = storedMode;
  }
}
