// The tenant's tools as the playground knows them: read once a second, seen at once where they were written.
import { expect, it } from 'vitest';
import { createRecentToolSettings } from '../../src/evaluation/use-cases/tool-settings.ts';
import type { Store } from '../../src/shared/ports/store.ts';
import type { Setting } from '../../src/tenant/rules/settings.ts';
import { ManualClock } from '../clock.ts';

const setting = (customSelectors: readonly string[]): Setting<'tools'> => ({
  tenantId: 'a',
  name: 'tools',
  value: { toolArguments: {}, customSelectors },
  updatedAt: 0,
  updatedBy: 'a@example.com',
});

/** Settings that count who reads them. */
function counted() {
  const clock = new ManualClock();
  const stored = new Map<string, Setting<'tools'>>();
  const reads: string[] = [];
  const settings = {
    get: async (tenantId: string) => {
      reads.push(tenantId);
      return stored.get(tenantId) ?? null;
    },
  };
  const store = { settings } as unknown as Store;
  return { clock, stored, reads, recent: createRecentToolSettings({ store, clock }) };
}

it('reads a tenant’s settings once a second, also when there are none', async () => {
  const { clock, stored, reads, recent } = counted();
  expect([await recent.get('a'), await recent.get('a'), await recent.get('b')]).toEqual([null, null, null]);
  expect(reads).toEqual(['a', 'b']);
  stored.set('a', setting(['geo']));
  clock.advance(999);
  expect(await recent.get('a')).toBeNull();
  clock.advance(1);
  expect((await recent.get('a'))?.value.customSelectors).toEqual(['geo']);
  expect(reads).toEqual(['a', 'b', 'a']);
});

it('reads again what was forgotten, of that tenant alone', async () => {
  const { stored, reads, recent } = counted();
  await recent.get('a');
  await recent.get('b');
  stored.set('a', setting(['geo']));
  recent.forget('a');
  expect((await recent.get('a'))?.value.customSelectors).toEqual(['geo']);
  await recent.get('b');
  expect(reads).toEqual(['a', 'b', 'a']);
});
