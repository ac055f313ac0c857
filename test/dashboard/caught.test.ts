// A contract before it is saved: which of the calls that agents reported it would have caught.
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view, write } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();

beforeAll(async () => {
  const { key } = await hub.key(cookie, 'staging');
  const events = ['/srv/.env', '/srv/.env', '/srv/a.ts', '/srv/b.ts'].map((path, n) => ({
    call_id: `read-${n}`,
    agent_id: 'reader-1',
    tool_name: 'read_file',
    verdict: n === 0 ? 'call_denied' : 'call_allowed',
    timestamp: new Date(Date.now() - 60_000 * (n + 1)).toISOString(),
    payload: { tool_args: { path } },
  }));
  const { status } = await hub.call('POST', '/api/v1/events', { key, agent: 'reader-1', body: { events } });
  expect(status).toBe(200);
});

describe('a contract that is made from an event', () => {
  it('shows at once which calls of its environment it would have caught, each to be opened', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore?search=read-1');
    await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'read_file' }).click();
    await page.getByRole('link', { name: 'Open page' }).click();
    await page.getByRole('button', { name: 'Create contract from event' }).click();
    const form = page.getByRole('dialog', { name: 'New contract' });
    const caught = form.getByRole('region', { name: 'Matching past calls' });
    await caught
      .getByText('Among 4 calls from the last 7 days in staging, this contract would have denied 2.')
      .waitFor();
    const rows = caught.getByRole('table').getByRole('row');
    // The first is the head.
    await expect.poll(() => rows.count()).toBe(3);
    await expect.poll(() => rows.nth(1).textContent()).toMatch(/denied\s*denied/);
    await expect.poll(() => rows.nth(2).textContent()).toMatch(/allowed\s*denied/);
    await accessible(page);
    const opening = visit.context.waitForEvent('page');
    await rows
      .nth(2)
      .getByRole('link', { name: /read_file/ })
      .click();
    const call = await opening;
    await call
      .getByRole('region', { name: /^Event / })
      .getByText('/srv/.env')
      .or(call.getByText('.env'))
      .first()
      .waitFor();
    await call.close();
    // The typed text is still there, and the answer says that it is of another text once it is.
    await write(
      form.getByRole('textbox', { name: 'Definition as YAML' }),
      'tool: "*"\nwhen:\n  args.path: { exists: true }\nthen:\n  effect: approve\n  message: m\n',
    );
    await caught.getByText('These results are for an earlier text. Check again.').waitFor();
    const again = caught.getByRole('button', { name: 'Check again' });
    await expect.poll(() => again.isEnabled()).toBe(true);
    // By key: the editor's list of completions may lie over it until the focus leaves.
    await again.press('Enter');
    await caught.getByText('this contract would have asked a person about 4').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight(
    'looks where it is told to, and says when nothing was reported there or nothing can be said',
    async () => {
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      await page.goto('/dashboard/policies');
      await page.getByRole('button', { name: 'New contract' }).click();
      const form = page.getByRole('dialog', { name: 'New contract' });
      const caught = form.getByRole('region', { name: 'Matching past calls' });
      const look = caught.getByRole('button', { name: /^Check (newest|again)/ });
      await look.click();
      await caught.getByText('No agent reported a call in production in the last 7 days.').waitFor();
      await caught.getByLabel('Calls from').selectOption('staging');
      await look.click();
      await caught.getByText('this contract would have denied 2.').waitFor();
      await form.getByRole('button', { name: 'Limit a session' }).click();
      await look.click();
      await caught.getByText('this contract would have matched none.').waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );
});
