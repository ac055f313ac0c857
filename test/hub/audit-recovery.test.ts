// Recovery of audit entries from nodes that died: entries of writes that may be under way are left to their node.
import { expect, it } from 'vitest';
import type { AuditStore } from '../../src/audit/port.ts';
import { startAuditRecovery } from '../../src/hub/audit-recovery.ts';
import { pulseMs, silentMs } from '../../src/shared/ports/membership.ts';
import { ManualClock, settled } from '../clock.ts';
import { noLog } from '../cluster/stage.ts';

type Gone = NonNullable<Parameters<AuditStore['recover']>[2]>;

it('records what a silent node began before it fell silent, and looks again for what was too young', async () => {
  const clock = new ManualClock();
  let silent: readonly string[] = [];
  const looks: Gone[] = [];
  const recovery = startAuditRecovery({
    audit: {
      async recover(_before, _limit, gone) {
        if (gone) looks.push(gone);
        return 0;
      },
    },
    members: { pulse: async () => silent },
    clock,
    log: noLog,
  });
  const pulse = async (): Promise<readonly number[]> => {
    clock.advance(pulseMs);
    await settled();
    return looks.splice(0).map(({ isGone, before }) => {
      expect([isGone('dies'), isGone('lives')]).toEqual([true, false]);
      return clock.now() - before;
    });
  };
  expect(await pulse()).toEqual([]);
  silent = ['dies'];
  expect(await pulse()).toEqual([silentMs]);
  silent = [];
  expect(await pulse()).toEqual([silentMs]);
  expect(await pulse()).toEqual([]);
  recovery.gone(['dies']);
  expect(looks.map(({ before }) => clock.now() - before)).toEqual([silentMs]);
  recovery.stop();
});
