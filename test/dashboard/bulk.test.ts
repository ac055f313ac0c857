// Many calls decided together: only those that are alike can be approved, through a sheet that shows what differs; a
// decision is held for five seconds, and leaving the page drops it.

import { describe, expect, it } from 'vitest';
import { growth, maxGrowth } from '../../packages/agent/test/cpu.ts';
import { maxRows } from '../../src/dashboard/lib/text.ts';
import {
  compareArguments,
  differingArguments,
  groupAlike,
  moneyIn,
  sumArguments,
} from '../../src/dashboard/pages/approvals/alike.ts';
import type { Approval } from '../../src/dashboard/pages/approvals/model.ts';
import { maxRemembered, withNewest } from '../../src/dashboard/pages/approvals/remembered.ts';
import { itAtNight } from '../runs.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

const { hub, cookie, key } = await tenantWithKey();

const statusOf = async (id: string): Promise<string> =>
  (await hub.call('GET', `/api/v1/approvals/${id}`, { cookie })).body.status;

const refunds = (name: string, count: number): Promise<string[]> =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      ask(
        hub,
        key,
        {
          tool_name: name,
          timeout: 1_000 + n,
          contract_name: 'large-refunds',
          tool_args: { amount: 100.1 * (n + 1), currency: 'EUR', order: `A-${n}`, queue: 'shop' },
        },
        `${name}-agent-${n}`,
      ),
    ),
  );

/** The page of these calls, all of them selected. */
async function selected(name: string, count: number, size: { width?: number; height?: number } = {}) {
  const visit = await view(hub.url, { cookie, ...size });
  const { page } = visit;
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PUT') sent.push(request.url());
  });
  // The page's clock is the test's: five seconds pass when it says so.
  await page.clock.install();
  await page.goto(`/dashboard/inbox?search=${name}`);
  await page.getByRole('checkbox', { name: `Select all ${count}` }).check();
  return { visit, page, sent, bar: page.getByRole('region', { name: 'Bulk decision' }) };
}

