// The pages over the hosted API and the channels: runs, rulesets, the audit log, with the browser's own short-lived token.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HubProcess } from '../e2e/process.ts';
import { accessible, noFaults, view } from './browser.ts';

const hub = new HubProcess({ LOG_LEVEL: 'error', ALLOW_PRIVATE_OUTBOUND: 'true' });
let cookie: string;
let key: string;

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  ({ key } = await hub.key(cookie));
});
afterAll(() => hub.remove());

describe('runs, rulesets, audit and channels', () => {
  it('shows a run call by call', async () => {
    const events = [1, 2].map((n) => ({
      call_id: `call-${n}`,
      agent_id: 'runner',
      tool_name: `step_${n}`,
      verdict: 'call_allowed',
      timestamp: new Date(Date.now() - 10_000 + n * 1000).toISOString(),
      payload: { session_id: 'session-1', run_id: 'run-1', tool_args: { n } },
    }));
    await hub.call('POST', '/api/v1/events', { key, agent: 'runner', body: { events } });
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/runs');
    await page.getByRole('table').getByRole('button', { name: 'session-1' }).click();
    const panel = page.getByRole('dialog', { name: 'Run' });
    await panel.getByText('step_2').waitFor();
    await accessible(page);
    noFaults(seen);
    await seen.context.close();
  });

  it('saves a ruleset, deploys it, and changes it', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/rulesets');
    await page.getByText('There is no ruleset yet').waitFor();
    await page.getByRole('button', { name: 'New ruleset' }).click();
    const dialog = page.getByRole('dialog', { name: 'New ruleset' });
    await dialog.getByLabel('Deploy it to').selectOption('staging');
    await dialog.getByRole('button', { name: 'Deploy to staging' }).click();
    await page.getByText('starter v1 is saved and deployed to staging.').waitFor();
    await page.getByRole('table').getByRole('button', { name: 'starter' }).click();
    await page.getByRole('dialog', { name: 'Ruleset starter' }).getByText('v1').first().waitFor();
    await accessible(page);
    noFaults(seen);
    await seen.context.close();
  });

  it('lists who did what', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/audit');
    await page.getByRole('table').getByText('admin@example.com').first().waitFor();
    await accessible(page);
    await page.getByLabel('Subject').selectOption('key');
    await page.getByRole('table').getByText('key.created').waitFor();
    noFaults(seen);
    await seen.context.close();
  });

  it('adds a channel, tests it, and says what became of the test', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/channels');
    await page.getByText('Nobody is told of approvals').waitFor();
    await page.getByRole('button', { name: 'Add channel' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add channel' });
    await dialog.getByLabel('Name').fill('pager');
    await dialog.getByLabel('Address').fill('http://127.0.0.1:9/hook');
    await accessible(page);
    await dialog.getByRole('button', { name: 'Add channel' }).click();
    await page.getByRole('table').getByRole('button', { name: 'pager' }).click();
    const panel = page.getByRole('dialog', { name: 'Channel pager' });
    await panel.getByRole('button', { name: 'Send a test' }).click();
    await panel.getByRole('alert').waitFor();
    await accessible(page);
    expect((await hub.call('GET', '/api/v1/notifications/channels', { cookie })).body[0].last_test_ok).toBe(
      false,
    );
    noFaults(seen);
    await seen.context.close();
  });
});
