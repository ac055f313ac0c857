// A composition: put in order by hand and by keys, kept while it is not saved, compared with what each environment
// runs.
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { AgentStreams } from './agent-streams.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();

const post = async (path: string, body: unknown, method = 'POST'): Promise<void> => {
  const { status } = await hub.call(method, path, { cookie, body });
  expect(status).toBeLessThan(300);
};
const stored = async (): Promise<{ contracts: { contract_id: string; position: number }[] }> =>
  (await hub.call('GET', '/api/v1/compositions/shop', { cookie })).body;
const order = async (): Promise<string[]> =>
  (await stored()).contracts.sort((a, b) => a.position - b.position).map((one) => one.contract_id);

beforeAll(async () => {
  await post('/api/v1/contracts/import', { yaml_content: library });
});

async function importMany(name: string, count: number): Promise<void> {
  const rules = Array.from(
    { length: count },
    (_, at) => `  - { id: ${name}-${at}, type: session, limits: { max_tool_calls: 9 } }`,
  );
  const head = `apiVersion: service/v1\nkind: ContractBundle\nmetadata: { name: ${name} }\ndefaults: { mode: enforce }`;
  await post('/api/v1/contracts/import', { yaml_content: `${head}\ncontracts:\n${rules.join('\n')}\n` });
}

