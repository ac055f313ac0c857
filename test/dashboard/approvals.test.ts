// Approvals in the console: the queue, deciding by keyboard and mouse, somebody who is faster, and a decision seen on
// another screen.
import { describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

const { hub, cookie, key } = await tenantWithKey();

const statusOf = async (id: string): Promise<{ status: string; decision_reason: string | null }> =>
  (await hub.call('GET', `/api/v1/approvals/${id}`, { cookie })).body;

describe('the queue of approvals', () => {
  it('says that nothing waits, then shows what an agent asks, and decides by keyboard', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/inbox');
    await page.getByText('No pending approvals', { exact: true }).waitFor();
    await accessible(page);
    const first = await ask(hub, key, { timeout: 100, tool_name: 'first_tool' }, 'agent-a');
    const second = await ask(hub, key, { timeout: 300, tool_name: 'second_tool' }, 'agent-b');
    const queue = page.getByRole('grid', { name: 'Approvals' });
    await queue.getByText('second_tool').waitFor();
    await page.getByRole('heading', { name: 'first_tool' }).waitFor();
    await page.getByRole('article').getByText('npm run deploy').waitFor();
    // A row has the time left, the line of the arguments, the tool and the agent.
    await queue.getByRole('button', { name: /left\s*npm run deploy\s*first_tool\s*agent-a/ }).waitFor();
    await accessible(page);
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'second_tool' }).waitFor();
    await page.keyboard.press('k');
    await page.keyboard.press('r');
    await page.keyboard.type('looked at it');
    await page.getByRole('button', { name: /^Approve/ }).focus();
    await page.keyboard.press('a');
    await page.getByText('Approved by admin@example.com').waitFor();
    expect(await statusOf(first)).toMatchObject({ status: 'approved', decision_reason: 'looked at it' });
    await page.keyboard.press('j');
    await page.keyboard.press('d');
    await page.getByText('Denied by admin@example.com').waitFor();
    expect(await statusOf(second)).toMatchObject({ status: 'denied' });
    noFaults(visit);
    await visit.context.close();
  });

  it('shows a request that its agent withdraws', async () => {
    const id = await ask(hub, key, { tool_name: 'withdrawn_tool' }, 'agent-w');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard/approvals/${id}`);
    await page.getByRole('button', { name: /^Approve/ }).waitFor();
    await hub.call('POST', `/api/v1/approvals/${id}/withdraw`, { key, agent: 'agent-w', body: {} });
    await page.getByText(/^Withdrawn by agent-w/).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('says who was faster', async () => {
    const id = await ask(hub, key, { tool_name: 'contested' }, 'agent-c');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    // The page hears of no decision: what it believes is old when the button is pressed.
    await page.routeWebSocket(/stream\/dashboard/, () => undefined);
    await page.addInitScript('delete globalThis.SharedWorker');
    // Once its stream is open the page reads again what it shows: only then is it the last that it knows.
    await page.goto(`/dashboard/approvals/${id}`, { waitUntil: 'networkidle' });
    const approve = page.getByRole('button', { name: /^Approve/ });
    await approve.waitFor();
    await hub.call('PUT', `/api/v1/approvals/${id}`, {
      cookie,
      body: { approved: false, reason: 'too risky' },
    });
    await approve.click();
    await page.getByText('Another user decided first.').waitFor();
    await page.getByText('Denied by admin@example.com').waitFor();
    await page.getByText('too risky').waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  it('shows a decision that was made while its stream was not open yet', async () => {
    const id = await ask(hub, key, { tool_name: 'early', timeout: 190 }, 'agent-early');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.addInitScript(`delete globalThis.SharedWorker;
      const Own = WebSocket;
      const held = new Promise((resolve) => { globalThis.letThrough = resolve; });
      globalThis.WebSocket = function (...args) {
        void held.then(() => Object.assign(new Own(...args), this));
      };`);
    await page.goto('/dashboard/inbox');
    await page.getByRole('heading', { name: 'early' }).waitFor();
    await hub.call('PUT', `/api/v1/approvals/${id}`, { cookie, body: { approved: true } });
    await page.evaluate('letThrough()');
    await page.getByRole('article').getByText('Approved by admin@example.com').waitFor();
    await page.locator('.live-live').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('shows the decision of another person, decides many at once, and keeps the history', async () => {
    const ids = await Promise.all(
      [1, 2, 3].map((n) => ask(hub, key, { tool_name: `many_${n}`, timeout: 200 + n }, `agent-many-${n}`)),
    );
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.clock.install();
    await page.goto('/dashboard/inbox');
    await page.getByRole('heading', { name: 'many_1' }).waitFor();
    await hub.call('PUT', `/api/v1/approvals/${ids[0]}`, { cookie, body: { approved: true } });
    await page.getByRole('article').getByText('Approved by admin@example.com').waitFor();
    await page.getByRole('checkbox', { name: /many_2/ }).check();
    await page.getByRole('checkbox', { name: /many_3/ }).check();
    await page.getByRole('button', { name: 'Deny 2' }).click();
    await page.getByText(/^Denying 2 calls/).waitFor();
    await page.clock.fastForward(5_100);
    await page.getByText('2 calls denied.').waitFor();
    expect(await statusOf(ids[2] ?? '')).toMatchObject({ status: 'denied' });
    await page.getByRole('tab', { name: 'Decided' }).click();
    await page.getByRole('grid', { name: 'Approvals' }).getByRole('gridcell', { name: 'many_3' }).waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('is usable at 360 px, and harmless with hostile texts', async () => {
    const hostile = '<img src=x onerror=alert(1)> \u202Egnp.exe \u0007';
    await ask(
      hub,
      key,
      {
        tool_name: '<img src=x onerror=alert(1)>',
        message: hostile,
        tool_args: { [hostile]: hostile, long: 'x'.repeat(10_000) },
      },
      'agent-h',
    );
    const visit = await view(hub.url, { cookie, width: 360, height: 740 });
    const { page } = visit;
    await page.goto('/dashboard/inbox');
    await page.getByRole('heading', { name: /img src/ }).waitFor();
    await page.getByText('‹U+202E›').first().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await accessible(page);
    await page.getByRole('button', { name: /^Deny/ }).click();
    await page.getByText('Denied by admin@example.com').waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});
