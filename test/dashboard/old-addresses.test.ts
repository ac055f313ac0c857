// Addresses of earlier consoles, as messages and bookmarks contain them: each leads through the sign-in to its place.
import { beforeAll, expect, it } from 'vitest';
import { rowsOfCommit } from '../runs.ts';
import { ask, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();
const ids = { approval: '', event: '' };

beforeAll(async () => {
  ids.approval = await ask(hub, key);
  await hub.call('POST', '/api/v1/contracts/import', { cookie, body: { yaml_content: library } });
  const events = [{ call_id: '1', agent_id: 'a/b', tool_name: 'read_file', verdict: 'call_denied' }];
  expect((await hub.call('POST', '/api/v1/events', { key, body: { events } })).status).toBe(200);
  ids.event = (await hub.call('GET', '/api/v1/events?limit=1', { cookie })).body[0].id;
});

/** Address below /dashboard, where it leads, and the heading there. */
const rows: readonly (readonly [old: string, today: string, heading: RegExp])[] = [
  ['/approvals?id=APPROVAL', '/approvals/APPROVAL', /^Approval/],
  ['/approvals', '/inbox', /^Inbox$/],
  ['/approvals?view=history&env=staging', '/inbox?env=staging&view=decided', /^Inbox$/],
  ['/events?id=EVENT&range=7d', '/events/EVENT?from=now-7d', /^Event/],
  [
    '/events?tool_name=read_file&verdict=call_denied',
    '/explore?q=verdict%3Adenied+tool%3Aread_file',
    /^Explore$/,
  ],
  ['/agents', '/fleet?view=agents', /^Fleet$/],
  ['/agents?id=a%2Fb', '/agents/a%2Fb', /^Agent a\/b$/],
  ['/agents?view=rules', '/fleet?view=assignment', /^Fleet$/],
  ['/contracts?id=no-secrets', '/contracts/no-secrets', /^Contract no-secrets$/],
  ['/contracts', '/policies', /^Policies$/],
  ['/compositions', '/policies?view=compositions', /^Policies$/],
  ['/compositions?id=shop', '/compositions/shop', /^Composition shop$/],
  ['/bundles', '/policies?view=documents', /^Policies$/],
  ['/rulesets', '/policies?view=documents', /^Policies$/],
  ['/playground', '/test', /^Test$/],
  ['/keys', '/admin/keys', /^Keys$/],
  ['/channels', '/admin/channels', /^Channels$/],
  ['/settings', '/me', /^Profile$/],
  ['/system', '/admin/system', /^System$/],
];

const choice = rowsOfCommit(rows, 1);

it.each(choice.rows)(
  `%s leads through the sign-in to %s (SEED=${choice.seed})`,
  async (old, today, heading) => {
    const withIds = (path: string): string =>
      path.replace('APPROVAL', ids.approval).replace('EVENT', ids.event);
    const visit = await view(hub.url);
    const { page } = visit;
    await page.goto(`/dashboard${withIds(old)}`);
    await page.getByLabel('E-mail').fill(hub.emailOf('admin'));
    await page.getByLabel('Password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('main').getByRole('heading', { name: heading, level: 1 }).waitFor();
    // Filters become the query once the page is there.
    await expect.poll(() => page.url().slice(hub.url.length)).toBe(`/dashboard${withIds(today)}`);
    noFaults(visit);
    await visit.context.close();
  },
);

it('does not keep the token of a link in the address, also at an old one', async () => {
  const visit = await view(hub.url);
  const { page } = visit;
  for (const [kind, says] of [
    ['login', /This sign-in link is not valid/],
    ['invite', /invitation/i],
  ] as const) {
    await page.goto('/dashboard/theme.js');
    await page.goto(`/dashboard/approvals?id=${ids.approval}#${kind}=${'a'.repeat(43)}`);
    await page.getByText(says).first().waitFor();
    expect(page.url()).not.toContain(kind);
  }
  noFaults(visit);
  await visit.context.close();
});
