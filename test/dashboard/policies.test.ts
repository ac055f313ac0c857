// Policies in the console: rules in words, where they are deployed, the calls that they decided, and what changed.
import { beforeAll, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view, write } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();

async function must(method: string, path: string, body: object, options: object = { cookie }): Promise<void> {
  const { status } = await hub.call(method, path, { ...options, body });
  expect(status).toBeLessThan(300);
}

beforeAll(async () => {
  await must('POST', '/api/v1/contracts/import', { yaml_content: library });
  for (const env of ['production', 'staging'])
    await must('POST', '/api/v1/compositions/shop/deploy', { env });
  const { key } = await hub.key(cookie);
  const { key: staging } = await hub.key(cookie, 'staging');
  const call = (n: number, path: string, decision: string | null, minutes: number) => ({
    call_id: `read-${n}`,
    agent_id: 'reader-1',
    tool_name: 'read_file',
    verdict: decision === null ? 'call_allowed' : 'call_denied',
    timestamp: new Date(Date.now() - minutes * 60_000).toISOString(),
    payload: { tool_args: { path }, decision_name: decision },
  });
  const report = (events: readonly object[], by: string) =>
    must('POST', '/api/v1/events', { events }, { key: by, agent: 'reader-1' });
  await report(
    [
      call(1, '/srv/.env', 'no-secrets', 1),
      call(2, '/srv/.env', 'no-secrets', 2),
      call(3, '/srv/a.ts', null, 3),
      call(4, '/srv/id_rsa', 'no-secrets', 3 * 24 * 60),
    ],
    key,
  );
  await report([call(5, '/srv/.env', 'no-secrets', 1)], staging);
});

it('lists contracts with their rules in words, tools, calls of the range, and environments', async () => {
  const visit = await view(hub.url, { cookie, width: 1800 });
  const { page } = visit;
  await page.goto('/dashboard/policies');
  const table = page.getByRole('main').getByRole('table', { name: 'contracts' });
  const row = table.getByRole('row').filter({ hasText: 'no-secrets' });
  await row.getByText('Denies read_file when args.path contains any of .env, id_rsa').waitFor();
  await row.getByRole('cell', { name: 'read_file', exact: true }).waitFor();
  await row.getByRole('img', { name: '3 denied', exact: true }).waitFor();
  await expect
    .poll(() => row.getByText(/^(production|staging|development)$/).allTextContents())
    .toEqual(['production', 'staging']);
  await table.getByText('Observes only: denies refund when args.amount > 500').waitFor();
  await accessible(page);
  await page.goto('/dashboard/policies?from=now-7d&env=production');
  await row.getByRole('img', { name: '3 denied', exact: true }).waitFor();
  await page.getByRole('radio', { name: 'All' }).check({ force: true });
  await row.getByRole('img', { name: '4 denied', exact: true }).waitFor();
  // A deployment elsewhere shows at once.
  await must('POST', '/api/v1/compositions/shop/deploy', { env: 'development' });
  await row.getByText('development', { exact: true }).waitFor();
  // The list goes on beyond its first page, and a row that the next page repeats stays one.
  await must('PUT', '/api/v1/contracts/ask-before-deploy', { tags: ['guard'] });
  let pages = 0;
  await page.route(/\/api\/v1\/contracts\?/, (route) => {
    const url = route.request().url();
    if (url.includes('limit=1000')) pages += 1;
    const offset = pages === 2 ? 'offset=0' : 'offset=1';
    return route.continue({ url: url.replace('limit=1000', 'limit=1').replace('offset=1', offset) });
  });
  await page.reload();
  await page.getByText('3 contracts in the library.').waitFor();
  expect(pages).toBeGreaterThanOrEqual(4);
  expect(await table.getByRole('row').count()).toBe(4);
  expect(await page.getByLabel('Tag').locator('option').allTextContents()).toEqual(['All tags', 'guard']);
  noFaults(visit);
  await visit.context.close();
});

