// Every store's promises about a tenant's settings (tenant/port/settings).
import { describe, expect, it } from 'vitest';
import type { Setting } from '../../src/tenant/rules/settings.ts';
import { hostileTexts, type Open, parallel, sharedStore, t0, uuid } from './fixtures.ts';

const setting = (tenantId: string, argument: string, more: Partial<Setting> = {}): Setting => ({
  tenantId,
  name: 'tools',
  value: { toolArguments: { shell: { [argument]: 'command' } } },
  updatedAt: t0,
  updatedBy: 'ann@example.com',
  ...more,
});

export function settingsContract(name: string, open: Open): void {
  describe(`${name}: settings`, () => {
    const shared = sharedStore(open);

    it('gives back what was written last, to the tenant that wrote it', async () => {
      const { settings } = shared.get();
      const [tenantId, other] = [uuid(), uuid()];
      expect(await settings.get(tenantId, 'tools')).toBeNull();
      await settings.update(setting(tenantId, 'one'));
      const second = setting(tenantId, 'two', { updatedAt: t0 + 1, updatedBy: 'bob@example.com' });
      await settings.update(second);
      await settings.update(second);
      expect(await settings.get(tenantId, 'tools')).toEqual(second);
      expect(await settings.get(other, 'tools')).toBeNull();
    });

    it('keeps settings of several names apart, and removes one, once', async () => {
      const { settings } = shared.get();
      const [tenantId, other] = [uuid(), uuid()];
      const config = {
        provider: 'router',
        sealedKey: 'x',
        maskedKey: null,
        model: 'm',
        baseUrl: null,
      } as const;
      const ai = {
        tenantId,
        name: 'ai',
        value: config,
        updatedAt: t0,
        updatedBy: 'ann@example.com',
      } as const;
      await settings.update(setting(tenantId, 'one'));
      await settings.update(ai);
      await settings.update({ ...ai, tenantId: other });
      expect(await settings.get(tenantId, 'ai')).toEqual(ai);
      expect(await settings.remove(tenantId, 'ai')).toBe(true);
      expect(await settings.remove(tenantId, 'ai')).toBe(false);
      expect(await settings.get(tenantId, 'ai')).toBeNull();
      expect(await settings.get(tenantId, 'tools')).toEqual(setting(tenantId, 'one'));
      expect(await settings.get(other, 'ai')).toEqual({ ...ai, tenantId: other });
    });

    it('of 20 parallel first writes one stands', async () => {
      const { settings } = shared.get();
      const tenantId = uuid();
      const written = Array.from({ length: 20 }, (_, i) => setting(tenantId, `a${i}`));
      await parallel(20, (i) => settings.update(written[i] as Setting));
      expect(written).toContainEqual(await settings.get(tenantId, 'tools'));
    });

    it('of parallel writes on one state one is written', async () => {
      const { settings } = shared.get();
      const tenantId = uuid();
      const write = (at: number, after: number | null) =>
        parallel(10, (i) => settings.update(setting(tenantId, `a${i}`, { updatedAt: at + i }), after));
      expect((await write(t0, null)).filter((isWritten) => isWritten)).toHaveLength(1);
      const first = await settings.get(tenantId, 'tools');
      expect((await write(t0 + 100, first?.updatedAt ?? 0)).filter((isWritten) => isWritten)).toHaveLength(1);
      expect(await settings.update(setting(tenantId, 'b'), t0 - 1)).toBe(false);
    });

    it('keeps every name of a tool and an argument', async () => {
      const { settings } = shared.get();
      const tenantId = uuid();
      const kinds = Object.fromEntries(hostileTexts.map((text) => [`x${text}`, 'path' as const]));
      const toolArguments = Object.fromEntries(hostileTexts.map((text) => [`x${text}`, kinds]));
      const value = { toolArguments, customSelectors: ['geo'], customOperators: hostileTexts };
      await settings.update(setting(tenantId, 'a', { value }));
      expect((await settings.get(tenantId, 'tools'))?.value).toEqual(value);
    });
  });
}
