// Events in the console: filters in the address, one call in a panel with its run, and the download.
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight, rowsOfRun } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { someEvents } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();

const send = async (events: readonly object[]): Promise<void> => {
  const { status } = await hub.call('POST', '/api/v1/events', {
    key,
    agent: 'shop-agent-0',
    body: { events },
  });
  expect(status).toBe(200);
};

beforeAll(async () => {
  await send(someEvents(600));
});

describe('the events page', () => {
  it('narrows by facets and text, opens one call, and moves on by keys', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore');
    const filters = page.getByRole('complementary', { name: 'Filters' });
    await filters.getByText('600 matching events').waitFor();
    await accessible(page);
    await filters.getByRole('button', { name: /^refund/ }).click();
    await filters.getByText('120 matching events').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('tool:refund');
    // A text with a mistake is not sent: it is underlined, with what was expected.
    const query = page.getByRole('combobox', { name: 'Query' });
    await query.fill('verdict:nonsense');
    await query.press('Enter');
    await page
      .getByRole('alert')
      .getByText(/position \d+, expected one of allowed, denied/)
      .waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('tool:refund');
    // Completions: a field, then the rest by hand.
    await query.fill('tool:refund cal');
    await page.getByRole('option', { name: 'call:' }).waitFor();
    await accessible(page);
    await query.press('Tab');
    expect(await query.inputValue()).toBe('tool:refund call:');
    await query.fill('tool:refund call:call-596');
    await query.press('Enter');
    await filters.getByText('1 matching event').waitFor();
    await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'refund' }).first().click();
    const panel = page.getByRole('complementary', { name: 'Event', exact: true });
    await panel.getByText('A-1596').first().waitFor();
    await accessible(page);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'hidden' });
    await page.goBack();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('keeps its rows where they are when the chart above them comes', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/api/v1/events/histogram*', async (route) => {
      await released;
      await route.continue();
    });
    await page.goto('/dashboard/explore');
    await page.getByRole('complementary', { name: 'Filters' }).getByText('matching events').waitFor();
    const row = page.getByRole('grid', { name: 'Events' }).getByRole('row').nth(1);
    const before = await row.boundingBox();
    release();
    const chart = page.getByRole('slider', { name: 'Calls over time' });
    await chart.locator('canvas').waitFor();
    expect(before).not.toBeNull();
    expect(await row.boundingBox()).toEqual(before);
    noFaults(visit);
    await visit.context.close();
  });

  it('has the time first, opens by a press on any cell, and shows what each condition compared', async () => {
    const yaml = 'apiVersion: service/v1\nkind: ContractBundle\nmetadata:\n  name: desk\n'.concat(
      'defaults:\n  mode: enforce\ncontracts:\n  - id: first\n    type: pre\n    tool: other\n',
      '    when: {args.a: {equals: 1}}\n    then: {effect: deny, message: No}\n  - id: no-payout\n',
      '    type: pre\n    tool: payout\n    when: {args.sum: {gt: 500}}\n',
      '    then: {effect: deny, message: "Too large"}\n',
    );
    const upload = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml } });
    expect(upload.status).toBeLessThan(300);
    const condition = { path: 'args.sum', operator: 'gt', expected: 500, actual: 731, result: 'yes' };
    await send([
      {
        call_id: 'payout-1',
        agent_id: 'desk-agent',
        tool_name: 'payout',
        verdict: 'call_denied',
        mode: 'enforce',
        timestamp: '2026-03-05T10:00:00.123Z',
        payload: {
          tool_args: { sum: 731, note: 'for Zanzibar' },
          decision_name: 'no-payout',
          reason: 'Too large for Ann',
          policy_version: upload.body.revision_hash,
          conditions: [condition, { ...condition, path: 'args.note', result: 'skipped' }],
        },
      },
    ]);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?from=2026-03-05T00:00:00Z&to=2026-03-06T00:00:00Z&search=zanzibar');
    const table = page.getByRole('grid', { name: 'Events' });
    const row = table.getByRole('row').nth(1);
    await row.getByText('sum=731 · note="for Zanzibar"').waitFor();
    await expect.poll(() => table.getByRole('columnheader').first().textContent()).toBe('Time');
    await expect.poll(() => row.getByRole('gridcell').first().textContent()).toContain('11:00:00.123');
    expect((await row.boundingBox())?.height).toBeLessThanOrEqual(33);
    await page.getByRole('combobox', { name: 'Time zone' }).selectOption('utc');
    await row.getByText('10:00:00.123').waitFor();
    const query = page.getByRole('combobox', { name: 'Query' });
    expect(await query.inputValue()).toBe('"zanzibar"');
    await query.fill('"large for ann" args.sum:>700');
    await query.press('Enter');
    await page.getByRole('complementary', { name: 'Filters' }).getByText('1 matching event').waitFor();
    await row.getByText('Too large for Ann').click();
    const panel = page.getByRole('complementary', { name: 'Event', exact: true });
    const explain = panel.getByRole('region', { name: 'Explain', exact: true });
    await explain.getByText('recorded', { exact: true }).waitFor();
    await explain.getByText('731').first().waitFor();
    await expect
      .poll(() => explain.locator('.explain-condition').allTextContents())
      .toEqual([
        expect.stringMatching(/^args\.sum gt 500 metactual 731$/),
        expect.stringMatching(/^args\.note.*not reached/),
      ]);
    const contract = explain.getByRole('list', { name: 'Contract' });
    await contract.getByText('id: no-payout').waitFor();
    expect(await contract.textContent()).not.toContain('id: first');
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  it('groups the calls by a field, with sums that agree, and leads from a group to its calls', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore');
    await page.getByLabel('Group by').selectOption('By tool');
    const groups = page.getByRole('grid', { name: 'Calls by tool' });
    const rows = groups.getByRole('row').filter({ has: page.getByRole('link') });
    await page.getByText(/^600 of 600 events in 5 groups$/).waitFor();
    await expect.poll(() => rows.count()).toBe(5);
    await expect.poll(() => groups.getByText('…').count()).toBe(0);
    // Each verdict ribbon adds up to the number beside it, and all rows to the whole.
    let sum = 0;
    for (const row of await rows.all()) {
      const calls = Number(await row.getByRole('gridcell').nth(1).textContent());
      const words = await row.getByRole('img').first().getAttribute('aria-label');
      const parts = [...(words ?? '').matchAll(/\d+/g)].map(([part]) => Number(part));
      expect(parts.reduce((total, part) => total + part, 0)).toBe(calls);
      sum += calls;
    }
    expect(sum).toBe(600);
    await accessible(page, 'twice');
    // Words of arguments are counted from the rows in the browser.
    const query = page.getByRole('combobox', { name: 'Query' });
    const text = 'args.amount:>=120 verdict:denied';
    // Where words are offered just then, Enter takes the first of them.
    const send = async (): Promise<string | null> => {
      await query.fill(text);
      await query.press('Enter');
      return new URL(page.url()).searchParams.get('q');
    };
    await expect.poll(send).toBe(text);
    await page.getByText(/^20 of 20 events in 1 group$/).waitFor();
    await rows.getByRole('link', { name: 'refund' }).click();
    await page.getByRole('grid', { name: 'Events' }).getByRole('row').nth(20).waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('args.amount:>=120 verdict:denied tool:refund');
    expect(new URL(page.url()).searchParams.get('group')).toBeNull();
    await page.goBack();
    await groups.waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('saves its query as a view, opens it again from the menu, and deletes it', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore');
    const save = page.getByRole('button', { name: 'Save view' });
    await save.waitFor();
    expect(await save.isDisabled()).toBe(true);
    await page.goto('/dashboard/explore?q=tool%3Arefund');
    await save.click();
    const dialog = page.getByRole('dialog', { name: 'Save view' });
    await accessible(page);
    await dialog.getByLabel('Name').fill('All refunds');
    await dialog.getByRole('checkbox', { name: 'Shared with everybody' }).check();
    await dialog.getByRole('button', { name: 'Save view' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect((await hub.call('GET', '/api/v1/views', { cookie })).body).toMatchObject([
      { page: 'explore', name: 'All refunds', query: 'tool:refund', shared: true, own: true },
    ]);
    // A view belongs to its page.
    const own = (body: object) =>
      hub.call('POST', '/api/v1/views', { cookie, body: { shared: false, ...body } });
    const others = [
      ['inbox', '', 'tool:deploy'],
      ['fleet', '?view=agents', 'is:away'],
      ['runs', '', 'is:denied'],
      ['audit', '', 'subject:key'],
    ] as const;
    for (const [name, search, query] of rowsOfRun(others, 1)) {
      expect((await own({ page: name, name: `Of ${name}`, query })).status).toBe(201);
      await page.goto(`/dashboard/${name}${search}`);
      await page.getByRole('button', { name: 'Views', exact: true }).waitFor();
      await accessible(page);
      await page.getByRole('button', { name: 'Views', exact: true }).click();
      await expect.poll(() => page.getByRole('menuitem').allTextContents()).toEqual([`Of ${name}`]);
      await page.getByRole('menuitem', { name: `Of ${name}` }).click();
      await page.waitForURL((url) => url.searchParams.has('q'));
      await save.click();
      await dialog.getByRole('button', { name: `Delete view Of ${name}` }).click();
      await dialog.getByRole('region', { name: 'Own views' }).waitFor({ state: 'hidden' });
    }
    await page.goto('/dashboard/explore?q=tool%3Aread_file');
    await page.getByRole('button', { name: 'Views', exact: true }).click();
    await page.getByRole('menuitem', { name: /^All refunds/ }).click();
    await page.waitForURL((url) => url.searchParams.get('q') === 'tool:refund');
    await save.click();
    await dialog.getByRole('button', { name: 'Delete view All refunds' }).click();
    await dialog.getByRole('region', { name: 'Own views' }).waitFor({ state: 'hidden' });
    expect((await hub.call('GET', '/api/v1/views', { cookie })).body).toEqual([]);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('shows a run from its first call to its last', async () => {
    const at = (n: number): string => new Date(Date.now() - 60_000 + n * 1000).toISOString();
    await send(
      [1, 2, 3].map((n) => ({
        call_id: `run-call-${n}`,
        agent_id: 'runner',
        tool_name: `step_${n}`,
        verdict: 'call_allowed',
        mode: 'enforce',
        timestamp: at(n),
        payload: { run_id: 'run-7', parent_call_id: n === 3 ? 'run-call-2' : null, tool_args: { n } },
      })),
    );
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?run_id=run-7');
    await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'step_2' }).click();
    const steps = page
      .getByRole('complementary', { name: 'Event', exact: true })
      .getByRole('listitem')
      .filter({ hasText: 'step_' });
    await steps.first().waitFor();
    await expect
      .poll(() => steps.getByRole('link').allTextContents())
      .toEqual(['step_1', 'step_2', 'step_3']);
    noFaults(visit);
    await visit.context.close();
  });

  it('takes the value under the pointer into the query, or leaves it out', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore');
    const query = page.getByRole('combobox', { name: 'Query' });
    const grid = page.getByRole('grid', { name: 'Events' });
    const tools = grid.getByRole('gridcell', { name: 'refund', exact: true });
    await tools.first().hover();
    await accessible(page);
    await page.getByRole('button', { name: 'Only tool refund' }).click();
    await expect.poll(() => query.inputValue()).toBe('tool:refund');
    // The key of the other button.
    await tools.first().hover();
    await page.getByRole('button', { name: 'Without tool refund' }).waitFor();
    await page.keyboard.press('-');
    await expect.poll(() => query.inputValue()).toBe('-tool:refund');
    await grid.getByRole('row').nth(1).waitFor();
    await expect.poll(() => tools.count()).toBe(0);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('shows of a long run the newest 200 calls, and at a press those before', async () => {
    const began = Date.now() - 300_000;
    await send(
      Array.from({ length: 450 }, (_, n) => ({
        call_id: `long-${n}`,
        agent_id: 'runner',
        tool_name: `long_${n}`,
        verdict: 'call_allowed',
        mode: 'enforce',
        timestamp: new Date(began + n * 100).toISOString(),
        payload: { run_id: 'run-long', tool_args: { n } },
      })),
    );
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?run_id=run-long');
    await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'long_449' }).click();
    const panel = page.getByRole('complementary', { name: 'Event', exact: true });
    const steps = panel.getByRole('listitem').filter({ hasText: /^.*long_/ });
    await expect.poll(() => steps.count()).toBe(200);
    const earlier = panel.getByRole('button', { name: 'Show earlier calls' });
    await earlier.click();
    await expect.poll(() => steps.count()).toBe(400);
    await accessible(page);
    await earlier.click();
    await earlier.waitFor({ state: 'detached' });
    await expect.poll(() => steps.count()).toBe(450);
    await expect.poll(() => steps.first().textContent()).toMatch(/long_0\b.*\+0/);
    noFaults(visit);
    await visit.context.close();
  });

  it('takes a range by its ends, in the zone of who looks, and refuses one that ends before it begins', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore');
    await page.getByRole('button', { name: /^Time range: Last 24 hours/ }).click();
    const range = page.getByRole('form', { name: 'Start and end' });
    await range.waitFor();
    await accessible(page);
    await range.getByLabel('From (local time)').fill('2026-03-05T10:00');
    await range.getByLabel('To (local time)').fill('2026-03-05T09:00');
    await range
      .getByRole('alert')
      .getByText('The end time is before the start time. Enter a later end time.')
      .waitFor();
    expect(await range.getByRole('button', { name: 'Apply time range' }).isDisabled()).toBe(true);
    await range.getByLabel('To (local time)').fill('2026-03-05T10:30');
    await page.keyboard.press('Enter');
    await range.waitFor({ state: 'hidden' });
    await page.getByText('No events match these filters').waitFor();
    // Berlin, in winter.
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('from'), searchParams.get('to')]).toEqual([
      '2026-03-05T09:00:00.000Z',
      '2026-03-05T09:30:00.000Z',
    ]);
    await page.keyboard.press('t');
    await page.getByLabel('Range', { exact: true }).fill('nonsense');
    await page.keyboard.press('Enter');
    await page.getByText(/^Enter a length such as 2d/).waitFor();
    await page.getByRole('button', { name: 'Last 7 days' }).click();
    await page.getByRole('button', { name: /^Time range: Last 7 days/ }).waitFor();
    expect(new URL(page.url()).searchParams.get('from')).toBe('now-7d');
    // Other tests may have sent some more.
    await page
      .getByRole('complementary', { name: 'Filters' })
      .getByText(/^[1-9][\d,]* matching events/)
      .waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('gives the filter as a file', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?tool_name=refund');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'NDJSON' }).click(),
    ]);
    const stream = await download.createReadStream();
    let text = '';
    for await (const part of stream) text += part;
    expect(text.trim().split('\n')).toHaveLength(120);
    noFaults(visit);
    await visit.context.close();
  });
});
