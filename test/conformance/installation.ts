// Every store's promises about figures over all tenants (shared/ports/installation).
import { describe, expect, it } from 'vitest';
import {
  aNote,
  anApproval,
  aSigningKey,
  aTenant,
  aUser,
  hex128,
  type Open,
  sha256,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

export function installationContract(name: string, open: Open): void {
  describe(`${name}: figures of the installation`, () => {
    const shared = sharedStore(open);

    async function newTenant(): Promise<string> {
      const tenantId = uuid();
      const { tenants } = shared.get();
      await tenants.create(aTenant({ id: tenantId }), aUser({ tenantId }), aSigningKey({ tenantId }));
      return tenantId;
    }

    it('counts the pending approvals of all tenants by environment', async () => {
      const { approvals, installation } = shared.get();
      expect((await installation.figures()).pendingApprovals.staging ?? 0).toBe(0);
      const [first, second] = [await newTenant(), await newTenant()];
      const asked = [
        anApproval({ tenantId: first, env: 'staging' }),
        anApproval({ tenantId: first, env: 'production' }),
        anApproval({ tenantId: second, env: 'staging' }),
        anApproval({ tenantId: second, env: 'staging' }),
      ];
      for (const approval of asked) await approvals.request(approval);
      const ended = asked[3];
      await approvals.expire(second, ended?.id ?? '', (ended?.deadline ?? 0) + 1);
      const { pendingApprovals } = await installation.figures();
      expect(pendingApprovals).toMatchObject({ staging: 2, production: 1 });
      expect(pendingApprovals.development ?? 0).toBe(0);
    });

    it('knows since when an audit entry waits for a signed head, over all tenants', async () => {
      const { audit, installation } = shared.get();
      const [first, second] = [await newTenant(), await newTenant()];
      const sign = (tenantId: string, seq: number) =>
        audit.createHead({
          tenantId,
          seq,
          digest: sha256(String(seq)),
          signedAt: t0 + seq,
          keyId: '0123456789abcdef',
          publicKey: sha256('key'),
          signature: hex128(String(seq)),
        });
      const since = async () => (await installation.figures()).unsignedSince;
      expect(await since()).toBeNull();
      for (const at of [1000, 2000, 3000]) await audit.append([aNote({ tenantId: first, at: t0 + at })]);
      await audit.append([aNote({ tenantId: second, at: t0 + 2500 })]);
      expect(await since()).toBe(t0 + 1000);
      await sign(first, 1);
      expect(await since()).toBe(t0 + 2000);
      await sign(first, 3);
      expect(await since()).toBe(t0 + 2500);
      await sign(second, 1);
      expect(await since()).toBeNull();
    });

    it('tells the bytes of the database, or nothing', async () => {
      const { storeBytes } = await shared.get().installation.figures();
      if (storeBytes !== null) expect(storeBytes).toBeGreaterThan(4096);
    });
  });
}
