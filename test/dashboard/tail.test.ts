// The live tail of events: what comes is shown as it comes, held while somebody reads, and goes on after the hub was
// away.
import { describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { hubWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await hubWithKey();
let sent = 0;

const send = async (count = 1, tool = '', over: object = {}): Promise<void> => {
  const events = Array.from({ length: count }, () => {
    sent += 1;
    return {
      call_id: `tail-${sent}`,
      agent_id: 'tail-agent',
      tool_name: tool || `tail_${sent}`,
      verdict: 'call_denied',
      mode: 'enforce',
      timestamp: new Date().toISOString(),
      payload: { tool_args: { path: '/srv/.env' }, decision_name: 'no-secrets', reason: 'No' },
      ...over,
    };
  });
  const { status } = await hub.call('POST', '/api/v1/events', { key, agent: 'tail-agent', body: { events } });
  expect(status).toBe(200);
};

describe('the live tail', { timeout: 60_000 }, () => {
  it('shows each event, waits while paused, opens one, and goes on after a restart of the hub', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?view=tail');
    await page.getByText('No new events yet').waitFor();
    await accessible(page);
    await send();
    const table = page.getByRole('grid', { name: 'Events' });
    await table.getByRole('link', { name: 'tail_1' }).waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Pause' }).click();
    await send(2);
    await page.getByRole('button', { name: 'Show 2 new events' }).waitFor();
    expect(await table.getByRole('link', { name: 'tail_3' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await table.getByRole('link', { name: 'tail_3' }).waitFor();
    await table.getByRole('link', { name: 'tail_2' }).click();
    const panel = page.getByRole('complementary', { name: 'Event', exact: true });
    await panel.getByText('/srv/.env').first().waitFor();
    await page.keyboard.press('Escape');
    await table.getByRole('link', { name: 'tail_2' }).focus();
    await hub.kill();
    await page.getByText(/Connection lost, reconnecting/).waitFor();
    await hub.start();
    // The focus in a row holds the rows, until it leaves.
    await send();
    await page.getByRole('button', { name: 'Show 1 new event' }).waitFor();
    expect(await table.getByRole('link', { name: 'tail_4' }).count()).toBe(0);
    await page.getByRole('heading', { level: 1 }).click();
    await send();
    await table.getByRole('link', { name: 'tail_5' }).waitFor();
    await table.getByRole('link', { name: 'tail_4' }).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('is narrowed as a search is: by the stream where it can, else in the browser', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?view=tail&verdict=call_allowed&from=now-7d');
    await page.getByText('No new events yet').waitFor();
    const range = page.getByRole('button', { name: /^Time range/ });
    await expect.poll(() => range.getAttribute('aria-disabled')).toBe('true');
    await expect.poll(() => range.getAttribute('title')).toMatch(/the time range does not apply/);
    await send(1, 'denied_1');
    await send(1, 'allowed_1', { verdict: 'call_allowed' });
    const row = (tool: string) =>
      page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: tool });
    await row('allowed_1').waitFor();
    expect(await row('denied_1').count()).toBe(0);
    // A mode, a contract, a run and a text; each takes away one of the next.
    await page.goto(
      '/dashboard/explore?view=tail&mode=observe&decision_name=no-secrets&run_id=run-1&search=KEEP',
    );
    await page.getByText('No new events yet').waitFor();
    await accessible(page);
    const fits = { mode: 'observe', payload: { decision_name: 'no-secrets', run_id: 'run-1' } };
    await send(1, 'keep_not_observed', { ...fits, mode: 'enforce' });
    await send(1, 'keep_not_its', { ...fits, payload: { ...fits.payload, decision_name: 'other' } });
    await send(1, 'keep_not_there', { ...fits, payload: { ...fits.payload, run_id: 'run-2' } });
    await send(1, 'drop_it', fits);
    await send(1, 'keep_this', fits);
    await row('keep_this').waitFor();
    for (const other of [/keep_not/, /drop_it/])
      expect(
        await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: other }).count(),
      ).toBe(0);
    // Without the text the next one fits, and the tail begins again.
    const query = page.getByRole('combobox', { name: 'Query' });
    await query.fill('mode:observe contract:no-secrets run:run-1');
    await query.press('Enter');
    await row('drop_it').waitFor();
    await page.getByText('No events since the filter changed, 2 before').waitFor();
    const names = await page.getByRole('grid', { name: 'Events' }).getByRole('link').allTextContents();
    expect(names.map((name) => name.split(': ')[1])).toEqual(['keep_this', 'drop_it']);
    await send(1, 'fits_too', fits);
    await row('fits_too').waitFor();
    await page.getByText('1 event since the filter changed, 2 before').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('stays paused, and keeps its rows, when a version number narrows it', async () => {
    const yaml_content = library.replace('name: shop', 'name: paused');
    const bundle = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content } });
    const under = { payload: { bundle_name: 'paused', policy_version: bundle.body.revision_hash } };
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?view=tail&q=agent%3Atail-agent');
    const row = (tool: string) =>
      page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: tool });
    await page.getByText(/^No (new events yet|events since the tail opened)/).waitFor();
    await send(1, 'under_none');
    await send(1, 'under_first', under);
    await row('under_first').waitFor();
    await row('under_none').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    const query = page.getByRole('combobox', { name: 'Query' });
    for (const number of [1, 2, 1]) {
      await query.fill(`agent:tail-agent version:v${number}`);
      await query.press('Enter');
      await row('under_none').waitFor({ state: 'detached' });
      if (number === 1) await row('under_first').waitFor();
      else await row('under_first').waitFor({ state: 'detached' });
    }
    await send(1, 'under_pause', under);
    await page.getByRole('button', { name: 'Show 1 new event' }).waitFor();
    expect(await row('under_pause').count()).toBe(0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await row('under_pause').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('finds new calls by the number of a stored version', async () => {
    const bundle = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: library } });
    expect(bundle.status).toBe(201);
    const under = { payload: { bundle_name: 'shop', policy_version: bundle.body.revision_hash } };
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    for (const query of ['version:v1', 'bundle:shop version:1']) {
      await page.goto(`/dashboard/explore?view=tail&q=${encodeURIComponent(query)}`);
      const row = (tool: string) =>
        page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: tool });
      await page.getByText(/^No (new events yet|events since the tail opened)/).waitFor();
      const names = [`under_another_${sent}`, `under_first_${sent}`];
      await send(1, names[0], { payload: { ...under.payload, policy_version: 'bad1dea5' } });
      await send(1, names[1], under);
      await row(names[1] ?? '').waitFor();
      expect(await row(names[0] ?? '').count()).toBe(0);
    }
    await page.route(
      ({ pathname }) => pathname === '/api/v1/bundles',
      async (route) => {
        const response = await route.fetch();
        const [first] = await response.json();
        const json = Array.from({ length: 51 }, (_, n) => ({ ...first, name: `shop-${n}` }));
        return route.fulfill({ response, json });
      },
    );
    await page.goto('/dashboard/explore?view=tail&q=version%3Av1');
    await page.getByText('Too many bundles for a version number').waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  it('begins with the newest events that match, each once, and tells them from new ones', async () => {
    await send(3, 'earlier_call');
    await send(1, 'other_call');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?view=tail&q=tool%3Aearlier_call');
    const rows = page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'earlier_call' });
    await rows.nth(2).waitFor();
    await page.getByText('No events since the tail opened, 3 before').waitFor();
    await accessible(page);
    await send(1, 'earlier_call');
    await page.getByText('1 event since the tail opened, 3 before').waitFor();
    await expect.poll(() => rows.count()).toBe(4);
    const grid = page.getByRole('grid', { name: 'Events' });
    expect(await grid.getByText('other_call').count()).toBe(0);
    // The end of a call has its column, and a value is left out as in the search.
    await send(1, 'ended_call', { verdict: 'call_allowed', payload: { tool_success: true } });
    const query = page.getByRole('combobox', { name: 'Query' });
    await query.fill('tool:*_call verdict:(denied,allowed)');
    await query.press('Enter');
    const ended = grid.getByRole('row').filter({ hasText: 'ended_call' });
    await ended.getByRole('gridcell', { name: 'succeeded' }).waitFor();
    await grid.getByRole('gridcell', { name: 'other_call', exact: true }).hover();
    await page.getByRole('button', { name: 'Without tool other_call' }).click();
    await expect.poll(() => query.inputValue()).toBe('tool:*_call verdict:(denied,allowed) -tool:other_call');
    await ended.waitFor();
    await expect.poll(() => grid.getByText('other_call').count()).toBe(0);
    await rows.last().click();
    const panel = page.getByRole('complementary', { name: 'Event', exact: true });
    await panel.getByText('/srv/.env').first().waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight(
    'adds to the query only what a query can contain, and holds rows while its buttons are pointed at',
    async () => {
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      let isFirst = true;
      let streams = 0;
      await page.route(/\/v1\/events\/stream/, (route) => {
        const hasGap = isFirst;
        isFirst = false;
        return hasGap
          ? route.fulfill({ contentType: 'text/event-stream', body: ': gap\n\n' })
          : route.continue();
      });
      page.on('response', (response) => {
        if (/\/v1\/events\/stream/.test(response.url())) streams++;
      });
      await page.goto('/dashboard/explore?view=tail');
      const cells = page.getByRole('grid', { name: 'Events' }).getByRole('gridcell');
      const gap = cells.filter({ hasText: 'Events missing' });
      await gap.waitFor();
      // The tail opens again after the gap; its second stream has the events.
      await expect.poll(() => streams).toBe(2);
      await send(1, 'own_word', { payload: { environment: 'laboratory' } });
      const tool = cells.filter({ hasText: /^own_word$/ });
      const only = page.getByRole('button', { name: /^Only / });
      for (const cell of [gap, cells.filter({ hasText: /^laboratory$/ })]) {
        await tool.hover();
        await expect.poll(() => only.count()).toBe(1);
        await cell.hover();
        await expect.poll(() => only.count()).toBe(0);
      }
      await tool.hover();
      await page.getByRole('button', { name: 'Without tool own_word' }).hover();
      await send(1, 'held_call');
      // Five batches of the tail.
      await page.waitForTimeout(500);
      expect(await only.getAttribute('aria-label')).toBe('Only tool own_word');
      await page.getByRole('heading', { level: 1 }).hover();
      await send(1, 'next_call');
      await cells.filter({ hasText: /^next_call$/ }).waitFor();
      await cells.filter({ hasText: /^held_call$/ }).waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );

  itAtNight(
    'begins with events whose arguments are too large for the list, and reports a search that failed',
    async () => {
      const large = { payload: { tool_args: { path: '/srv/large', text: 'x'.repeat(100_000) } } };
      await send(1, 'large_call', large);
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      let isFirst = true;
      await page.route('**/api/v1/events?**', async (route) => {
        if (!route.request().url().includes('budget_ms=1000')) return route.continue();
        if (isFirst) {
          isFirst = false;
          return route.abort();
        }
        const response = await route.fetch();
        return route.fulfill({
          response,
          headers: {
            ...response.headers(),
            'x-search-complete': 'false',
            'x-searched-to': '2026-01-02T03:04:05.000Z',
            'x-next-cursor': 'older',
          },
        });
      });
      await page.goto('/dashboard/explore?view=tail&q=args.path%3A%2Fsrv%2Flarge');
      await page.getByRole('button', { name: 'Retry' }).click();
      await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'large_call' }).waitFor();
      await page.getByText(/^Searched back to .* for earlier events\.$/).waitFor();
      await accessible(page);
      await visit.context.close();
    },
  );

  itAtNight('keeps 5,000 rows of more', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?view=tail');
    await page.getByText('No events since the tail opened').waitFor();
    for (let n = 0; n < 6; n += 1) await send(1_000, `many_${n}`);
    await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'many_5' }).first().waitFor();
    await page.getByText('Newest 5,000 events').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('while Explore lists 2,000 of them, and says how to see older ones', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    for (let n = 0; n < 3; n += 1) await send(1_000, `old_${n}`);
    await page.goto('/dashboard/explore?q=tool:old_*');
    const toEnd = () =>
      page.getByRole('region', { name: 'events' }).evaluate((node) => {
        node.scrollTop = node.scrollHeight;
      });
    const full = page.getByText('2,000 newest events. For older ones, narrow the query or the time range');
    await expect.poll(() => toEnd().then(() => full.count()), { timeout: 60_000, interval: 100 }).toBe(1);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('makes a contract of an event', async () => {
    await send(1, 'read_file');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?tool_name=read_file');
    await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'read_file' }).click();
    await page.getByRole('link', { name: 'Open page' }).click();
    await page.getByRole('button', { name: 'Create contract from event' }).click();
    const form = page.getByRole('dialog', { name: 'New contract' });
    await form.getByRole('button', { name: 'Add contract' }).waitFor();
    await accessible(page);
    await form.getByRole('button', { name: 'Add contract' }).click();
    await page.getByRole('region', { name: 'Contract deny-read_file' }).waitFor();
    const { body } = await hub.call('GET', '/api/v1/contracts/deny-read_file', { cookie });
    expect(body.definition).toMatchObject({
      tool: 'read_file',
      when: { 'args.path': { equals: '/srv/.env' } },
      then: { effect: 'deny' },
    });
    noFaults(visit);
    await visit.context.close();
  });
});
