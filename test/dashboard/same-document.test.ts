// Versions that have one document: they are said to be the same, what runs is named by its deployment, and a deploy
// that changes nothing asks once more.
import { beforeAll, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { AgentStreams } from './agent-streams.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();
const other = library.replace('A refund of', 'The refund of');

const post = async (path: string, body: object) => {
  const answer = await hub.call('POST', path, { cookie, body });
  expect(answer.status, path).toBeLessThan(300);
  return answer.body;
};

const deployments = async (): Promise<number> =>
  (await hub.call('GET', '/api/v1/deployments', { cookie })).body.length;

beforeAll(async () => {
  // v1 and v3 have one document; v3 runs.
  for (const yaml_content of [library, other, library]) {
    const { version } = await post('/api/v1/bundles', { yaml_content });
    await post(`/api/v1/bundles/shop/${version}/deploy`, { env: 'production' });
  }
});

it('are said to be the same, and an agent runs the one that was deployed last', async () => {
  const { key } = await hub.key(cookie);
  const agents = new AgentStreams(hub, key);
  const { body: now } = await hub.call('GET', '/api/v1/bundles/shop/current?env=production', { cookie });
  await agents.open('same-1', `&bundle_name=shop&policy_version=${now.revision_hash}`);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/bundles/shop');
  const table = page.getByRole('table', { name: 'versions of a bundle' });
  await table.getByRole('row').filter({ hasText: 'v3 same as v1' }).waitFor();
  await table.getByRole('row').filter({ hasText: 'v1 same as v3' }).waitFor();
  await expect.poll(() => table.getByText(/same as/).count()).toBe(2);
  await page.getByRole('button', { name: 'Deploy v2' }).click();
  const plan = page.getByRole('region', { name: /^(Change|Deployment of) shop/ });
  await plan.getByRole('heading', { name: 'Changes from v3, deployed to production' }).waitFor();
  await plan.getByText('Currently 1 on v3.').waitFor();
  noFaults(visit);
  await visit.context.close();
  agents.close();
});

it('are deployed in place of each other only at a second press, which says that nothing changes', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/bundles/shop');
  await page.getByRole('button', { name: 'Deploy v1' }).click();
  const plan = page.getByRole('region', { name: /^(Change|Deployment of) shop/ });
  await plan.getByRole('heading', { name: 'Identical to v3, deployed to production' }).waitFor();
  const before = await deployments();
  const button = plan.getByRole('button', { name: 'Deploy v1 to production' });
  await button.click();
  await plan
    .getByText('production already runs this document, as v3. A deployment changes nothing.')
    .waitFor();
  await accessible(page);
  expect(await deployments()).toBe(before);
  await button.click();
  await plan.getByText('shop v1 is deployed to production.').waitFor();
  expect(await deployments()).toBe(before + 1);
  // Nothing changed: there is nothing to go back to.
  expect(await plan.getByRole('button', { name: /^Roll back/ }).count()).toBe(0);
  noFaults(visit);
  await visit.context.close();
});

it('have no roll-back and no undeploy by key in an environment without a deployment', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/bundles/shop?env=staging');
  await page.getByRole('button', { name: 'Undeploy from production' }).waitFor();
  await page.keyboard.press('Shift+B');
  await page.keyboard.press('Shift+U');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: /^Command/ }).fill('shop');
  const reasons = ['no other version was deployed to staging before', 'not deployed to staging'];
  for (const reason of reasons) await page.getByRole('option').filter({ hasText: reason }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/dashboard/bundles/shop');
  // An environment by name does not depend on the chosen one.
  await page
    .getByRole('option')
    .filter({ hasText: /^Undeploy shop from production/ })
    .click();
  await page.getByRole('region', { name: 'Undeploy shop from production' }).waitFor();
  noFaults(visit);
  await visit.context.close();
});

it('have one page for bundles and rulesets, with a tag for the API', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const partsOf = async (kind: string, api: string) => {
    await page.goto(`/dashboard/${kind}s/shop?version=2`);
    const main = page.getByRole('region', { name: new RegExp(`^${kind} shop`, 'i') });
    await main.getByText(api, { exact: true }).waitFor();
    await main.getByRole('button', { name: /^Replay/ }).waitFor();
    await accessible(page);
    const acts = main.getByRole('button', { name: /^(Deploy|Roll back|Undeploy|Show v|Download v)/ });
    return {
      headings: await main.getByRole('heading', { level: 2 }).allTextContents(),
      acts: await acts.allTextContents(),
    };
  };
  const bundle = await partsOf('bundle', '/api/v1');
  expect(bundle.headings).toEqual(['Deployments', 'Versions', 'Compare versions', 'Replay of past calls']);
  expect(bundle.acts).toEqual(expect.arrayContaining(['Undeploy', 'Deploy v1', 'Show v3', 'Download v2']));
  expect(await partsOf('ruleset', '/v1')).toEqual(bundle);
  noFaults(visit);
  await visit.context.close();
});

itAtNight('of a ruleset ask in the same way', async () => {
  const { token } = await post('/api/v1/auth/operator-token', {});
  await post('/api/v1/sample-run', {});
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-yaml' };
  const address = `${hub.url}/v1/rulesets/sample-guardrails`;
  const { yaml_content: yaml } = (await (await fetch(address, { headers })).json()) as {
    yaml_content: string;
  };
  const text = yaml.replace('name: sample-guardrails', 'name: twice');
  for (const body of [text, `${text}\n# changed`, text]) {
    const put = await fetch(`${hub.url}/v1/rulesets/twice?deploy=true`, { method: 'PUT', headers, body });
    expect(put.status).toBeLessThan(300);
  }
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/rulesets/twice?version=1');
  await page.getByRole('table', { name: 'versions of a ruleset' }).getByText('same as v3').waitFor();
  await page.getByRole('button', { name: 'Deploy v1' }).click();
  const plan = page.getByRole('region', { name: /^Change twice/ });
  await plan.getByText('Identical to v3, deployed to production').waitFor();
  await plan.getByRole('button', { name: 'Deploy v1 to production' }).click();
  await plan.getByText(/A deployment changes nothing\. Press the button again/).waitFor();
  await accessible(page);
  noFaults(visit);
  await visit.context.close();
});

it('have a page for each deployment, which says how it ended', async () => {
  const { body: all } = await hub.call('GET', '/api/v1/deployments', { cookie });
  // Another test of this hub deploys a ruleset.
  const [last, ...earlier] = (
    all as readonly { readonly id: string; readonly bundle_name: string; readonly bundle_version: number }[]
  ).filter(({ bundle_name: name }) => name === 'shop');
  const first = earlier.at(-1);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const main = page.getByRole('main');
  await page.goto(`/dashboard/changes/deployment/${first?.id}`);
  await main.getByText(/^\s*shop v1 was deployed to production until v2 replaced it /).waitFor();
  await main.getByText('This deployment is over.').waitFor();
  await page.goto(`/dashboard/changes/deployment/${last?.id}`);
  await main.getByText(`shop v${last?.bundle_version} is deployed to production.`).waitFor();
  const path = '/api/v1/deployments/current?env=production&bundle_name=shop';
  expect((await hub.call('DELETE', path, { cookie })).status).toBe(204);
  await page.reload();
  await main
    .getByText(`shop v${last?.bundle_version} was deployed to production until admin`, { exact: false })
    .waitFor();
  noFaults(visit);
  await visit.context.close();
});
