// Streams that are opened at once: a storm waits its turn, and one tenant's does not hold up another's.
import { expect, it } from 'vitest';
import type { Caller } from '../../src/http/contract/call.ts';
import { createOpenings } from '../../src/http/openings.ts';
import { memberRoles } from '../../src/shared/env-roles.ts';
import { ManualClock } from '../clock.ts';

const callerOf = (tenantId: string): Caller => ({
  kind: 'user',
  tenantId,
  userId: 'u',
  email: 'a@example.com',
  roles: memberRoles,
  tokenHash: 'x',
});
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('opens 512 of a tenant at once, the others in turn, and those of another tenant beside them', async () => {
  const openings = createOpenings(new ManualClock());
  let opening = 0;
  let highest = 0;
  const done: (() => void)[] = [];
  const open = () =>
    new Promise<void>((resolve) => {
      highest = Math.max(highest, ++opening);
      done.push(() => {
        opening--;
        resolve();
      });
    });
  const storm = Promise.all(Array.from({ length: 3000 }, () => openings(callerOf('acme'), open)));
  await turn();
  expect(opening).toBe(512);
  const other = openings(callerOf('bolt'), async () => 'open');
  expect(await other).toBe('open');
  while (done.length > 0) {
    for (const finish of done.splice(0)) finish();
    await turn();
  }
  expect((await storm).length).toBe(3000);
  expect(highest).toBe(512);
});

it('refuses one that waited for 30 s, with a time to come again', async () => {
  const clock = new ManualClock();
  const openings = createOpenings(clock);
  const never = () => new Promise<void>(() => {});
  for (let i = 0; i < 512; i++) void openings(callerOf('acme'), never);
  const late = openings(callerOf('acme'), never);
  clock.advance(30_000);
  await expect(late).rejects.toMatchObject({ code: 'overloaded', detail: { retryAfter: 1 } });
});
