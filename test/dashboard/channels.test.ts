// Channels in the console: every type has its form; one is made, tested, told of an approval, and its delivery is sent
// again.
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver } from '../receiver.ts';
import { itAtNight } from '../runs.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.close();
});

describe('the channels page', () => {
  it('makes a webhook, tests it, shows what was sent, and sends it again', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/admin/channels');
    await page.getByText('No channels yet').waitFor();
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
    const panel = page.getByRole('region', { name: /^Channel / });
    await panel.getByRole('button', { name: 'Send test' }).click();
    await panel.getByText('Test delivered.').waitFor();
    const { key } = await hub.key(cookie);
    await ask(hub, key);
    await receiver.atLeast(2);
    const deliveries = panel.getByRole('region', { name: 'Deliveries' });
    // The page is not asked to look.
    await deliveries.getByRole('row').filter({ hasText: 'delivered' }).first().waitFor();
    await accessible(page);
    await deliveries.getByRole('button', { name: 'Resend message' }).first().click();
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
    await panel.getByRole('heading', { name: 'Channel on call at night' }).waitFor();
    receiver.answer = (_, response) => response.writeHead(500).end();
    await panel.getByRole('button', { name: 'Send test' }).click();
    await panel.getByText('Test failed.').waitFor();
    expect(received.at(-1)?.headers['webhook-signature']).toBeDefined();
    await panel.getByRole('button', { name: 'Delete channel' }).click();
    const sure = page.getByRole('dialog', { name: 'Delete channel' });
    await sure.getByText(/stops sending approvals/).waitFor();
    await sure.getByRole('button', { name: 'Delete channel' }).click();
    await page.getByText('No channels yet').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('saves the fields that its person changed, beside those of another person', async () => {
    const { body: channel } = await hub.call('POST', '/api/v1/notifications/channels', {
      cookie,
      body: {
        ...{ name: 'shared', channel_type: 'webhook', config: { url: `${receiver.url}/first` } },
        filters: { environments: ['staging'], agent_patterns: ['shop-*'] },
      },
    });
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const save = async (): Promise<object> => {
      const saved = page.waitForResponse((one) => one.request().method() === 'PUT');
      await page.getByRole('button', { name: 'Save channel' }).click();
      await page.getByText('Channel saved.').first().waitFor();
      return (await saved).json();
    };
    await page.goto(`/dashboard/admin/channels/${channel.id}`);
    await page.getByLabel('Agents').fill('ci-*');
    const change = {
      name: 'theirs',
      config: { url: `${receiver.url}/second` },
      filters: { environments: ['production'], agent_patterns: ['shop-*'] },
    };
    const path = `/api/v1/notifications/channels/${channel.id}`;
    expect((await hub.call('PUT', path, { cookie, body: change })).status).toBe(200);
    const filters = { environments: ['production'], agent_patterns: ['ci-*'] };
    expect(await save()).toMatchObject({ ...change, filters });
    await page.getByLabel('Secret').fill('a secret of ours');
    expect(await save()).toMatchObject({ name: 'theirs', config: change.config, filters });
    expect((await hub.call('DELETE', path, { cookie })).status).toBe(204);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight(
    'signs with the secret it has after a change that left the secret alone, whoever replaced it meanwhile',
    async () => {
      const { body: channel } = await hub.call('POST', '/api/v1/notifications/channels', {
        cookie,
        body: {
          name: 'signed',
          channel_type: 'webhook',
          config: { url: `${receiver.url}/signed`, secret: 'the first secret' },
        },
      });
      receiver.answer = () => undefined;
      const isSignedBy = (secret: string): void => {
        const { headers, text } = receiver.received.at(-1) as (typeof receiver.received)[number];
        const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
        const signature = createHmac('sha256', secret).update(signed).digest('base64');
        expect(headers['webhook-signature']).toBe(`v1,${signature}`);
      };
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      const sent: string[] = [];
      page.on('request', (request) => {
        if (request.method() === 'PUT') sent.push(request.postData() ?? '');
      });
      await page.goto(`/dashboard/admin/channels/${channel.id}`);
      const panel = page.getByRole('region', { name: /^Channel / });
      const saved = async (name: string): Promise<void> => {
        await panel.getByLabel('Name').fill(name);
        await panel.getByRole('button', { name: 'Save channel' }).click();
        await panel.getByRole('heading', { name: `Channel ${name}`, exact: true }).waitFor();
        const before = receiver.received.length;
        await panel.getByRole('button', { name: 'Send test' }).click();
        await receiver.atLeast(before + 1);
      };
      await saved('renamed once');
      isSignedBy('the first secret');
      // Another person, while the form is open with the mask of the first.
      const path = `/api/v1/notifications/channels/${channel.id}`;
      const config = { url: `${receiver.url}/signed`, secret: 'the second secret' };
      expect((await hub.call('PUT', path, { cookie, body: { config } })).status).toBe(200);
      await panel.getByLabel('Name').fill('typed before the switch');
      await panel.getByRole('button', { name: 'Turn off channel' }).click();
      await panel.getByRole('button', { name: 'Turn on channel' }).waitFor();
      await panel.getByRole('button', { name: 'Turn on channel' }).click();
      await panel.getByRole('button', { name: 'Turn off channel' }).waitFor();
      expect(await panel.getByLabel('Name').inputValue()).toBe('typed before the switch');
      await saved('renamed twice');
      isSignedBy('the second secret');
      await panel.getByLabel('Secret').fill('the third secret');
      await saved('renamed with a new one');
      isSignedBy('the third secret');
      // The visible state never went back.
      expect(sent.join()).not.toContain('•');
      // A channel that is off is in the list.
      await panel.getByRole('button', { name: 'Turn off channel' }).click();
      await panel.getByRole('button', { name: 'Turn on channel' }).waitFor();
      await page.getByRole('link', { name: 'View all channels' }).click();
      await page.getByText('No active notification channels.').waitFor();
      await page.getByRole('table').getByText('renamed with a new one').waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );

  itAtNight('has a form for every type, which the hub takes', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
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
        'Workspace channel': 'C01',
      },
      community_chat: {
        'Bot token': 'bot-token',
        'Application public key': 'ab'.repeat(32),
        'Channel ID': '42',
      },
      chat_bot: { 'Bot token': '12:token', 'Chat ID': '-42', 'Allowed user IDs': '1, 2' },
    };
    await page.goto('/dashboard/admin/channels');
    for (const [type, fields] of Object.entries(forms)) {
      await page.getByRole('button', { name: 'Add channel' }).first().click();
      const dialog = page.getByRole('dialog', { name: 'Add channel' });
      await dialog.getByLabel('Type').selectOption(type);
      await dialog.getByLabel('Name').fill(type);
      for (const [label, value] of Object.entries(fields)) {
        await dialog.getByLabel(label, { exact: true }).fill(value);
      }
      await dialog.getByRole('button', { name: 'Add channel' }).click();
      const panel = page.getByRole('region', { name: /^Channel / });
      await panel.getByRole('heading', { name: `Channel ${type}`, exact: true }).waitFor();
      await page.getByRole('link', { name: 'View all channels' }).click();
    }
    await page.getByRole('table').getByText('chat_bot').waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('offers a member nothing that a member may not do', async () => {
    const member = { email: 'member@example.com', password: 'correct horse battery' };
    await hub.call('POST', '/api/v1/users', { cookie, body: member });
    const visit = await view(hub.url, { cookie: await hub.login(member.email, member.password) });
    await visit.page.goto('/dashboard/admin/channels');
    await visit.page.getByText('Only admins can change channels.').waitFor();
    expect(await visit.page.getByRole('button', { name: 'Add channel' }).count()).toBe(0);
    noFaults(visit);
    await visit.context.close();
  });
});