it('searches for the text in the address, after Back and after a link, too', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const field = page.getByRole('searchbox', { name: 'Search in contracts' });
  const search = () => new URL(page.url()).searchParams.get('search');
  await page.goto('/dashboard/policies');
  await page.getByLabel('Type').selectOption('pre');
  await page.waitForURL((url) => url.searchParams.get('type') === 'pre');
  await field.fill('no-sec');
  await expect.poll(search).toBe('no-sec');
  await field.pressSequentially('rets', { delay: 100 });
  await expect.poll(search).toBe('no-secrets');
  expect(await field.inputValue()).toBe('no-secrets');
  await page.goBack();
  await expect.poll(() => field.inputValue()).toBe('');
  await page.goForward();
  await expect.poll(() => field.inputValue()).toBe('no-secrets');
  await page.getByRole('link', { name: 'Policies' }).first().click();
  await expect.poll(() => field.inputValue()).toBe('');
  // Longer than the field waits after a key.
  await page.waitForTimeout(600);
  expect([search(), await field.inputValue()]).toEqual([null, '']);
  noFaults(visit);
  await visit.context.close();
});

it('shows on the page of a contract which calls it decided and matches, and what its versions changed', async () => {
  const then = { effect: 'deny', message: 'No secrets' };
  const definition = { type: 'pre', tool: 'read_file', then };
  const when = (names: readonly string[]) => ({ 'args.path': { contains_any: names } });
  const put = (body: object) => must('PUT', '/api/v1/contracts/no-secrets', body);
  await put({ definition: { ...definition, when: when(['.env', 'id_rsa', '.pem']) } });
  await put({ name: 'No secrets at all' });
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/contracts/no-secrets?env=production');
  const panel = page.getByRole('region', { name: 'Contract no-secrets' });
  await panel.getByText('Denies read_file when args.path contains any of .env, id_rsa, .pem').waitFor();
  const decided = panel.getByRole('region', { name: 'Decided calls' });
  await decided.getByText('2 denied', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Time range' }).click();
  await page.getByRole('button', { name: 'Last 7 days' }).click();
  await decided.getByText('3 denied', { exact: true }).waitFor();
  const matching = panel.getByRole('region', { name: 'Matching past calls' });
  await matching.getByRole('button', { name: /^Check newest/ }).click();
  await matching.getByText('this contract would have denied 3. It does not match 1.').waitFor();
  await expect.poll(() => matching.getByRole('table').getByRole('row').count()).toBe(4);
  const versions = panel.getByRole('region', { name: 'Changes' }).getByRole('table');
  const changeOf = (version: string) =>
    versions.getByRole('row').filter({ has: page.getByText(version, { exact: true }) });
  await changeOf('v1').getByText('first version').waitFor();
  await changeOf('v3').getByText('name', { exact: true }).waitFor();
  await changeOf('v2').getByText('tightened: then, when', { exact: true }).waitFor();
  await accessible(page);
  // The rule, calls as cases, and what became of it stand beside each other.
  const lefts = await Promise.all(
    [panel.locator('.editor'), matching, decided].map(async (part) => (await part.boundingBox())?.x),
  );
  expect(new Set(lefts).size).toBe(3);
  await decided.getByRole('link', { name: 'Show 3 calls in Explore' }).click();
  const events = page.getByRole('grid', { name: 'Events' });
  await expect.poll(() => events.getByRole('link', { name: 'read_file' }).count()).toBe(3);
  // A contract without its calls.
  await page.goto('/dashboard/contracts/ask-before-deploy');
  await page.getByText('This contract decided no call in this range.').waitFor();
  noFaults(visit);
  await visit.context.close();
});

itAtNight(
  'runs the cases of Test that concern a contract on its page, and says how to save one',
  async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/contracts/no-secrets');
    const cases = page.getByRole('region', { name: 'Saved cases' });
    await cases.getByText(/^No case in this browser concerns this contract/).waitFor();
    // The starter document of Test denies this call by its own no-secrets.
    await cases.getByRole('link', { name: 'Open Test' }).click();
    const saved = page.getByRole('region', { name: 'Cases' });
    const save = async (name: string): Promise<void> => {
      await saved.getByLabel('Case name').fill(name);
      await saved.getByRole('button', { name: 'Save case', exact: true }).click();
      await saved.getByRole('row').filter({ hasText: name }).waitFor();
    };
    await save('a secret file');
    await page.getByLabel('Arguments as JSON').fill('{ "path": "/srv/a.txt" }');
    await save('a plain file');
    await page.getByLabel('Tool', { exact: true }).fill('search_docs');
    await save('another tool');
    const definition = {
      tool: 'read_file',
      when: { 'args.path': { contains: '.txt' } },
      then: { effect: 'deny', message: 'No text' },
    };
    await must('POST', '/api/v1/contracts', {
      ...{ contract_id: 'no-text', name: 'No text', type: 'pre' },
      definition,
    });
    await page.goto('/dashboard/contracts/no-secrets');
    await cases.getByRole('button', { name: 'Run 2 cases' }).click();
    await cases.getByText('2 of 2 cases as expected with this contract alone.').waitFor();
    const rowOf = (name: string) => cases.getByRole('row').filter({ hasText: name });
    await expect.poll(() => rowOf('a secret file').textContent()).toMatch(/denied\s*denied\s*as expected/);
    await expect.poll(() => rowOf('a plain file').textContent()).toMatch(/allowed\s*allowed\s*as expected/);
    await accessible(page);
    // Another contract decides the case of the secret.
    await page.goto('/dashboard/contracts/no-text');
    await cases.getByRole('button', { name: 'Run 1 case' }).click();
    await cases.getByText('0 of 1 case as expected with this contract alone.').waitFor();
    await expect
      .poll(() => rowOf('a plain file').textContent())
      .toMatch(/allowed\s*denied\s*not as expected/);
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  },
);

