// Two people change one thing: each change replaces or removes only the state that its person saw, and a draft without
// changes is no conflict.
import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { starterRuleset } from '../../src/dashboard/pages/contracts/starters.ts';
import { accessible, go, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();

async function send(path: string, body: object, method = 'POST') {
  const answer = await hub.call(method, path, { cookie, body });
  expect(answer.status, path).toBeLessThan(300);
  return answer.body;
}

const drafts = (page: Page) =>
  page.evaluate("Object.keys(sessionStorage).filter((key) => key.includes('draft.'))");

/**
 * Makes a change that the page does not read. Its next change ends that.
 * @param address the page's requests that fail
 */
async function missChange(
  page: Page,
  address: string | RegExp,
  change: () => Promise<unknown>,
): Promise<void> {
  let misses = 0;
  let isAway = true;
  page.on('request', (request) => {
    if (
      request.method() !== 'GET' &&
      /\/(deploy|(assignment-rules|contracts|rulesets)\/)/.test(request.url())
    )
      isAway = false;
  });
  await page.unroute(address);
  await page.route(address, (route) => {
    if (!isAway || route.request().method() !== 'GET') return route.continue();
    misses += 1;
    return route.abort();
  });
  await change();
  await expect.poll(() => misses).toBeGreaterThan(0);
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
    const running = async (): Promise<string> =>
      (await hub.call('GET', `/api/v1/bundles/shop/current?env=${env}`, { cookie })).body.version;
    await page.goto(`/dashboard/changes/new?${source}&env=${env}`);
    await plan.getByText(`no bundle is deployed to ${env}`).waitFor();
    await expect.poll(() => deploy.isEnabled()).toBe(true);
    for (const version of [1, 2]) {
      await missChange(page, '**/bundles/shop/current?*', () =>
        send(`/api/v1/bundles/shop/${version}/deploy`, { env }),
      );
      await expect.poll(() => deploy.isEnabled()).toBe(true);
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

  it('follows an undeployment, and a deployment after it', async () => {
    const deploy = (version: number) => send(`/api/v1/bundles/shop/${version}/deploy`, { env: 'staging' });
    const undeploy = () => send('/api/v1/deployments/current?bundle_name=shop&env=staging', {}, 'DELETE');
    await deploy(1);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const plan = page.getByRole('region', { name: /^Change shop.* in staging$/ });
    const notice = plan.getByText('The document of staging changed while this page was open.');
    await page.goto('/dashboard/changes/new?bundle=shop&version=3&env=staging');
    await plan.getByText('Changes from v1, deployed to staging').waitFor();
    await undeploy();
    await plan.getByText('no bundle is deployed to staging').waitFor();
    await plan.getByRole('button', { name: 'Use new difference' }).click();
    await notice.waitFor({ state: 'detached' });
    await deploy(2);
    await plan.getByText('Changes from v2, deployed to staging').waitFor();
    await undeploy();
    await notice.waitFor({ state: 'detached' });
    await plan.getByRole('button', { name: 'Deploy v3 to staging' }).click();
    await page.getByText('shop v3 is deployed to staging.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('an assignment rule', () => {
  const ruleNow = async () => (await hub.call('GET', '/api/v1/assignment-rules', { cookie })).body[0];

  it('is saved over the state that its form displayed, in the changed fields alone', async () => {
    const rule = await send('/api/v1/assignment-rules', {
      ...{ priority: 5, pattern: 'shop-*', tag_match: { tier: 'gold' } },
      ...{ bundle_name: 'shop', env: 'production' },
    });
    const path = `/api/v1/assignment-rules/${rule.id}`;
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const form = page.getByRole('dialog', { name: 'Edit rule' });
    const save = form.getByRole('button', { name: 'Save rule' });
    const notice = form.getByText('Another user saved this rule');
    const open = () => page.getByRole('button', { name: 'Edit the rule for shop-*' }).click();
    await page.goto('/dashboard/fleet?view=assignment&env=production');
    await open();
    await form.getByLabel('Priority').fill('6');
    await send(path, { env: 'staging' }, 'PATCH');
    await notice.waitFor();
    expect(await save.isDisabled()).toBe(true);
    await accessible(page);
    await form.getByRole('button', { name: 'Keep my changes' }).click();
    await notice.waitFor({ state: 'detached' });
    expect(await form.getByLabel('Priority').inputValue()).toBe('6');
    expect(await form.getByLabel('Rule environment').inputValue()).toBe('staging');
    // The page misses the next change.
    await missChange(page, '**/assignment-rules?*', () => send(path, { tag_match: null }, 'PATCH'));
    expect(await notice.count()).toBe(0);
    await save.click();
    await notice.waitFor();
    expect(await ruleNow()).toMatchObject({ priority: 5, tag_match: null });
    await form.getByRole('button', { name: 'Keep my changes' }).click();
    const request = page.waitForRequest((one) => one.method() === 'PATCH');
    await save.click();
    expect((await request).postDataJSON()).toEqual({ priority: 6 });
    await form.waitFor({ state: 'hidden' });
    expect(await ruleNow()).toMatchObject({ priority: 6, tag_match: null, env: 'staging' });
    await page.goto('/dashboard/fleet?view=assignment&env=staging');
    await open();
    await form.getByLabel('Priority').fill('8');
    await send(path, { priority: 7 }, 'PATCH');
    await form.getByRole('button', { name: 'Load saved version' }).click();
    await expect.poll(() => form.getByLabel('Priority').inputValue()).toBe('7');
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a new assignment rule', () => {
  it('keeps the bundle that its form first displayed', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const form = page.getByRole('dialog', { name: 'New rule' });
    const bundle = form.getByLabel('Bundle', { exact: true });
    const options = () => bundle.locator('option').allTextContents();
    const chosen = () => bundle.locator('option:checked').textContent();
    await page.goto('/dashboard/fleet?view=assignment&env=development');
    await page.getByRole('button', { name: 'New rule' }).click();
    await expect.poll(options).toEqual(['shop']);
    await send('/api/v1/bundles', { yaml_content: library.replace('name: shop', 'name: a-newer-one') });
    await expect.poll(options).toEqual(['a-newer-one', 'shop']);
    expect(await chosen()).toBe('shop');
    await form.getByLabel('Agents').fill('default-*');
    await form.getByRole('button', { name: 'Add rule' }).click();
    await form.waitFor({ state: 'hidden' });
    const rules = (await hub.call('GET', '/api/v1/assignment-rules', { cookie })).body;
    expect(rules.find((rule: { readonly pattern: string }) => rule.pattern === 'default-*')).toMatchObject({
      bundle_name: 'shop',
    });
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a ruleset', () => {
  const name = /name: (.+)/.exec(starterRuleset)?.[1] ?? '';
  const upload = (text: string) => send('/api/v1/bundles', { yaml_content: `${starterRuleset}# ${text}\n` });
  const newest = async () => {
    const { version } = (await hub.call('GET', `/api/v1/bundles/${name}`, { cookie })).body[0];
    return (await hub.call('GET', `/api/v1/bundles/${name}/${version}/yaml`, { cookie })).body;
  };

  it('is saved over the version that its text is based on', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const form = page.getByRole('dialog', { name: 'Edit ruleset' });
    const editor = form.getByRole('textbox', { name: 'Ruleset as YAML' });
    const save = form.getByRole('button', { name: 'Save ruleset' });
    const notice = form.getByText('Another user saved this ruleset');
    const write = async (line: string): Promise<void> => {
      await editor.click();
      await page.keyboard.press('ControlOrMeta+Home');
      await page.keyboard.insertText(`${line}\n`);
    };
    await upload('the first');
    await page.goto(`/dashboard/rulesets/${name}`);
    await page.getByRole('button', { name: 'Edit as new version' }).click();
    await write('# mine');
    await upload('theirs');
    await notice.waitFor();
    expect(await save.isDisabled()).toBe(true);
    await form.getByRole('button', { name: 'Keep my changes' }).click();
    await notice.waitFor({ state: 'detached' });
    // The page misses the next version.
    await missChange(page, `**/v1/rulesets/${name}`, () => upload('also theirs'));
    expect(await notice.count()).toBe(0);
    await save.click();
    await notice.waitFor();
    expect(await newest()).toContain('# also theirs');
    await form.getByRole('button', { name: 'Load saved version' }).click();
    await notice.waitFor({ state: 'detached' });
    await write('# again');
    await save.click();
    await form.waitFor({ state: 'hidden' });
    expect(await newest()).toMatch(/^# again\n(?!# mine)[\s\S]*# also theirs/);
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a change that the page missed', () => {
  const refusal = 'Another user made a change first. Nothing was done.';
  const statusOf = async (path: string): Promise<number> => (await hub.call('GET', path, { cookie })).status;

  it('keeps a contract from being replaced', async () => {
    const path = '/api/v1/contracts/ask-before-deploy';
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const panel = page.getByRole('region', { name: /^Contract ask-before-deploy/ });
    const save = panel.getByRole('button', { name: 'Save as new version' });
    const name = panel.getByLabel('Name', { exact: true });
    const notice = panel.getByText('Another user saved this contract');
    const keep = panel.getByRole('button', { name: 'Keep my changes' });
    const update = (tag: string) => send(path, { tags: [tag] }, 'PUT');
    await page.goto('/dashboard/contracts/ask-before-deploy');
    await panel.getByRole('button', { name: 'Edit contract' }).click();
    await name.fill('Ask later');
    await update('first');
    await notice.waitFor();
    expect(await save.isDisabled()).toBe(true);
    await panel.getByRole('button', { name: 'Load saved version' }).click();
    await notice.waitFor({ state: 'detached' });
    expect(await panel.getByLabel('Tags').inputValue()).toBe('first');
    await expect.poll(() => drafts(page)).toEqual([]);
    await name.fill('Ask first');
    await update('second');
    await keep.click();
    await missChange(page, '**/contracts/ask-before-deploy', () => update('third'));
    expect(await notice.count()).toBe(0);
    await save.click();
    await notice.waitFor();
    expect((await hub.call('GET', path, { cookie })).body).toMatchObject({ tags: ['third'] });
    await keep.click();
    await save.click();
    await page.getByText('New version of ask-before-deploy saved.').waitFor();
    const saved = (await hub.call('GET', path, { cookie })).body;
    expect(saved).toMatchObject({ name: 'Ask first', tags: ['first'] });
    noFaults(visit);
    await visit.context.close();
  });

  /** The hub refuses the first press, because the record has changed since the dialog opened. */
  async function pressTwice(dialog: Locator, name: string): Promise<void> {
    const button = dialog.getByRole('button', { name });
    const answer = dialog.page().waitForResponse((one) => one.request().method() === 'DELETE');
    await button.click();
    expect((await answer).status()).toBe(412);
    await dialog.getByText(refusal).waitFor();
    await button.click();
  }

  it('keeps a contract from being deleted', async () => {
    const { type, definition } = (await hub.call('GET', '/api/v1/contracts/no-secrets', { cookie })).body;
    const named = { contract_id: 'unused', name: 'Unused', type, definition };
    await send('/api/v1/contracts', named);
    const path = '/api/v1/contracts/unused';
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/contracts/unused');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete contract' });
    await missChange(page, '**/contracts/unused', () => send(path, { name: 'Used soon' }, 'PUT'));
    await dialog.getByRole('button', { name: 'Delete contract' }).click();
    await dialog.getByText(refusal).waitFor();
    expect(await statusOf(path)).toBe(200);
    // The page sees the next change, the person perhaps not.
    await page.getByText('version 2,').waitFor();
    await send(path, { name: 'Used now' }, 'PUT');
    await page.getByText('version 3,').waitFor();
    await pressTwice(dialog, 'Delete contract');
    await page.getByText('unused deleted.').waitFor();
    expect(await statusOf(path)).toBe(404);
    noFaults(visit);
    await visit.context.close();
  });

  it('keeps a rule from being deleted', async () => {
    const rule = await send('/api/v1/assignment-rules', {
      ...{ priority: 40, pattern: 'old-*', tag_match: null },
      ...{ bundle_name: 'shop', env: 'production' },
    });
    const path = `/api/v1/assignment-rules/${rule.id}`;
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/fleet?view=assignment&env=production');
    await page.getByRole('button', { name: 'Delete the rule for old-*' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete rule' });
    await missChange(page, '**/assignment-rules?*', () => send(path, { pattern: 'new-*' }, 'PATCH'));
    await dialog.getByRole('button', { name: 'Delete rule' }).click();
    await dialog.getByText(refusal).waitFor();
    await dialog.getByText('new-*').waitFor();
    // The page sees the next change, the person perhaps not.
    await send(path, { pattern: 'newest-*' }, 'PATCH');
    await dialog.getByText('newest-*').waitFor();
    await pressTwice(dialog, 'Delete rule');
    await dialog.waitFor({ state: 'hidden' });
    const left = (await hub.call('GET', '/api/v1/assignment-rules', { cookie })).body;
    expect(left.map(({ id }: { readonly id: string }) => id)).not.toContain(rule.id);
    noFaults(visit);
    await visit.context.close();
  });

  it('keeps a bundle from being undeployed', async () => {
    const deploy = (version: number) => send(`/api/v1/bundles/shop/${version}/deploy`, { env: 'production' });
    const current = '/api/v1/bundles/shop/current?env=production';
    await deploy(1);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/changes/new?bundle=shop&undeploy=true&env=production');
    const undeploy = page.getByRole('button', { name: 'Undeploy from production' });
    await page.getByText('Undeploying removes shop v1').waitFor();
    await missChange(page, /\/api\/v1\/(deployments|bundles\/shop)\?/, () => deploy(2));
    await undeploy.click();
    await page.getByText(refusal).waitFor();
    expect(await statusOf(current)).toBe(200);
    for (const version of [2, 3]) {
      if (version === 3) await deploy(version);
      await page.getByText(`Undeploying removes shop v${version}`).waitFor();
      expect(await undeploy.isDisabled()).toBe(true);
      await page.getByRole('button', { name: 'Use new version' }).click();
    }
    await undeploy.click();
    await page.getByText('shop undeployed from production.').waitFor();
    expect(await statusOf(current)).toBe(404);
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a draft', () => {
  it('of a composition goes with its last change, and is no conflict with a later save', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const panel = page.getByRole('region', { name: 'Composition shop' });
    await page.goto('/dashboard/compositions/shop');
    await panel.getByRole('button', { name: 'Move ask-before-deploy up' }).click();
    await expect.poll(() => drafts(page)).toHaveLength(1);
    await panel.getByRole('button', { name: 'Move ask-before-deploy down' }).click();
    await panel.getByRole('button', { name: 'Deploy shop' }).waitFor();
    await expect.poll(() => drafts(page)).toEqual([]);
    await send('/api/v1/compositions/shop', { description: 'From another person' }, 'PUT');
    const { definition } = await (await hub.call('GET', '/api/v1/contracts/no-secrets', { cookie })).body;
    await send(
      '/api/v1/contracts/no-secrets',
      { definition: { ...definition, when: { 'args.path': { contains: '.pem' } } } },
      'PUT',
    );
    await panel.getByText('From another person').waitFor();
    await panel.getByRole('button', { name: 'Update contracts' }).click();
    await page.getByText('shop saved.').waitFor();
    expect(await panel.getByText('Another user saved this composition').count()).toBe(0);
    noFaults(visit);
    await visit.context.close();
  });

  it('is gone after a save whose answer reaches another page', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const panel = page.getByRole('region', { name: /^(Composition shop|Contract no-secrets)/ });
    /** Saves, and leaves the page before the hub answers. */
    const saveAndLeave = async (path: string, act: string): Promise<void> => {
      let answer = (): void => undefined;
      const isAway = new Promise<void>((resolve) => {
        answer = resolve;
      });
      await page.route(path, async (route) => {
        if (route.request().method() !== 'PUT') return route.continue();
        await isAway;
        return route.continue();
      });
      const saved = page.waitForResponse((one) => one.request().method() === 'PUT');
      await panel.getByRole('button', { name: act }).click();
      await go(page, '/fleet');
      await panel.waitFor({ state: 'detached' });
      expect(await drafts(page)).toHaveLength(1);
      answer();
      expect((await saved).status()).toBe(200);
      await expect.poll(() => drafts(page)).toEqual([]);
      await page.unroute(path);
    };
    await page.goto('/dashboard/compositions/shop');
    await panel.getByRole('button', { name: 'Move ask-before-deploy up' }).click();
    await saveAndLeave('**/compositions/shop', 'Save composition');
    await page.goto('/dashboard/contracts/no-secrets');
    await panel.getByRole('button', { name: 'Edit contract' }).click();
    await panel.getByLabel('Name', { exact: true }).fill('Keys stay here');
    await saveAndLeave('**/contracts/no-secrets', 'Save as new version');
    noFaults(visit);
    await visit.context.close();
  });

  it('keeps what was typed while a save waited for its answer, as a change of the saved state', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const { key } = await hub.key(cookie);
    const events = [{ call_id: '1', tool_name: 'read_file', verdict: 'call_allowed' }];
    const sent = await hub.call('POST', '/api/v1/events', { key, agent: 'typed-1', body: { events } });
    expect(sent.status).toBe(200);
    /** Runs `type` between a press on the button and the hub's answer. */
    const saveWhile = async (path: string, act: string, type: () => Promise<void>): Promise<void> => {
      let answer = (): void => undefined;
      const isTyped = new Promise<void>((resolve) => {
        answer = resolve;
      });
      await page.route(path, async (route) => {
        if (route.request().method() === 'GET') return route.continue();
        const response = await route.fetch();
        await isTyped;
        return route.fulfill({ response });
      });
      await page.getByRole('button', { name: act }).click();
      await type();
      answer();
      await page.getByText(/^(shop|Agent) saved\./).waitFor();
      await page.unroute(path);
    };
    await page.goto('/dashboard/compositions/shop');
    const mode = page.getByLabel('Default mode');
    await page
      .getByRole('button', { name: /^Move .* down$/ })
      .first()
      .click();
    await saveWhile('**/compositions/shop', 'Save composition', async () => {
      await mode.selectOption('observe');
    });
    const save = page.getByRole('button', { name: 'Save composition' });
    await expect.poll(() => save.isEnabled()).toBe(true);
    expect(await mode.inputValue()).toBe('observe');
    expect(await page.getByText('Another user saved this composition').count()).toBe(0);
    await save.click();
    await page.getByRole('button', { name: 'Deploy shop' }).waitFor();
    const stored = (await hub.call('GET', '/api/v1/compositions/shop', { cookie })).body;
    expect(stored.defaults_mode).toBe('observe');
    await page.goto('/dashboard/agents/typed-1');
    const [name, tags] = ['Display name', 'Tags'].map((label) => page.getByLabel(label, { exact: true }));
    await name?.fill('First');
    await tags?.fill('tier=gold');
    await saveWhile('**/agent-registrations/typed-1', 'Save agent', async () => {
      await name?.fill('Second');
    });
    expect(await name?.inputValue()).toBe('Second');
    expect(await tags?.inputValue()).toBe('tier=gold');
    noFaults(visit);
    await visit.context.close();
  });
});
