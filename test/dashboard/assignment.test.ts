// The fleet and who gets what: rules with tags, their reach before they are saved, the tester in the address, many
// agents at once, and a list that follows the fleet.
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { AgentStreams } from './agent-streams.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();

beforeAll(async () => {
  for (const name of ['shop', 'other']) {
    const yaml = library.replace('name: shop', `name: ${name}`);
    await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml } });
  }
  const events = Array.from({ length: 9 }, (_, n) => ({
    call_id: `c${n}`,
    agent_id: `fleet-${n}`,
    tool_name: 't',
    verdict: 'call_allowed',
  }));
  await hub.call('POST', '/api/v1/events', { key, agent: 'fleet-0', body: { events } });
  const body = { tags: { tier: 'gold' } };
  const { status } = await hub.call('PATCH', '/api/v1/agent-registrations/fleet-1', { cookie, body });
  expect(status).toBe(200);
});

describe('assignment', () => {
  it('makes a rule with tags, says whom it reaches, and changes it', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/fleet?view=assignment');
    await page.getByRole('button', { name: 'New rule' }).click();
    const form = page.getByRole('dialog', { name: 'New rule' });
    await form.getByLabel('Agents').fill('fleet-*');
    await form.getByText('9 agents of 9 in production match').waitFor();
    await form.getByLabel('Required tags').fill('tier');
    await form.getByText('tier is not a valid tag. Enter name=value.').waitFor();
    expect(await form.getByRole('button', { name: 'Add rule' }).isDisabled()).toBe(true);
    await form.getByLabel('Required tags').fill('tier=gold');
    await form.getByText('1 agent of 9 in production matches').waitFor();
    await accessible(page);
    await form.getByRole('button', { name: 'Add rule' }).click();
    await page.getByRole('table').getByText('tier=gold').waitFor();
    await page.getByRole('button', { name: 'Edit the rule for fleet-*' }).click();
    const change = page.getByRole('dialog', { name: 'Edit rule' });
    expect(await change.getByLabel('Required tags').inputValue()).toBe('tier=gold');
    await change.getByLabel('Bundle').selectOption('shop');
    await change.getByLabel('Priority').fill('7');
    await change.getByRole('button', { name: 'Save rule' }).click();
    await change.waitFor({ state: 'hidden' });
    const { body } = await hub.call('GET', '/api/v1/assignment-rules', { cookie });
    expect(body).toMatchObject([{ priority: 7, tag_match: { tier: 'gold' }, bundle_name: 'shop' }]);
    // The question stands in the address: a reload and another person see the same answer.
    await page.getByLabel('Agent ID').fill('fleet-1');
    await page.getByRole('button', { name: 'Check assignment' }).click();
    await page.getByText('assigned by the rule').waitFor();
    await page.reload();
    await page.getByText('assigned by the rule').waitFor();
    expect(new URL(page.url()).searchParams.get('agent')).toBe('fleet-1');
    await page.goto('/dashboard/fleet?view=assignment&agent=fleet-2');
    await page.getByText('the agent has no tag tier=gold').waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  it('makes a new rule for the environment of the top bar', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const environment = page.getByRole('dialog', { name: 'New rule' }).getByLabel('Rule environment');
    for (const [query, env] of [
      ['', 'production'],
      ['&env=staging', 'staging'],
    ]) {
      await page.goto(`/dashboard/fleet?view=assignment${query}`);
      await page.getByRole('button', { name: 'New rule' }).click();
      expect(await environment.inputValue()).toBe(env);
    }
    noFaults(visit);
    await visit.context.close();
  });

  it('finds a bundle that the first page of bundles does not have, by its typed name', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.route(/\/api\/v1\/bundles\?/, (route) =>
      route.continue({ url: route.request().url().replace('limit=1000', 'limit=1') }),
    );
    await page.goto('/dashboard/fleet?view=assignment');
    await page.getByRole('button', { name: 'New rule' }).click();
    const bundle = page.getByRole('combobox', { name: 'Bundle' }).and(page.locator('input'));
    await bundle.waitFor();
    expect(await bundle.inputValue()).toBe('other');
    await bundle.fill('shop');
    await page.getByRole('listbox', { name: 'Options of Bundle' }).getByText('shop').click();
    expect(await bundle.inputValue()).toBe('shop');
    await page.goto('/dashboard/test');
    const loaded = page.getByRole('combobox', { name: 'Load bundle' }).and(page.locator('input'));
    await loaded.fill('shop');
    await page.getByRole('option', { name: 'shop (1)' }).click();
    await page.getByLabel('Version').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('covers the selected agents of the list alone, after a change of the query or the environment', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const query = async (text: string): Promise<void> => {
      await page.getByRole('combobox', { name: 'Query' }).fill(text);
      await page.getByRole('combobox', { name: 'Query' }).press('Enter');
    };
    await page.goto('/dashboard/fleet?view=agents');
    for (const id of ['fleet-6', 'fleet-7'])
      await page.getByRole('checkbox', { name: `Select ${id}` }).check();
    await page.getByText('2 selected').waitFor();
    await query('agent:fleet-7');
    await page.getByText('1 selected').waitFor();
    await page.getByRole('radio', { name: 'Staging' }).check({ force: true });
    await page.getByText('No agents match these filters').waitFor();
    expect(await page.getByText(/^\d+ selected$/).count()).toBe(0);
    await page.getByRole('radio', { name: 'All' }).check({ force: true });
    await page.getByLabel('Bundle for the selected agents').selectOption('other');
    await page.getByRole('button', { name: 'Assign 1' }).click();
    await page.getByText('1 agent assigned to other.').waitFor();
    const bundleOf = async (id: string): Promise<string | null> =>
      (await hub.call('GET', `/api/v1/agent-registrations/${id}`, { cookie })).body.bundle_name;
    expect([await bundleOf('fleet-6'), await bundleOf('fleet-7')]).toEqual([null, 'other']);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('ticks a range with Shift, and keeps the rest selected when the hub refuses', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/fleet?view=agents');
    await page.getByRole('grid', { name: 'Agents' }).getByText('fleet-8').waitFor();
    await page.getByRole('button', { name: 'Agent', exact: true }).click();
    await page.getByRole('checkbox', { name: 'Select fleet-2' }).check();
    await page.getByRole('checkbox', { name: 'Select fleet-5' }).click({ modifiers: ['Shift'] });
    await page.getByText('4 selected').waitFor();
    await page.getByRole('checkbox', { name: 'Select fleet-5' }).click();
    await page.getByRole('checkbox', { name: 'Select fleet-4' }).click({ modifiers: ['Shift'] });
    await page.getByText('2 selected').waitFor();
    await page.getByLabel('Bundle for the selected agents').selectOption('other');
    // Stands for a hub that has too much to do.
    await page.route('**/agent-registrations/bulk-assign', (route) =>
      route.fulfill({ status: 503, json: { detail: 'The hub has too much to do.', code: 'overloaded' } }),
    );
    await page.getByRole('button', { name: 'Assign 2' }).click();
    await page.getByText('The hub has too much to do.').waitFor();
    await page.getByText('2 selected').waitFor();
    await accessible(page);
    await page.unroute('**/agent-registrations/bulk-assign');
    await page.getByRole('button', { name: 'Assign 2' }).click();
    await page.getByText('2 agents assigned to other.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight(
    'shows who comes while the list is open, and closes a peek with the Back of the browser',
    async () => {
      const agents = new AgentStreams(hub, key);
      await agents.open('live-0');
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      await page.goto('/dashboard/fleet?view=agents&connected=true');
      await page.getByRole('link', { name: 'live-0' }).waitFor();
      await agents.open('live-1');
      await page.getByRole('link', { name: 'live-1' }).click();
      await page
        .getByRole('complementary', { name: /^Agent / })
        .getByText('1 open stream')
        .waitFor();
      await page.goBack();
      await page.getByRole('complementary', { name: /^Agent / }).waitFor({ state: 'hidden' });
      expect(new URL(page.url()).search).toBe('?view=agents&q=is%3Aconnected');
      expect(agents.close()).toBe(2);
      noFaults(visit);
      await visit.context.close();
    },
  );
});
