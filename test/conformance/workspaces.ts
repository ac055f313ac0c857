// Every store's promises about workspaces (tenant/port/workspaces).
import { describe, expect, it } from 'vitest';
import { hostileTexts, type Open, parallel, sharedStore, uuid } from './fixtures.ts';

export function workspacesContract(name: string, open: Open): void {
  describe(`${name}: workspaces`, () => {
    const shared = sharedStore(open);

    it('are the first tenant that is said, which may be said again', async () => {
      const { workspaces } = shared.get();
      const workspace = { issuer: 'https://issuer.example', workspaceId: uuid() };
      expect(await workspaces.getTenantId(workspace)).toBeNull();
      const tenants = Array.from({ length: 10 }, () => uuid());
      const answers = await parallel(10, (i) => workspaces.create(workspace, tenants[i] ?? ''));
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
      const tenantId = tenants[answers.indexOf('created')] ?? '';
      expect(await workspaces.getTenantId(workspace)).toBe(tenantId);
      expect(await workspaces.create(workspace, tenantId)).toBe('created');
      expect(await workspaces.getTenantId({ ...workspace, issuer: 'https://other.example' })).toBeNull();
      expect(await workspaces.hasAny(workspace.issuer)).toBe(true);
      expect(await workspaces.hasAny('https://issuer.exampl')).toBe(false);
      expect(await workspaces.hasAny('https://other.example')).toBe(false);
    });

    it('are apart, whatever their names hold', async () => {
      const { workspaces } = shared.get();
      for (const text of hostileTexts) {
        const workspace = { issuer: `https://${uuid()}`, workspaceId: text };
        expect(await workspaces.create(workspace, `t${text}`)).toBe('created');
        expect(await workspaces.getTenantId(workspace)).toBe(`t${text}`);
      }
    });
  });
}
