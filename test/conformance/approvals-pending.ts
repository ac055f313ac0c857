// Every store's promises about the list of pending approvals (approval/port).
import { describe, expect, it } from 'vitest';
import type { DeadlinePlace } from '../../src/approval/port.ts';
import type { Approval } from '../../src/approval/record.ts';
import type { EnvFilter } from '../../src/shared/ids.ts';
import { runsOf, sizeFor } from '../runs.ts';
import { anApproval, firstPage, itemsOf, type Open, sharedStore, t0, uuid } from './fixtures.ts';

const byDeadline = (a: Approval, b: Approval): number => a.deadline - b.deadline || (a.id < b.id ? -1 : 1);

export function pendingApprovalsContract(name: string, open: Open): void {
  describe(`${name}: pending approvals by deadline`, () => {
    const shared = sharedStore(open);

    it('are those that are not yet due, of the environments and the filter', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const [late, first, due, decided, staging, development, twin] = [
        anApproval({ tenantId, timeoutSeconds: 90, createdAt: t0 + 3, agentId: 'dba', message: 'drop it' }),
        anApproval({ tenantId, timeoutSeconds: 20, createdAt: t0 + 1, agentId: 'dba' }),
        anApproval({ tenantId, timeoutSeconds: 1 }),
        anApproval({ tenantId, timeoutSeconds: 40 }),
        anApproval({ tenantId, timeoutSeconds: 30, env: 'staging' }),
        anApproval({ tenantId, timeoutSeconds: 50, env: 'development', sessionId: 'run-1' }),
        anApproval({ tenantId, timeoutSeconds: 50, env: 'staging' }),
      ] as const;
      for (const one of [late, first, due, decided, staging, development, twin]) await approvals.request(one);
      await approvals.request(anApproval({ timeoutSeconds: 2 }));
      const decision = { id: 'd', approved: true, decidedBy: 'ada', reason: null, decidedVia: 'console' };
      await approvals.decide(tenantId, decided.id, decision, t0);
      const now = due.deadline;
      const list = (filter: object, page = firstPage) =>
        itemsOf(approvals.listPending(tenantId, { env: null, ...filter }, page, now));
      const twins = [development, twin].sort(byDeadline);
      expect(await list({})).toEqual([first, staging, ...twins, late]);
      expect(await list({ env: 'production' })).toEqual([first, late]);
      expect(await list({ env: ['staging', 'development'] })).toEqual([staging, ...twins]);
      expect(await list({ env: [] })).toEqual([]);
      expect(await list({ agentId: 'dba' })).toEqual([first, late]);
      expect(await list({ sessionId: 'run-1' })).toEqual([development]);
      expect(await list({ since: t0 + 1, until: t0 + 2.5 })).toEqual([first]);
      expect(await list({ search: 'DROP' })).toEqual([late]);
      expect(await list({}, { limit: 2, offset: 1 })).toEqual([staging, twins[0]]);
      expect(await list({}, { ...firstPage, offset: 5 })).toEqual([]);
      expect(await itemsOf(approvals.listPending(uuid(), { env: null }, firstPage, now))).toEqual([]);
      await approvals.expire(tenantId, first.id, first.deadline);
      expect(await list({ env: 'production' })).toEqual([late]);
    });

    it('are counted behind a place, those together that are alike', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const contractsOf = (...names: readonly string[]) =>
        names.map((one) => ({ name: one, message: uuid() }));
      const pay = { tenantId, toolName: 'pay', contractName: 'limit', contracts: null };
      const requests = [
        anApproval({ ...pay, timeoutSeconds: 1 }),
        anApproval({ ...pay, timeoutSeconds: 10 }),
        anApproval({ ...pay, timeoutSeconds: 20 }),
        anApproval({ ...pay, timeoutSeconds: 30 }),
        anApproval({ ...pay, timeoutSeconds: 40, env: 'staging' }),
        anApproval({ ...pay, timeoutSeconds: 50, contracts: contractsOf('b', 'a') }),
        anApproval({ ...pay, timeoutSeconds: 60, contracts: contractsOf('b', 'a') }),
        anApproval({ ...pay, timeoutSeconds: 70, contractName: null }),
      ] as const;
      for (const one of requests) await approvals.request(one);
      const now = requests[0].deadline;
      const count = async (env: EnvFilter, after: DeadlinePlace = requests[1]) =>
        (await approvals.countAlike(tenantId, env, { deadline: after.deadline, id: after.id }, now)).map(
          (one) => [one.env, one.toolName, one.contractName, one.contractNames, one.count].join(' '),
        );
      const alike = ['production pay limit  2', 'production pay limit b,a 2', 'production pay   1'];
      expect((await count('production')).sort()).toEqual([...alike].sort());
      expect((await count(null)).sort()).toEqual([...alike, 'staging pay limit  1'].sort());
      expect(await count('production', requests[6])).toEqual(['production pay   1']);
      expect(await count([])).toEqual([]);
      expect((await count('production', { deadline: 0, id: '' }))[0]).toBe('production pay limit  3');
    });

    it('come page by page without gap or repeat, also of one deadline, and whatever became of the last', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const envs = ['production', 'staging', 'development'] as const;
      const requests = Array.from({ length: sizeFor(name, runsOf(2_500, 300), 60) }, (_, i) =>
        anApproval({ tenantId, env: envs[i % 3] ?? 'production', timeoutSeconds: 100 + Math.floor(i / 7) }),
      );
      // Few at a time: a slow store answers each within its time limit.
      for (let i = 0; i < requests.length; i += 50)
        await Promise.all(requests.slice(i, i + 50).map((approval) => approvals.request(approval)));
      const pageLimit = sizeFor(name, 97, 27);
      const ids: string[] = [];
      let after: DeadlinePlace | undefined;
      for (;;) {
        const page = { limit: pageLimit, offset: 0, ...(after ? { after } : {}) };
        const { items, more } = await approvals.listPending(tenantId, { env: null }, page, t0);
        ids.push(...items.map(({ id }) => id));
        after = items.at(-1);
        // Neither the end of the place nor a call before it moves the next page.
        if (after) await approvals.remove(tenantId, after.id);
        await approvals.request(anApproval({ tenantId, timeoutSeconds: 10 }));
        if (!more) break;
      }
      expect(ids).toEqual(requests.sort(byDeadline).map(({ id }) => id));
    }, 300_000);
  });
}