describe('approving many', { timeout: 60_000 }, () => {
  it('shows in a sheet what differs and the sums, and sends after five seconds', async () => {
    const ids = await refunds('refund_all', 3);
    const { visit, page, sent, bar } = await selected('refund_all', 3);
    await bar.getByRole('button', { name: 'Approve 3' }).click();
    const sheet = page.getByRole('dialog', { name: 'Approve 3 calls' });
    await sheet.getByText('EUR 600.60').waitFor();
    await sheet.getByText('large-refunds').waitFor();
    await sheet.getByText('EUR 300.30').waitFor();
    await expect.poll(() => sheet.getByText('shop', { exact: true }).count()).toBe(1);
    await accessible(page);
    // In production, with several different arguments.
    expect(await sheet.getByRole('button', { name: 'Approve 3' }).isDisabled()).toBe(true);
    await sheet.getByLabel('Type 3 to approve').fill('3');
    await sheet.getByRole('button', { name: 'Approve 3' }).click();
    await bar.getByText(/^Approving 3 calls/).waitFor();
    await page.clock.fastForward(4_000);
    expect(sent).toEqual([]);
    await page.clock.fastForward(1_100);
    await page.getByText('3 calls approved.').waitFor();
    expect(await Promise.all(ids.map(statusOf))).toEqual(['approved', 'approved', 'approved']);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('has the number typed where several paths of one argument differ', async () => {
    await Promise.all(
      [1, 2].map((n) =>
        ask(
          hub,
          key,
          {
            tool_name: 'nested_pay',
            timeout: 1_000 + n,
            tool_args: { payment: { iban: `DE${n}`, amount: n * 20, currency: 'EUR' } },
          },
          `nested-agent-${n}`,
        ),
      ),
    );
    const { visit, page, bar } = await selected('nested_pay', 2);
    await page.getByRole('grid', { name: 'Approvals' }).getByText('Σ EUR 60.00').waitFor();
    await bar.getByRole('button', { name: 'Approve 2' }).click();
    const sheet = page.getByRole('dialog', { name: 'Approve 2 calls' });
    await sheet.getByText('EUR 60.00').waitFor();
    await sheet.locator('.read-end').scrollIntoViewIfNeeded();
    const send = sheet.getByRole('button', { name: 'Approve 2' });
    await sheet.getByText('To approve, first read the arguments to the end.').waitFor({ state: 'detached' });
    expect(await send.isDisabled()).toBe(true);
    await sheet.getByLabel('Type 2 to approve').fill('2');
    await expect.poll(() => send.isEnabled()).toBe(true);
    noFaults(visit);
    await visit.context.close();
  });

  it('waits until the sheet was in view to its end, at 360 px too', async () => {
    await refunds('refund_phone', 12);
    const { visit, page, bar } = await selected('refund_phone', 12, { width: 360, height: 740 });
    await bar.getByRole('button', { name: 'Approve 12' }).click();
    const sheet = page.getByRole('dialog', { name: 'Approve 12 calls' });
    const send = sheet.getByRole('button', { name: 'Approve 12' });
    await sheet.getByText('To approve, first read the arguments to the end.').waitFor();
    expect(await send.isDisabled()).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await accessible(page);
    await sheet.locator('.read-end').scrollIntoViewIfNeeded();
    await sheet.getByText('To approve, first read the arguments to the end.').waitFor({ state: 'detached' });
    expect(await send.isDisabled()).toBe(true);
    await sheet.getByLabel('Type 12 to approve').fill('12');
    await expect.poll(() => send.isEnabled()).toBe(true);
    noFaults(visit);
    await visit.context.close();
  });

  it('is for calls of one tool, contract and environment; denying may be mixed', async () => {
    const [first] = await refunds('unlike_refund', 2);
    const other = await ask(hub, key, { tool_name: 'unlike_deploy', timeout: 900 }, 'unlike-agent');
    const { visit, page, bar } = await selected('unlike_', 3);
    expect(await bar.getByRole('button', { name: 'Approve 3' }).isDisabled()).toBe(true);
    await bar.getByText(/^You can approve calls together only if/).waitFor();
    await accessible(page);
    await bar.getByRole('button', { name: '2 × unlike_refund · large-refunds · production' }).click();
    await expect.poll(() => bar.getByRole('button', { name: 'Approve 2' }).isEnabled()).toBe(true);
    await page.getByRole('checkbox', { name: 'Select all 3' }).check();
    await bar.getByRole('button', { name: 'Deny 3' }).click();
    await page.clock.fastForward(5_100);
    await page.getByText('3 calls denied.').waitFor();
    expect([await statusOf(first ?? ''), await statusOf(other)]).toEqual(['denied', 'denied']);
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a decision about many', { timeout: 60_000 }, () => {
  itAtNight('reloads the list once after its last call, not after each', async () => {
    await refunds('reload_once', 30);
    const { visit, page, bar } = await selected('reload_once', 30);
    const lists: string[] = [];
    let answers = 0;
    await page.route('**/api/v1/approvals/*', async (route) => {
      if (route.request().method() !== 'PUT') return route.continue();
      answers += 1;
      await route.fulfill({ status: 422, json: { error: 'invalid', detail: 'The hub refuses this call.' } });
    });
    page.on('request', (request) => {
      if (answers > 0 && new URL(request.url()).pathname === '/api/v1/approvals') lists.push(request.url());
    });
    await bar.getByRole('button', { name: 'Deny 30' }).click();
    await page.clock.fastForward(5_100);
    await page.getByText('no calls denied, 30 failed and still selected.').waitFor();
    await bar.getByText('The hub refuses this call.').waitFor();
    await page.waitForTimeout(500);
    expect(answers).toBe(30);
    expect(lists.length).toBeGreaterThan(0);
    expect(new Set(lists).size).toBe(lists.length);
    await visit.context.close();
  });

  it('is taken back before it is sent', async () => {
    const [id = ''] = await refunds('taken_back', 2);
    const { visit, page, sent, bar } = await selected('taken_back', 2);
    await bar.getByRole('button', { name: 'Deny 2' }).click();
    await bar.getByText(/^Denying 2 calls/).waitFor();
    await accessible(page);
    // The open call is one of them, and is not decided twice.
    const card = page.getByRole('article', { name: 'Approval of taken_back' });
    const buttons = ['Approve', 'Deny'].map((name) => card.getByRole('button', { name }));
    await card.getByText('To decide it alone, undo that decision.', { exact: false }).waitFor();
    for (const button of buttons) expect(await button.isDisabled()).toBe(true);
    await bar.getByRole('button', { name: 'Undo' }).click();
    for (const button of buttons) await expect.poll(() => button.isEnabled()).toBe(true);
    await page.getByText('Decision taken back. Nothing was sent.').waitFor();
    await page.clock.fastForward(10_000);
    await bar.getByRole('button', { name: 'Deny 2' }).waitFor();
    expect(sent).toEqual([]);
    expect(await statusOf(id)).toBe('pending');
    noFaults(visit);
    await visit.context.close();
  });

  it('counts a call apart whose own decision was sent before', async () => {
    const [id = ''] = await refunds('counted_apart', 2);
    const { visit, page, bar } = await selected('counted_apart', 2);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(`**/api/v1/approvals/${id}`, async (route) => {
      if (route.request().method() === 'PUT') await released;
      await route.continue();
    });
    const card = page.getByRole('article', { name: 'Approval of counted_apart' });
    await page
      .getByRole('grid', { name: 'Approvals' })
      .getByRole('button', { name: /agent-0/ })
      .click();
    const approve = card.getByRole('button', { name: 'Approve' });
    await approve.click();
    await expect.poll(() => approve.getAttribute('aria-busy')).toBe('true');
    await bar.getByRole('button', { name: 'Deny 2' }).click();
    await page.clock.fastForward(5_100);
    await page.getByText('1 call denied, 1 already decided by you.').waitFor();
    release();
    await expect.poll(() => statusOf(id)).toBe('approved');
    noFaults(visit);
    await visit.context.close();
  });

  it('asks before the page is left, and is dropped with it', async () => {
    const [id = ''] = await refunds('dropped', 2);
    const { visit, page, sent, bar } = await selected('dropped', 2);
    await bar.getByRole('button', { name: 'Deny 2' }).click();
    await page.getByRole('link', { name: 'Changes' }).click();
    const question = page.getByRole('dialog', { name: 'Discard unsent decision?' });
    await question.waitFor();
    await accessible(page);
    // Nothing is sent under the question.
    await page.clock.fastForward(20_000);
    await question.getByRole('button', { name: 'Stay on page' }).click();
    await bar.getByText(/^Denying 2 calls/).waitFor();
    expect(sent).toEqual([]);
    await page.getByRole('link', { name: 'Changes' }).click();
    await question.getByRole('button', { name: 'Discard decision' }).click();
    await page.getByRole('heading', { name: 'Changes', level: 1 }).waitFor();
    await page.clock.fastForward(20_000);
    expect(sent).toEqual([]);
    expect(await statusOf(id)).toBe('pending');
    noFaults(visit);
    await visit.context.close();
  });

  it('keeps its question where nothing is listed, and asks before another query, too', async () => {
    const ids = await refunds('none_listed', 2);
    const { visit, page, bar } = await selected('none_listed', 2, { width: 800 });
    await bar.getByRole('button', { name: 'Deny 2' }).click();
    await page.getByRole('link', { name: 'Changes' }).click();
    const question = page.getByRole('dialog', { name: 'Discard unsent decision?' });
    await question.waitFor();
    const body = { approved: true, decided_via: 'dashboard' };
    for (const id of ids) await hub.call('PUT', `/api/v1/approvals/${id}`, { cookie, body });
    await page.getByText('No pending approvals match these filters').waitFor({ state: 'attached' });
    await question.getByRole('button', { name: 'Stay on page' }).click();
    await bar.getByText(/^Denying 2 calls/).waitFor();
    const query = page.getByRole('combobox', { name: 'Query' });
    await query.fill('tool:another');
    await query.press('Enter');
    await question.getByRole('button', { name: 'Stay on page' }).click();
    await bar.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Decision taken back. Nothing was sent.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('asks, by the browser, before the tab is closed', async () => {
    const [id = ''] = await refunds('closed', 2);
    const { visit, page, sent, bar } = await selected('closed', 2);
    await bar.getByRole('button', { name: 'Deny 2' }).click();
    await bar.getByText(/^Denying 2 calls/).waitFor();
    const question = page.waitForEvent('dialog').then(async (dialog) => {
      expect(dialog.type()).toBe('beforeunload');
      await dialog.accept();
    });
    await Promise.all([question, page.reload()]);
    await page.getByRole('checkbox', { name: 'Select all 2' }).waitFor();
    await page.clock.fastForward(20_000);
    expect(sent).toEqual([]);
    expect(await statusOf(id)).toBe('pending');
    noFaults(visit);
    await visit.context.close();
  });
});

const call = (over: object): Approval =>
  ({
    tool_name: 't',
    contract_name: 'c',
    contracts: null,
    env: 'production',
    tool_args: {},
    ...over,
  }) as Approval;

it('decisions are remembered up to a limit, the newest last', () => {
  let entries: ReadonlyMap<string, number> = new Map();
  for (let n = 0; n < maxRemembered + 2; n += 1) entries = withNewest(entries, `call-${n}`, n);
  entries = withNewest(entries, 'call-2', -1);
  entries = withNewest(entries, 'another', 0);
  expect(entries.size).toBe(maxRemembered);
  // All loaded rows can be selected and decided, without loss of the first decisions.
  expect(maxRemembered).toBeGreaterThanOrEqual(maxRows);
  expect([...entries.keys()][0]).toBe('call-4');
  expect(entries.get('call-2')).toBe(-1);
});

describe('calls that are alike', () => {
  it('are grouped in linear time', () => {
    const group = (n: number) => {
      const calls = Array.from({ length: n }, (_, i) => call({ id: String(i) }));
      expect(groupAlike(calls)[0]?.calls.length).toBe(n);
    };
    expect(growth(group, 10_000)).toBeLessThan(maxGrowth);
  });

  it('have one tool, the same contracts and one environment', () => {
    const several = { contracts: [{ name: 'c' }, { name: 'd' }] };
    const groups = groupAlike([
      call({}),
      call({ tool_name: 'u' }),
      call({ env: 'staging' }),
      call({ contract_name: null }),
      call(several),
      call({ tool_args: { other: 1 } }),
      call(several),
    ]);
    expect(groups.map(({ calls }) => calls.length)).toEqual([2, 1, 1, 1, 2]);
  });

  it('differ by arguments that one of them lacks, or has otherwise', () => {
    const compared = compareArguments([
      call({ tool_args: { a: 1, b: [1], c: null } }),
      call({ tool_args: { a: 1, b: [2] } }),
    ]);
    expect(compared).toEqual({ same: { a: 1 }, differing: [{ b: [1], c: null }, { b: [2] }] });
    expect(compareArguments([call({ tool_args: null }), call({ tool_args: null })])).toEqual({
      same: {},
      differing: [{}, {}],
    });
  });

  it('differ by each path of their arguments, by neither agent nor principal', () => {
    const paid = (payment: object, agent_id: string): Approval =>
      call({ tool_args: { payment, lines: [agent_id] }, agent_id, principal: { user: agent_id } });
    const calls = [paid({ iban: 'A', amount: 1, currency: 'EUR' }, 'a'), paid({ iban: 'B', amount: 2 }, 'a')];
    expect(differingArguments(calls)).toEqual([
      'args.payment.amount',
      'args.payment.currency',
      'args.payment.iban',
    ]);
    expect(differingArguments([paid({}, 'a'), paid({}, 'b')])).toEqual(['args.lines']);
    expect(differingArguments([call({ tool_args: null }), call({ tool_args: null })])).toEqual([]);
  });

  it('sum up their amounts as the hub does, and each other number, by currency', () => {
    const args = (tool_args: object): Approval => call({ tool_args });
    expect(
      sumArguments([
        args({ amount: 0.1, currency: 'EUR', n: 2, order: 'A-1' }),
        args({ amount: 0.2, currency: 'EUR', n: 3, fee: 0.1 }),
        args({ amount: 5, currency: 'USD', n: 5 }),
        args({ amount_cents: 1_050, currency: 'EUR' }),
        args({ payment: { total: '2.25', currency: 'EUR' } }),
      ]),
    ).toEqual([
      { name: 'amount', total: 'EUR 13.05', calls: 4 },
      { name: 'amount', total: 'USD 5.00', calls: 1 },
      { name: 'n', total: '10', calls: 3 },
      { name: 'fee', total: 'EUR 0.10', calls: 1 },
    ]);
  });

  it('show the sum of each currency at the head of their group', () => {
    const calls = [
      { fee: 1, amount: 40, currency: 'EUR' },
      { fee: 1, amount: 9, currency: 'USD' },
      { fee: 1, amount: 2, currency: 'EUR' },
    ].map(({ fee, ...args }) => call({ tool_args: { ...args, fee } }));
    expect(moneyIn(calls)).toBe('EUR 42.00, USD 9.00');
    expect(moneyIn([call({})])).toBe('');
  });
});
