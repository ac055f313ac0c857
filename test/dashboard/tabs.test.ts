// Tabs of one browser: a logout ends every tab, and a tab never goes on as one person while another is signed in. A tab
// keeps what another one stores.
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();
const admin = { email: hub.emailOf('admin'), password: 'correct horse battery' };
const member = { email: hub.emailOf('member'), password: 'correct horse battery' };

beforeAll(async () => {
  expect((await hub.call('POST', '/api/v1/users', { cookie, body: member })).status).toBe(201);
});

describe('tabs of one browser', () => {
  it('all end with a logout in one, and all are of who signs in then', async () => {
    const visit = await view(hub.url, {});
    const { page: first, context } = visit;
    const signIn = async (page: typeof first, as: { email: string; password: string }): Promise<void> => {
      await page.getByLabel('E-mail').fill(as.email);
      await page.getByLabel('Password').fill(as.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
    };
    await first.goto('/dashboard/test');
    await signIn(first, admin);
    await first.getByText('Live', { exact: true }).waitFor();
    await first.getByLabel('Tool', { exact: true }).fill('my-own-tool');
    await first
      .getByRole('region', { name: 'Result' })
      .getByText('No contract applies to this tool.')
      .waitFor();
    const second = await context.newPage();
    await second.goto('/dashboard/evidence');
    await second.getByRole('button', { name: 'Rotate signing key' }).waitFor();
    await first.getByRole('button', { name: `Account ${admin.email}` }).click();
    await first.getByRole('menuitem', { name: 'Sign out' }).click();
    await first.getByRole('button', { name: 'Sign in' }).waitFor();
    // The other tab shows nothing of it any more.
    await second.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await second.getByRole('button', { name: 'Rotate signing key' }).count()).toBe(0);
    await accessible(second);
    await signIn(second, member);
    await second.getByText(/^Only admins can verify and download the audit chain/).waitFor();
    await second.getByText('Live', { exact: true }).waitFor();
    // The text of the previous user is gone with their logout.
    await first.goto('/dashboard/test');
    await first.getByRole('button', { name: `Account ${member.email}` }).waitFor();
    expect(await first.getByLabel('Tool', { exact: true }).inputValue()).toBe('read_file');
    noFaults(visit);
    await context.close();
  });

  it('keep the cases, pinned keys and snoozes that another one stores', async () => {
    const visit = await view(hub.url, { cookie });
    const { page: first, context } = visit;
    const second = await context.newPage();
    const stored = async (name: string): Promise<unknown> =>
      JSON.parse(
        await first.evaluate(
          `localStorage[Object.keys(localStorage).find((key) => key.startsWith('reeve.${name}.'))] ?? 'null'`,
        ),
      );
    const both = async (act: (page: typeof first, index: number) => Promise<void>): Promise<void> => {
      for (const [index, page] of [first, second].entries()) await act(page, index);
    };
    await both(async (page) => {
      await page.goto('/dashboard/test');
      await page.getByRole('region', { name: 'Result' }).getByText('Denied').first().waitFor();
    });
    await both(async (page, index) => {
      await page.getByLabel('Case name').fill(`case ${index}`);
      await page.getByRole('button', { name: 'Save case', exact: true }).click();
      await page.getByText('as expected.').waitFor();
    });
    await expect.poll(() => stored('cases')).toMatchObject([{ name: 'case 0' }, { name: 'case 1' }]);
    await first.getByRole('button', { name: 'Delete case 0' }).click();
    await expect.poll(() => stored('cases')).toMatchObject([{ name: 'case 1' }]);

    const keys = ['1', '2'].map((digit) => digit.repeat(64));
    await both(async (page) => {
      await page.goto('/dashboard/evidence');
      await page.getByText('no pinned keys').click();
    });
    await both(async (page, index) => {
      await page.getByLabel('Public key to pin').fill(keys[index] ?? '');
      await page.getByRole('button', { name: 'Pin key', exact: true }).click();
      await page.getByText(index === 0 ? '1 pinned key' : '2 pinned keys').waitFor();
    });
    expect(await stored('pinned-keys')).toEqual(keys);

    const { key } = await hub.key(cookie);
    const approvals = [await ask(hub, key, { timeout: 900 }), await ask(hub, key, { timeout: 950 })];
    await both((page) => page.goto('/dashboard/inbox').then());
    await second.getByRole('tab', { name: 'Pending 2' }).waitFor();
    await first.getByRole('button', { name: 'Snooze' }).click();
    await second.getByRole('tab', { name: 'Snoozed 1' }).waitFor();
    // A write that no event of the browser announces: of a tab with the same process.
    await second.evaluate(`(() => {
      const name = Object.keys(localStorage).find((key) => key.startsWith('reeve.prefs.'));
      const prefs = JSON.parse(localStorage[name]);
      localStorage[name] = JSON.stringify({ ...prefs, splits: { elsewhere: 300 } });
    })()`);
    await second.getByRole('button', { name: 'Snooze' }).click();
    await first.getByRole('tab', { name: 'Snoozed 2' }).waitFor();
    const { snoozed, splits } = (await stored('prefs')) as { snoozed: object; splits: object };
    expect(Object.keys(snoozed).sort()).toEqual(approvals.sort());
    expect(splits).toEqual({ elsewhere: 300 });
    noFaults(visit);
    await context.close();
  });

  itAtNight('follow a sign-in of somebody else in another one', async () => {
    const visit = await view(hub.url, { cookie });
    const { page: first, context } = visit;
    await first.goto('/dashboard/evidence');
    await first.getByRole('button', { name: 'Rotate signing key' }).waitFor();
    const second = await context.newPage();
    await context.clearCookies();
    await second.goto('/dashboard/');
    await second.getByLabel('E-mail').fill(member.email);
    await second.getByLabel('Password').fill(member.password);
    await second.getByRole('button', { name: 'Sign in' }).click();
    await first.getByText(/^Only admins can verify and download the audit chain/).waitFor();
    expect(await first.getByRole('button', { name: 'Rotate signing key' }).count()).toBe(0);
    noFaults(visit);
    await context.close();
  });
});