it('lists compositions and documents with the calls under their deployed versions, and where they run', async () => {
  await must('POST', '/api/v1/compositions', { name: 'unused' });
  const { body } = await hub.call('GET', '/api/v1/fleet/matrix', { cookie });
  const [shop] = body.bundles as {
    name: string;
    cells: { deployment: { revision_hash: string } | null }[];
  }[];
  const hash = shop?.cells.find(({ deployment }) => deployment !== null)?.deployment?.revision_hash;
  const { key } = await hub.key(cookie);
  const events = [1, 2, 3].map((n) => ({
    ...{ call_id: `judged-${n}`, agent_id: 'reader-2', tool_name: 'read_file' },
    verdict: n === 1 ? 'call_denied' : 'call_allowed',
    timestamp: new Date(Date.now() - n * 60_000).toISOString(),
    payload: { policy_version: hash },
  }));
  await must('POST', '/api/v1/events', { events }, { key, agent: 'reader-2' });
  const visit = await view(hub.url, { cookie, width: 1800 });
  const { page } = visit;
  const main = page.getByRole('main');
  await page.goto('/dashboard/policies?view=compositions');
  const rowOf = (table: string, name: string) =>
    main
      .getByRole('table', { name: table })
      .getByRole('row')
      .filter({ has: page.getByText(name, { exact: true }) });
  const composition = rowOf('compositions', 'shop');
  await composition.getByRole('img', { name: '1 denied, 2 allowed' }).waitFor();
  await expect.poll(() => composition.textContent()).toMatch(/production\s*v\d\s*staging\s*v\d/);
  await rowOf('compositions', 'unused').getByText('not deployed').waitFor();
  await accessible(page);
  await page.getByRole('tab', { name: 'Documents' }).click();
  await rowOf('bundles', 'shop').getByRole('img', { name: '1 denied, 2 allowed' }).waitFor();
  await accessible(page);
  await page.getByRole('radio', { name: 'Staging' }).check({ force: true });
  await rowOf('bundles', 'shop').getByText('none').waitFor();
  noFaults(visit);
  // Without an answer, a composition that runs is not "not deployed".
  await page.route(/\/fleet\/matrix/, (route) => route.fulfill({ status: 400, json: {} }));
  await page.goto('/dashboard/policies?view=compositions');
  await composition.getByText('unavailable').first().waitFor();
  await expect
    .poll(() => composition.getByText(/^(unavailable|not deployed|none)$/).allTextContents())
    .toEqual(['unavailable', 'unavailable']);
  await visit.context.close();
});

