import { expect, it } from 'vitest';
import { createLog } from '../../../adapters/node/log.ts';

const lines: string[] = [];
const log = createLog({ level: 'info', destination: { write: (line) => lines.push(line) } });

it('writes one JSON line with level, time and fields', () => {
  lines.length = 0;
  log.warn({ tenantId: 't1' }, 'slow');
  log.debug({}, 'hidden');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', tenant_id: 't1', msg: 'slow' });
});

it('hides secrets by name, also below the top', () => {
  lines.length = 0;
  log.info(
    { password: 'p1', headers: { authorization: 'p2', 'set-cookie': 'p3' }, a: { b: { key: 'p4' } } },
    'x',
  );
  expect(lines[0]).not.toMatch(/p[1-4]/);
  expect(lines[0]).toContain('[redacted]');
  log.info({ apiKey: 'p5', passwordHash: 'p6', sealedSeed: 'p7' }, 'x');
  expect(lines[1]).not.toMatch(/p[5-7]/);
});
