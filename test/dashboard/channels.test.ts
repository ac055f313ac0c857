// Channels in the console: every type has its form; one is made, tested, told of an approval, and its delivery is sent
// again.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HubProcess } from '../e2e/process.ts';
import { type Receiver, startReceiver } from '../receiver.ts';
import { accessible, ask, noFaults, view } from './browser.ts';

const hub = new HubProcess({ LOG_LEVEL: 'error', ALLOW_PRIVATE_OUTBOUND: 'true' });
let cookie: string;
let receiver: Receiver;

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.close();
  await hub.remove();
});

describe('the channels page', () => {
  it('makes a webhook, tests it, shows what was sent, and sends it again', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/channels');
    await page.getByText('There is no channel yet').waitFor();
    await page.getByRole('button', { name: 'Add channel' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add channel' });
    await dialog.getByLabel('Name').fill('on call');
    await dialog.getByLabel('Address').fill('no address');
    await dialog.getByRole('button', { name: 'Add channel' }).click();
    await dialog.locator('.field-error, [role=alert]').first().waitFor();
    await accessible(page);
    await dialog.getByLabel('Address').fill(`${receiver.url}/hook`);
    await dialog.getByLabel('Secret').fill('a secret of ours');
    await dialog.getByLabel('production').check();
    await dialog.getByRole('button', { name: 'Add channel' }).click();
    const panel = page.getByRole('dialog', { name: 'Channel', exact: true });
    await panel.getByRole('button', { name: 'Send a test' }).click();
    await panel.getByText('The test arrived.').waitFor();
    const { key } = await hub.key(cookie);
    await ask(hub, key);
    await receiver.atLeast(2);
    const deliveries = panel.getByRole('region', { name: 'Deliveries' });
    // The page is not asked to look.
    await deliveries.getByRole('row').filter({ hasText: 'delivered' }).first().waitFor();
    await accessible(page);
    await deliveries.getByRole('button', { name: 'Send again' }).first().click();
    const received = await receiver.atLeast(3);
    expect(received[2]?.headers['webhook-id']).toBe(received[1]?.headers['webhook-id']);
    // Its second attempt is listed without asking.
    await deliveries.getByRole('row').nth(1).getByRole('button').first().click();
    const delivery = page.getByRole('dialog', { name: 'Delivery', exact: true });
    await delivery.getByRole('list', { name: 'Attempts' }).getByRole('listitem').nth(1).waitFor();
    await accessible(page);
    await delivery.getByRole('button', { name: 'Close' }).click();
    // A masked secret that is left alone stays.
    await panel.getByLabel('Name').fill('on call at night');
    await panel.getByRole('button', { name: 'Save channel' }).click();
    await panel.getByRole('heading', { name: 'on call at night' }).waitFor();
    receiver.answer = (_, response) => response.writeHead(500).end();
    await panel.getByRole('button', { name: 'Send a test' }).click();
    await panel.getByText('The test failed.').waitFor();
    expect(received.at(-1)?.headers['webhook-signature']).toBeDefined();
    await panel.getByRole('button', { name: 'Delete channel' }).click();
    const sure = page.getByRole('dialog', { name: 'Delete channel' });
    await sure.getByText(/is told of nothing any more/).waitFor();
    await sure.getByRole('button', { name: 'Delete channel' }).click();
    await page.getByText('There is no channel yet').waitFor();
    noFaults(seen);
    await seen.context.close();
  });

  it('has a form for every type, which the hub takes', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    const forms: { readonly [type: string]: { readonly [label: string]: string } } = {
      email: {
        'Mail server': '127.0.0.1',
        Port: '587',
        From: 'a@example.com',
        To: 'b@example.com, c@example.com',
      },
      workspace_chat: { 'Webhook address': 'https://127.0.0.1/hook' },
      workspace_chat_app: {
        'Bot token': 'bot-token',
        'Signing secret': 'secret',
        'Channel of the workspace': 'C01',
      },
      community_chat: {
        'Bot token': 'bot-token',
        'Public key of the application': 'ab'.repeat(32),
        'Channel id': '42',
      },
      chat_bot: { 'Bot token': '12:token', 'Chat id': '-42', 'Who may decide': '1, 2' },
    };
    await page.goto('/dashboard/channels');
    for (const [type, fields] of Object.entries(forms)) {
      await page.getByRole('button', { name: 'Add channel' }).first().click();
      const dialog = page.getByRole('dialog', { name: 'Add channel' });
      await dialog.getByLabel('Type').selectOption(type);
      await dialog.getByLabel('Name').fill(type);
      for (const [label, value] of Object.entries(fields)) {
        await dialog.getByLabel(label, { exact: true }).fill(value);
      }
      await dialog.getByRole('button', { name: 'Add channel' }).click();
      const panel = page.getByRole('dialog', { name: 'Channel', exact: true });
      await panel.getByRole('heading', { name: type, exact: true }).waitFor();
      await panel.getByRole('button', { name: 'Close' }).click();
    }
    await page.getByRole('table').getByText('chat_bot').waitFor();
    await accessible(page);
    noFaults(seen);
    await seen.context.close();
  });

  it('offers a member nothing that a member may not do', async () => {
    const member = { email: 'member@example.com', password: 'correct horse battery' };
    await hub.call('POST', '/api/v1/users', { cookie, body: member });
    const seen = await view(hub.url, { cookie: await hub.login(member.email, member.password) });
    await seen.page.goto('/dashboard/channels');
    await seen.page.getByText('Only admins change channels.').waitFor();
    expect(await seen.page.getByRole('button', { name: 'Add channel' }).count()).toBe(0);
    noFaults(seen);
    await seen.context.close();
  });
});