itAtNight(
  'keeps the text of a new version over a reload, and leads from the saved one to a change of each composition',
  async () => {
    const contracts = [{ contract_id: 'watch-refunds', position: 0 }];
    for (const name of ['a1', 'a2', 'a3']) await must('POST', '/api/v1/compositions', { name, contracts });
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/contracts/watch-refunds');
    const panel = page.getByRole('region', { name: 'Contract watch-refunds' });
    await panel.getByRole('button', { name: 'Edit contract' }).click();
    const editor = panel.getByRole('textbox', { name: 'Definition as YAML' });
    const text = (message: string) =>
      `tool: refund\nwhen:\n  args.amount: { gt: 250 }\nthen:\n  effect: deny\n  message: ${message}\n`;
    await write(editor, text('Dropped'));
    await panel.getByLabel('Description').fill('Typed before a reload');
    // A draft is written a moment after the last key press.
    const stored = () => page.evaluate(() => JSON.stringify({ ...sessionStorage }));
    await expect.poll(stored).toContain('Typed before a reload');
    await page.reload();
    await editor.getByText('Dropped').waitFor();
    expect(await panel.getByLabel('Description').inputValue()).toBe('Typed before a reload');
    // Discarded, the draft is gone for good.
    await panel.getByRole('button', { name: 'Discard draft' }).click();
    await expect.poll(stored).not.toContain('Typed before a reload');
    await page.reload();
    await panel.getByRole('button', { name: 'Edit contract' }).click();
    expect(await panel.getByLabel('Description').inputValue()).toBe('');
    await write(editor, text('Kept'));
    await expect.poll(stored).toContain('Kept');
    await page.reload();
    await editor.getByText('Kept').waitFor();
    // Another person saves first.
    await must('PUT', '/api/v1/contracts/watch-refunds', { name: 'Renamed meanwhile' });
    await panel.getByText('Another user saved this contract').waitFor();
    await accessible(page);
    const save = panel.getByRole('button', { name: 'Save as new version' });
    expect(await save.isDisabled()).toBe(true);
    await panel.getByRole('button', { name: 'Keep my changes' }).click();
    await save.click();
    const saved = panel.getByRole('region', { name: 'Saved version' });
    await saved.getByText(/^Version 3 is saved/).waitFor();
    await saved.getByRole('link', { name: 'and 1 more' }).waitFor();
    await expect.poll(() => saved.getByRole('listitem').count()).toBe(3);
    await expect.poll(() => saved.getByRole('button', { name: /^Update/ }).count()).toBe(3);
    const [first = '', second = ''] = await saved
      .getByRole('listitem')
      .getByRole('link', { name: /^(a\d|shop)$/ })
      .allTextContents();
    await saved.getByRole('button', { name: `Update and draft change of ${first}` }).waitFor();
    await accessible(page);
    // Once it contains the new version, nothing is to be saved.
    await must('PUT', `/api/v1/compositions/${second}`, { contracts, defaults_mode: 'enforce' });
    await saved.getByRole('link', { name: `Draft change of ${second}` }).waitFor();
    await saved.getByRole('button', { name: `Update and draft change of ${first}` }).click();
    await page.getByRole('region', { name: `Change ${first} in production` }).waitFor();
    expect(new URL(page.url()).searchParams.get('composition')).toBe(first);
    const { body } = await hub.call('GET', `/api/v1/compositions/${first}`, { cookie });
    const pinned = (body.contracts as { contract_id: string; contract_version: number }[]).find(
      (one) => one.contract_id === 'watch-refunds',
    );
    expect(pinned?.contract_version).toBe(3);
    await page.goto('/dashboard/contracts/watch-refunds');
    await panel.getByRole('button', { name: 'Edit contract' }).waitFor();
    noFaults(visit);
    await visit.context.close();
  },
);

it('closes the peek of a list before a dialog opens, so that no form stands over it', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const peek = page.getByRole('complementary', { name: /^(?:Contract|Composition|Bundle) / });
  for (const [path, row, button, title] of [
    ['/policies', 'no-secrets', 'Import bundle', 'Import bundle'],
    ['/policies', 'no-secrets', 'New contract', 'New contract'],
    ['/policies?view=compositions', 'shop', 'New composition', 'New composition'],
    ['/policies?view=documents', 'shop', 'Upload bundle', 'Upload bundle'],
    ['/policies?view=documents', 'shop', 'New ruleset', 'New ruleset'],
  ] as const) {
    await page.goto(`/dashboard${path}`);
    await page.getByRole('table').getByRole('link', { name: row, exact: true }).first().click();
    await peek.waitFor();
    await page.getByRole('button', { name: button }).click();
    await page.getByRole('dialog', { name: title }).waitFor();
    await peek.waitFor({ state: 'detached' });
    expect(page.url(), button).not.toContain('peek=');
  }
  noFaults(visit);
  await visit.context.close();
});

it('narrows contracts by the facets of their list, and names them where nothing matches', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/policies?tag=none');
  await page.getByText('No contracts match these filters').waitFor();
  // A value of the address that no contract has stands among the options.
  expect(await page.getByLabel('Tag', { exact: true }).inputValue()).toBe('none');
  await page.getByLabel('Tag', { exact: true }).selectOption('');
  await page.getByText(/^\d+ contracts in the library\.$/).waitFor();
  await page.getByLabel('Type').selectOption('post');
  await page.getByText('No contracts match these filters').waitFor();
  expect(page.url()).toContain('type=post');
  noFaults(visit);
  await visit.context.close();
});
