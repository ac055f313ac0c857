// Text typed into a document or a contract is not lost with its dialog; a saved text is not offered again.
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { starterRuleset } from '../../src/dashboard/pages/contracts/starters.ts';
import { isNightly, itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();

describe('documents that are typed', () => {
  it('stay when their dialog closes, and go when they are saved', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/policies?view=documents');
    const dialog = page.getByRole('dialog', { name: 'Upload bundle' });
    const typed = dialog.locator('.cm-content').getByText('ask-before-deploy');
    await page.getByRole('button', { name: 'Upload bundle' }).click();
    await dialog.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText(library.replace('name: shop', 'name: typed-here'));
    await dialog.getByText('typed-here').waitFor();
    await dialog.getByRole('button', { name: 'Keep draft and close' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.reload();
    await page.getByRole('button', { name: 'Upload bundle' }).click();
    await dialog.getByText('typed-here').waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Upload bundle' }).click();
    await page.getByText('typed-here v1 uploaded.').waitFor();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Upload bundle' }).click();
    await typed.first().waitFor();
    expect(await dialog.getByText('typed-here').count()).toBe(0);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('of a ruleset are compared by replay before they are deployed', async () => {
    const { body } = await hub.call('POST', '/api/v1/auth/operator-token', { cookie });
    const put = (yaml: string, query: string) =>
      fetch(`${hub.url}/v1/rulesets/rails?${query}`, {
        method: 'PUT',
        headers: { Authorization: `Bearer ${body.token}`, 'Content-Type': 'application/yaml' },
        body: yaml,
      });
    const rails = starterRuleset.replace(/name: \S+/, 'name: rails');
    expect((await put(rails, 'env=production')).status).toBeLessThan(300);
    expect((await put(`${rails}\n# the second\n`, 'deploy=false')).status).toBeLessThan(300);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/rulesets/rails');
    await page.getByRole('button', { name: 'Deploy v2' }).click();
    const plan = page.getByRole('region', { name: /^Change rails/ });
    await plan.getByText('No agent reported a call in this environment in the last 7 days.').waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });
});

describe('contracts that are typed', () => {
  /** Types into the name of the open form, and reloads at once: the write that follows a pause has not run. */
  const typeAndReload = async (page: Page, form: Locator, name: string): Promise<void> => {
    await form.getByLabel('Name', { exact: true }).fill(name);
    await page.reload();
  };
  const nameOf = (form: Locator) => form.getByLabel('Name', { exact: true });

  it('stay over a reload, whether they are new, a copy or from an event, until they are discarded', async () => {
    await hub.call('POST', '/api/v1/contracts/import', { cookie, body: { yaml_content: library } });
    const { key } = await hub.key(cookie);
    const events = [{ call_id: 'one', tool_name: 'read_file', verdict: 'call_allowed' }];
    const sent = await hub.call('POST', '/api/v1/events', { key, agent: 'reader', body: { events } });
    expect(sent.status).toBe(200);
    const stored = await hub.call('GET', '/api/v1/events', { cookie });
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const inDialog = page.getByRole('dialog', { name: 'New contract' });
    const onPage = page.getByRole('region', { name: 'Contract no-secrets' });
    const places = [
      ['/dashboard/policies', 'New contract', inDialog],
      [`/dashboard/events/${stored.body[0].id}`, 'Create contract from event', inDialog],
      ['/dashboard/contracts/no-secrets', 'Duplicate', onPage],
    ] as const;
    // Per commit the last one.
    for (const [address, opens, form] of isNightly ? places : places.slice(-1)) {
      await page.goto(address);
      await page.getByRole('button', { name: opens }).click();
      await typeAndReload(page, form, `typed for ${opens}`);
      // The page of a contract opens its form again.
      if (form === inDialog) await page.getByRole('button', { name: opens }).click();
      await expect.poll(() => nameOf(form).inputValue()).toBe(`typed for ${opens}`);
      await form.getByRole('button', { name: 'Discard draft' }).click();
      await page.getByRole('button', { name: opens }).click();
      await nameOf(form).waitFor();
      expect(await nameOf(form).inputValue()).not.toBe(`typed for ${opens}`);
      await form.getByRole('button', { name: 'Cancel' }).click();
    }
    // The last one's form is open when its person signs out, and leaves nothing behind.
    const drafts = () => page.evaluate("Object.keys(sessionStorage).filter((key) => key.includes('draft.'))");
    await page.getByRole('button', { name: 'Duplicate' }).click();
    await nameOf(onPage).fill('typed before leaving');
    await expect.poll(drafts).toHaveLength(1);
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await drafts()).toEqual([]);
    noFaults(visit);
    await visit.context.close();
  });
});