describe('a composition', () => {
  it('is put in order by keys and by hand, and what is not saved stays', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/compositions/shop');
    const panel = page.getByRole('region', { name: 'Composition shop' });
    const items = panel.getByRole('list', { name: 'Contract order' }).getByRole('listitem');
    const up = panel.getByRole('button', { name: 'Move ask-before-deploy up' });
    await up.focus();
    await page.keyboard.press('Enter');
    await panel.getByText('ask-before-deploy moved to position 1 of 3.').waitFor();
    // At the end of the list, too, the button keeps the focus.
    await expect.poll(() => up.evaluate((button) => button === document.activeElement)).toBe(true);
    await page.keyboard.press('Alt+ArrowDown');
    await page.keyboard.press('Alt+ArrowDown');
    await panel.getByText('ask-before-deploy moved to position 3 of 3.').waitFor();
    await items.nth(1).dragTo(items.nth(0));
    await panel.getByText('watch-refunds moved to position 1 of 3.').waitFor();
    expect((await items.allTextContents()).map((text) => text.split(' ')[0])).toEqual([
      'watch-refunds',
      'no-secrets',
      'ask-before-deploy',
    ]);
    await accessible(page);
    await page.getByRole('link', { name: 'Policies' }).click();
    await page.getByRole('heading', { name: 'Policies' }).waitFor();
    // Somebody else takes a contract out meanwhile.
    await post(
      '/api/v1/compositions/shop',
      { contracts: [{ contract_id: 'no-secrets', position: 0 }] },
      'PUT',
    );
    await page.goto('/dashboard/compositions/shop');
    await panel.getByText('Another user saved this composition').waitFor();
    await accessible(page);
    await expect.poll(() => items.count()).toBe(3);
    await expect.poll(() => panel.getByRole('button', { name: 'Save composition' }).isDisabled()).toBe(true);
    await panel.getByRole('button', { name: 'Keep my changes' }).click();
    await panel.getByRole('button', { name: 'Save composition' }).click();
    await panel.getByRole('button', { name: 'Deploy shop' }).waitFor();
    await expect.poll(order).toEqual(['watch-refunds', 'no-secrets', 'ask-before-deploy']);
    // A second viewer sees changes from elsewhere at once.
    await post(
      '/api/v1/compositions/shop',
      { contracts: [{ contract_id: 'no-secrets', position: 0 }] },
      'PUT',
    );
    await expect.poll(() => items.count()).toBe(1);
    noFaults(visit);
    await visit.context.close();
  });

  it('stands beside what each environment runs, with the newer version of a contract', async () => {
    await post('/api/v1/compositions/shop/deploy', { env: 'production' });
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/compositions/shop');
    const beside = page.getByRole('region', { name: 'Deployed versions' });
    await beside.getByText('identical to v1').waitFor();
    await expect.poll(() => beside.getByText('not deployed').count()).toBe(2);
    const { body } = await hub.call('GET', '/api/v1/contracts/no-secrets', { cookie });
    const definition = { ...body.definition, when: { 'args.path': { contains_any: ['.env'] } } };
    await post('/api/v1/contracts/no-secrets', { definition }, 'PUT');
    await page.getByText('v2 available').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Update contracts' }).click();
    await beside.getByText('a deployment gives 1 loosened').waitFor();
    await beside.getByRole('button', { name: 'Compare with staging' }).click();
    const plan = page.getByRole('region', { name: /^(Change|Deployment of) shop/ });
    await plan.getByRole('button', { name: 'Deploy to staging' }).waitFor();
    expect(await plan.getByLabel('Environment to deploy to').inputValue()).toBe('staging');
    await page.goBack();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const asked = page.getByRole('dialog', { name: 'Delete composition' });
    await asked.getByText('leaves its contract in the library.').waitFor();
    await asked.getByText('Its bundle stays deployed to production').waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  it('says after the deploy who does not run it, and how many keep it when it is taken away', async () => {
    const { key } = await hub.key(cookie);
    const agents = new AgentStreams(hub, key);
    const { body: now } = await hub.call('GET', '/api/v1/bundles/shop/current?env=production', { cookie });
    await agents.open('keeper-1', `&bundle_name=shop&policy_version=${now.revision_hash}`);
    await agents.open('behind-1', `&bundle_name=shop&policy_version=${'0'.repeat(64)}`);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/bundles/shop');
    await page.getByText('1 of 2 connected agents run it').click();
    await page.getByText('1 agent not on this version').click();
    await page.getByText('behind-1').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Undeploy from production' }).click();
    const asked = page.getByRole('region', { name: /^Undeploy/ });
    await asked.getByText('1 connected agent runs it until it restarts').waitFor();
    await accessible(page);
    expect(agents.close()).toBe(2);
    noFaults(visit);
    await visit.context.close();
  });

  it('is deployed with the reviewed text alone, also when another person saves it', async () => {
    const save = (id: string, method = 'PUT'): Promise<void> => {
      const contracts = [{ contract_id: id, position: 0 }];
      return method === 'POST'
        ? post('/api/v1/compositions', { name: 'reviewed', contracts })
        : post('/api/v1/compositions/reviewed', { contracts }, method);
    };
    const deployments = async (): Promise<number> =>
      (await hub.call('GET', '/api/v1/deployments?bundle_name=reviewed', { cookie })).body.length;
    await save('no-secrets', 'POST');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/changes/new?composition=reviewed&env=staging');
    const plan = page.getByRole('region', { name: 'Change reviewed in staging' });
    const deploy = plan.getByRole('button', { name: 'Deploy to staging' });
    await expect.poll(() => deploy.isEnabled()).toBe(true);
    await save('watch-refunds');
    const notice = plan.getByText(/^The composition changed while this page was open\./);
    await notice.waitFor();
    await plan.getByText('watch-refunds').first().waitFor();
    await accessible(page);
    expect(await deploy.isDisabled()).toBe(true);
    await plan.getByRole('button', { name: 'Use new difference' }).click();
    await notice.waitFor({ state: 'detached' });
    await expect.poll(() => deploy.isEnabled()).toBe(true);
    // The page misses the next change, as it does without the live stream.
    let requests = 0;
    await page.route('**/compositions/reviewed/preview', async (route) => {
      requests += 1;
      await route.abort();
    });
    await save('ask-before-deploy');
    await expect.poll(() => requests).toBeGreaterThan(0);
    await deploy.click();
    await plan.getByText('The hub did not respond. Check that it is running, then try again.').waitFor();
    await page.unroute('**/compositions/reviewed/preview');
    expect(await notice.count()).toBe(0);
    await deploy.click();
    await notice.waitFor();
    expect(await deploy.isDisabled()).toBe(true);
    expect(await deployments()).toBe(0);
    await plan.getByRole('button', { name: 'Use new difference' }).click();
    await deploy.click();
    await page.getByText('reviewed v1 is deployed to staging.').waitFor();
    expect(await deployments()).toBe(1);
    const { body } = await hub.call('GET', '/api/v1/bundles/reviewed/1/yaml', { cookie });
    expect(body).toContain('ask-before-deploy');
    noFaults(visit);
    await visit.context.close();
  });

  it('is on the page of a contract from the moment that it contains it, and no longer than that', async () => {
    const { type, definition } = (await hub.call('GET', '/api/v1/contracts/no-secrets', { cookie })).body;
    await post('/api/v1/contracts', { contract_id: 'used', name: 'Used', type, definition });
    const contracts = (...ids: readonly string[]) => ({
      contracts: ids.map((contract_id, position) => ({ contract_id, position })),
    });
    await post('/api/v1/compositions', { name: 'user-of-it', ...contracts('no-secrets') });
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/contracts/used');
    const unused = page.getByText('Not used in any composition, so no agent has it.');
    await unused.waitFor();
    await page.locator('.live-live').waitFor();
    await post('/api/v1/compositions/user-of-it', contracts('no-secrets', 'used'), 'PUT');
    await page.getByRole('link', { name: 'user-of-it' }).waitFor();
    expect(await unused.count()).toBe(0);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const asked = page.getByRole('dialog', { name: 'Delete contract' });
    await asked.getByText('First remove it from 1 composition.').waitFor();
    await post('/api/v1/compositions/user-of-it', contracts('no-secrets'), 'PUT');
    await unused.waitFor({ state: 'attached' });
    await asked.getByText('First remove it').waitFor({ state: 'detached' });
    noFaults(visit);
    await visit.context.close();
  });

  it('gets a contract of a long library by typing', async () => {
    await importMany('many', 25);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/compositions/shop');
    const items = page.getByRole('list', { name: 'Contract order' }).getByRole('listitem');
    await items.first().waitFor();
    const before = await items.count();
    const choice = page.getByRole('combobox', { name: 'Add contract' }).and(page.locator('input'));
    await choice.fill('many-17');
    await page.getByRole('option', { name: 'many-17' }).waitFor();
    await accessible(page);
    await choice.press('Enter');
    await items.getByText('many-17', { exact: true }).waitFor();
    await expect.poll(() => items.count()).toBe(before + 1);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight(
    'gets a contract that 1,000 newer ones keep out of the list, and the palette leads to its page',
    async () => {
      await importMany('oldest', 1);
      await post('/api/v1/contracts/oldest-0', { description: 'Of the first week' }, 'PUT');
      for (let part = 0; part < 10; part += 1) await importMany(`newer-${part}`, 100);
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      await page.goto('/dashboard/compositions/shop');
      const items = page.getByRole('list', { name: 'Contract order' }).getByRole('listitem');
      await items.first().waitFor();
      const choice = page.getByRole('combobox', { name: 'Add contract' }).and(page.locator('input'));
      const searches: string[] = [];
      await page.route(/\/contracts\?.*search=/, (route) => {
        searches.push(route.request().url());
        return searches.length === 1 ? route.fulfill({ status: 500, json: {} }) : route.continue();
      });
      await choice.fill('of the');
      await page.getByRole('alert').getByRole('button', { name: 'Retry' }).click();
      await page.getByRole('alert').waitFor({ state: 'detached' });
      await choice.fill('of the');
      // A match by its description: its label does not contain the text.
      await choice.pressSequentially(' first week');
      await page.getByRole('option', { name: 'oldest-0' }).waitFor();
      // The letters of quick typing share a request.
      expect(searches.length).toBeLessThan(' first week'.length);
      await choice.press('Enter');
      await items.getByText('oldest-0', { exact: true }).waitFor();
      await expect.poll(() => choice.inputValue()).toBe('Select contract');
      await page.getByRole('button', { name: 'Discard changes' }).click();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: /^Command/ }).fill('oldest-0');
      await page
        .getByRole('option', { selected: true })
        .filter({ hasText: /^Oldest 0/ })
        .waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('region', { name: 'Contract oldest-0' }).waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );
});
