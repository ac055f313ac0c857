// Arguments of approvals while the disk has little room left.
import { expect, it } from 'vitest';
import { approvalStore } from '../../../adapters/sqlite/approvals.ts';
import { Database } from '../../../adapters/sqlite/database.ts';
import { migrate } from '../../../adapters/sqlite/schema/index.ts';
import { largeArgs, maxInlineArgs } from '../../../src/approval/record.ts';
import { t0, uuid } from '../../conformance/fixtures.ts';

it('large ones are refused while only the reserve is left, others are kept', () => {
  const db = new Database(':memory:');
  migrate(db);
  let mayGrow = false;
  const approvals = approvalStore(db, () => mayGrow);
  const args = (bytes: number) => ({
    tenantId: uuid(),
    env: 'production' as const,
    id: uuid(),
    keyId: 'k',
    json: '{}',
    bytes,
    createdAt: t0,
  });
  expect(() => approvals.createArgs(args(largeArgs + 1), 1e9)).toThrow(
    expect.objectContaining({ code: 'disk_full' }),
  );
  expect(approvals.createArgs(args(maxInlineArgs + 1), 1e9)).toBe('created');
  mayGrow = true;
  expect(approvals.createArgs(args(largeArgs + 1), 1e9)).toBe('created');
  db.close();
});
