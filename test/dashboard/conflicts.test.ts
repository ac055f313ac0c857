// Two people change one thing: a deploy replaces only the state that its person saw.
import { beforeAll, describe, expect, it } from 'vitest';
import { noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();

async function send(path: string, body: object, method = 'POST') {
  const answer = await hub.call(method, path, { cookie, body });
  expect(answer.status, path).toBeLessThan(300);
  return answer.body;
}

beforeAll(async () => {
  await send('/api/v1/contracts/import', { yaml_content: library });
  for (const text of ['A refund of', 'The refund of', 'Each refund of'])
    await send('/api/v1/bundles', { yaml_content: library.replace('A refund of', text) });
});

describe('a deploy', () => {
  it.each([
    ['a bundle', 'bundle=shop&version=3', 'Deploy v3 to staging', 'staging'],
    ['a composition', 'composition=shop', 'Deploy to development', 'development'],
  ])('of %s replaces only the reviewed document, also if the page missed a change', async (...row) => {
    const [, source, act, env] = row;
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const plan = page.getByRole('region', { name: new RegExp(`^Change shop.* in ${env}$`) });
    const notice = plan.getByText(`The document of ${env} changed while this page was open.`);
    const deploy = plan.getByRole('button', { name: act });
    const current = '**/bundles/shop/current?*';
    let misses = 0;
    const deployUnseen = async (version: number): Promise<void> => {
      misses = 0;
      await page.route(current, (route) => {
        misses += 1;
        return route.abort();
      });
      await send(`/api/v1/bundles/shop/${version}/deploy`, { env });
      await expect.poll(() => misses).toBeGreaterThan(0);
      await page.unroute(current);
    };
    const running = async (): Promise<string> =>
      (await hub.call('GET', `/api/v1/bundles/shop/current?env=${env}`, { cookie })).body.version;
    await page.goto(`/dashboard/changes/new?${source}&env=${env}`);
    await plan.getByText(`no bundle is deployed to ${env}`).waitFor();
    await expect.poll(() => deploy.isEnabled()).toBe(true);
    for (const version of [1, 2]) {
      await deployUnseen(version);
      expect(await deploy.isEnabled()).toBe(true);
      await deploy.click();
      await notice.waitFor();
      expect(await deploy.isDisabled()).toBe(true);
      expect(await running()).toBe(version);
      await plan.getByText(`Changes from v${version}, deployed to ${env}`).waitFor();
      await plan.getByRole('button', { name: 'Use new difference' }).click();
      await notice.waitFor({ state: 'detached' });
    }
    await deploy.click();
    await page.getByText(new RegExp(`shop v\\d is deployed to ${env}\\.`)).waitFor();
    expect(await running()).toBeGreaterThan(2);
    noFaults(visit);
    await visit.context.close();
  });
});
