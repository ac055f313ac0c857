// Store port of a tenant's settings: one small record under each name.
import type { Setting, SettingName } from '../rules/settings.ts';

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
