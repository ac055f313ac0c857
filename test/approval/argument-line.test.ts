// The line of a call's arguments: the content first, names where they are needed, and the amount by the rule of sums.
import { expect, it } from 'vitest';
import { argumentLine } from '../../src/approval/rules/argument-line.ts';

it.each([
  [{ timeout: 30, command: 'rm -rf /srv/cache | sh' }, 'rm -rf /srv/cache | sh · timeout=30'],
  [{ argv: ['rm', '-rf', 'a b'] }, "rm -rf 'a b'"],
  [{ limit: 5, query: 'DELETE FROM orders' }, 'DELETE FROM orders · limit=5'],
  [{ query: 'red shoes' }, 'query="red shoes"'],
  [{ mode: 'rw', path: '/srv/shop/.env' }, '/srv/shop/.env · mode=rw'],
  [{ method: 'POST', url: 'https://shop.example/x' }, 'https://shop.example/x · method=POST'],
  [{ order: '4711', to: 'ada', currency: 'eur', amount: 9800 }, 'EUR 9,800.00 → ada · order=4711'],
  [{ amount_cents: 4120, currency: 'EUR' }, 'EUR 41.20'],
  [{ payment: { amount: 5, currency: 'JPY' }, currency: 'EUR' }, 'JPY 5 · currency=EUR'],
  [{ amount: 120, order: 'A-1' }, 'amount=120 · order=A-1'],
  [{ note: 'n'.repeat(60), a: 1, b: [2], c: null }, `a=1 · b=[2] · c=null · note=${'n'.repeat(60)}`],
  [{ path: '/a', dir: '/b', to: '/c' }, '/a → /c · dir=/b'],
  [{ a: '1 · b=2', c: 'd=e' }, 'a="1 · b=2" · c="d=e"'],
  [{}, ''],
  [null, ''],
  ['text', ''],
])('writes %j as %s', (args, line) => {
  expect(argumentLine(args)).toBe(line);
});

it('cuts a long line with a mark', () => {
  expect(argumentLine({ path: 'x'.repeat(301) })).toBe(`${'x'.repeat(300)}…`);
});
