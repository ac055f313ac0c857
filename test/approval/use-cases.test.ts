import { expect, it } from 'vitest';
import type { Approval } from '../../src/approval/record.ts';
import { Approvals } from '../../src/approval/use-cases.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Principal } from '../../src/shared/principal.ts';

const pending = {
  id: 'one',
  tenantId: 't',
  env: 'production',
  status: 'pending',
  toolArgs: null,
} as Approval;
const ann = {
  tenantId: 't',
  env: null,
  roles: new Set(['approver']),
  envRoles: null,
  actor: { kind: 'user', id: 'ann', email: 'ann@example.org' },
} as unknown as Principal;
const yes = { approved: true, reason: null, decidedVia: 'console' };

/** Approvals whose owner answers as told, one answer a question; each question takes `ms`. */
function approvalsOver(answers: readonly (HubError | Approval)[], stored = pending, ms = 0) {
  const asked: { decision: { id: string } }[] = [];
  let now = 0;
  let ids = 0;
  const approvals = new Approvals({
    store: { approvals: { getWhole: async () => stored } },
    actors: {
      async ask(_kind: string, _key: string, _type: string, body: { decision: { id: string } }) {
        const answer = answers[asked.length];
        asked.push(body);
        now += ms;
        if (answer instanceof HubError) throw answer;
        return answer;
      },
    },
    clock: { monotonic: () => now, now: () => now },
    secrets: { uuid: () => `id-${++ids}` },
  } as unknown as ConstructorParameters<typeof Approvals>[0]);
  return { approvals, asked };
}

const away = new HubError('unavailable', 'Another node has taken over. Try again shortly.');

it('a decision whose owner changed meanwhile is asked for once more, as the same decision', async () => {
  const { approvals, asked } = approvalsOver([away, { ...pending, status: 'approved' }]);
  expect(await approvals.decide(ann, 'one', yes)).toMatchObject({ status: 'approved' });
  expect(asked).toHaveLength(2);
  expect(asked[1]?.decision.id).toBe(asked[0]?.decision.id);
});

it('but not a third time, and not after somebody has waited long', async () => {
  const twice = approvalsOver([away, away]);
  await expect(twice.approvals.decide(ann, 'one', yes)).rejects.toBe(away);
  const late = approvalsOver([away], pending, 5_000);
  await expect(late.approvals.decide(ann, 'one', yes)).rejects.toBe(away);
});

it('what has ended is refused without asking its owner', async () => {
  const { approvals, asked } = approvalsOver([], { ...pending, status: 'denied' });
  await expect(approvals.decide(ann, 'one', yes)).rejects.toMatchObject({ code: 'conflict' });
  expect(asked).toEqual([]);
});
