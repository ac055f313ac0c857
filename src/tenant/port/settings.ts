// Store port of a tenant's settings: one small record under each name.
import type { Clock } from '../../shared/ports/clock.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { Setting, SettingName, SettingValues } from '../rules/settings.ts';

/** Settings by tenant and name. */
export interface SettingsStore {
  /** Null when it was never set. */
  get<N extends SettingName>(tenantId: string, name: N): Promise<Setting<N> | null>;
  /** True when this call removed it. */
  remove(tenantId: string, name: SettingName): Promise<boolean>;
  /**
   * Replaces the whole record; of parallel writes one stands. A repeat is safe.
   * @param ifUpdatedAt writes only while the record is as it was then (null: while there is none); else returns false
   */
  update(setting: Setting, ifUpdatedAt?: number | null): Promise<boolean>;
}

interface MergePorts {
  readonly store: { readonly settings: Pick<SettingsStore, 'get'> };
  readonly clock: Pick<Clock, 'now'>;
}

export interface SettingChange<N extends 'tools' | 'retention'> {
  readonly name: N;
  readonly patch: Partial<SettingValues[N]>;
  /** The value where nobody has set one. */
  readonly usual: SettingValues[N];
  /**
   * The store that records the change.
   * @throws if the present state may not be replaced
   */
  readonly noting: (before: Setting<N> | null) => Pick<SettingsStore, 'update'>;
}

/**
 * Writes single fields of a setting; the others stay.
 * @returns null if another write came first
 * @throws what `noting` throws
 */
export async function tryMergeSetting<N extends 'tools' | 'retention'>(
  { store, clock }: MergePorts,
  { tenantId, actor }: Pick<Principal, 'tenantId' | 'actor'>,
  { name, patch, usual, noting }: SettingChange<N>,
): Promise<Setting<N> | null> {
  const before = await store.settings.get(tenantId, name);
  const setting: Setting<N> = {
    tenantId,
    name,
    value: { ...usual, ...before?.value, ...patch },
    updatedAt: Math.max(clock.now(), (before?.updatedAt ?? 0) + 1),
    updatedBy: actorName(actor),
  };
  return (await noting(before).update(setting, before?.updatedAt ?? null)) ? setting : null;
}

/** The same, applied to the result of a write that came first, so that neither loses a field. */
export async function mergeSetting<N extends 'tools' | 'retention'>(
  ...request: Parameters<typeof tryMergeSetting<N>>
): Promise<Setting<N>> {
  let setting = await tryMergeSetting(...request);
  while (setting === null) setting = await tryMergeSetting(...request);
  return setting;
}
