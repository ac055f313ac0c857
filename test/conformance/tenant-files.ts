// Every store's imports of tenant files: when one begins, and until when it can be opened.
import { describe, expect, it } from 'vitest';
import type { TenantImport } from '../../src/tenant/port/files.ts';
import { aTenant, type Open, sharedStore, t0, uuid } from './fixtures.ts';

const expiresAt = t0 + 1_000;

function anImport(tenantId = aTenant().id): TenantImport {
  return {
    id: uuid(),
    tenantId,
    name: 'acme',
    createdAt: t0,
    suspendedAt: null,
    sealedKey: 'sealed',
    isOpened: false,
  };
}

export function tenantFilesContract(name: string, open: Open): void {
  describe(`${name}: imports of tenant files`, () => {
    const shared = sharedStore(open);

    it('open once, before they expire', async () => {
      const { tenantFiles, tenantRecords } = shared.get();
      const request = anImport();
      expect(await tenantFiles.open(request.id, t0)).toBe('absent');
      expect(await tenantFiles.begin(request, t0, expiresAt)).toEqual(request);
      expect(await tenantFiles.begin(request, expiresAt - 1, expiresAt + 9)).toEqual(request);
      expect(await tenantFiles.open(request.id, expiresAt)).toBe('absent');
      expect(await tenantRecords.get(request.tenantId)).toMatchObject({ removedAt: expiresAt });
      expect(await tenantFiles.get(request.id)).toEqual(request);
      expect(await tenantFiles.open(request.id, expiresAt - 1)).toBe('created');
      expect(await tenantRecords.get(request.tenantId)).toMatchObject({ removedAt: null });
      expect(await tenantFiles.open(request.id, expiresAt)).toBe('exists');
      expect(await tenantFiles.begin(request, expiresAt, expiresAt + 9)).toMatchObject({ isOpened: true });
      const another = anImport(request.tenantId);
      expect(await tenantFiles.begin(another, expiresAt, expiresAt + 9)).toBe('taken');
    });

    it('do not begin while the tenant is being removed', async () => {
      const { tenantFiles, tenantRecords } = shared.get();
      const request = anImport();
      await tenantFiles.begin(request, t0, expiresAt);
      expect(await tenantFiles.begin(anImport(request.tenantId), t0 + 5, expiresAt)).toBe('other');
      expect(await tenantRecords.get(request.tenantId)).toMatchObject({ removedAt: t0 + 5 });
      expect(await tenantFiles.begin(request, t0 + 5, expiresAt)).toBe('other');
      expect(await tenantFiles.open(request.id, t0 + 5)).toBe('absent');
      await tenantRecords.removeRecords(request.tenantId, 100);
      expect(await tenantFiles.get(request.id)).toBeNull();
      expect(await tenantFiles.begin(request, t0 + 6, expiresAt)).toBe('other');
      await tenantRecords.remove(request.tenantId);
      expect(await tenantFiles.begin(request, t0 + 7, expiresAt)).toEqual(request);
    });
  });
}
