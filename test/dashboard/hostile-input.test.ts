// Texts of strangers in every field, every query and every address. They are typed and sent as a person would; each
// commit deals other ones.
import { readdirSync, readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminPages, ownPages, pages, thingPages } from '../../src/dashboard/pages/registry.ts';
import { isNightly, rowsOfCommit } from '../runs.ts';
import { accessible, ask, noFaults, type View, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { type Input, inputsOf, queryPages } from './inputs.ts';
import { library, reportTool, seed } from './seed.ts';
import { hostile, looked, settled } from './strangers.ts';

const { hub, cookie, key } = await tenantWithKey();
const ids = { tool: '', channel: '' };

let visit: View;
let page: Page;
/** Answers of the hub that no text may cause. */
const failures: string[] = [];

const post = async (path: string, body: object, by: object = { cookie }, method = 'POST') => {
  const answer = await hub.call(method, path, { ...by, body });
  expect(answer.status, path).toBeLessThan(300);
  return answer.body;
};

beforeAll(async () => {
  const things = await seed(hub, cookie);
  ids.channel = things['channel-one']?.split('/').at(-1) ?? '';
  const broken = library.replace('name: shop', 'name: broken').replace('args.path:', 'argz.path:');
  await post('/api/v1/bundles', { yaml_content: broken });
  await post('/api/v1/service-accounts', { name: 'pipeline', roles: [{ role: 'viewer', env: '*' }] });
  const ai = { provider: 'local', base_url: 'http://127.0.0.1:9/', model: 'm' };
  await post('/api/v1/settings/ai', ai, { cookie }, 'PUT');
  await reportTool(hub, key, 'Reads a file');
  ids.tool = (await hub.call('GET', '/api/v1/tool-pins?env=production', { cookie })).body.tools[0].id;
  for (let n = 0; n < 3; n += 1)
    await ask(
      hub,
      key,
      { tool_name: 'together', tool_args: { n, order: `A-${n}` }, timeout: 3_600 },
      `together-${n}`,
    );
  for (let n = 0; n < 8; n += 1)
    await ask(hub, key, { tool_name: `alone-${n}`, timeout: 3_600 }, `alone-${n}`);
  visit = await view(hub.url, { cookie });
  ({ page } = visit);
  page.on('response', (answer) => {
    if (answer.status() >= 500 && answer.status() !== 502)
      failures.push(`${answer.status()} ${answer.url().slice(0, 200)}`);
  });
}, 120_000);
afterAll(async () => {
  noFaults(visit);
  expect(failures).toEqual([]);
  await visit.context.close();
});

/** Waits for the page, or for its words about a thing that does not exist. */
async function open(path: string): Promise<void> {
  await page.goto(`/dashboard${path}`);
  await page.locator('main h1, main h2, .empty-title, form').first().waitFor();
  await page.evaluate(settled);
}

/** Types the text into each of the fields, and sends them by the form's own button. */
async function type(on: Page, { opens = [], ready, labels }: Input, text: string): Promise<void> {
  const dialog = on.getByRole('dialog');
  for (const name of opens) {
    const place = (await dialog.count()) > 0 ? dialog : on;
    await place
      .getByRole('button', { name, exact: typeof name === 'string' })
      .first()
      .click();
  }
  await ready?.(on);
  const place = (await dialog.count()) > 0 ? dialog.last() : on;
  for (const label of labels) {
    const field = place.getByLabel(label, { exact: true }).first();
    // The browser would copy styles into an editor that is filled at once.
    if (!label.endsWith('YAML')) await field.fill(text);
    else {
      await field.focus();
      await on.keyboard.press('ControlOrMeta+a');
      await on.keyboard.insertText(text);
    }
  }
  const last = place.getByLabel(labels.at(-1) ?? '', { exact: true }).first();
  const form = on.locator('form').filter({ has: last });
  const send = form.locator('button[type=submit]:enabled');
  if ((await send.count()) > 0) await send.first().click();
  else await last.press('Enter');
  await expect.poll(() => on.locator('button[aria-busy=true]').count()).toBe(0);
}

const fields = Object.entries(inputsOf(ids)).map(([name]) => name);
/** The texts for the row at a place: per commit one, at night all. */
const textsAt = (at: number): readonly string[] =>
  isNightly ? hostile : [hostile[at % hostile.length] as string];
const fieldChoice = rowsOfCommit(fields, 2);

describe(`texts of strangers (SEED=${fieldChoice.seed})`, { timeout: 60_000 }, () => {
  it.each(fieldChoice.rows.map((name, at) => [name, at] as const))(
    'typed into the fields of %s',
    async (name, at) => {
      const input = inputsOf(ids)[name] as Input;
      const guest = input.isOutside ? await view(hub.url) : null;
      const on = guest?.page ?? page;
      const wrong: string[] = [];
      for (const text of textsAt(at)) {
        await on.goto('/dashboard/theme.js');
        await on.goto(`/dashboard${input.path}`);
        await on.locator('main h1, main h2, form').first().waitFor();
        await type(on, input, text);
        wrong.push(...(await looked(on, name)));
        // At night, the sheet with its mistakes on a screen and on a phone.
        if (text === hostile[1]) await on.setViewportSize({ width: 360, height: 740 });
        if (text === hostile[0] || text === hostile[1]) await accessible(on);
        await on.setViewportSize({ width: 1440, height: 900 });
      }
      expect(wrong).toEqual([]);
      await guest?.context.close();
    },
  );

  const queries = rowsOfCommit(queryPages, 1);
  it.each(queries.rows)('typed into the query of %s', async (path) => {
    const wrong: string[] = [];
    for (const text of textsAt(queryPages.indexOf(path))) {
      await open(path);
      const query = page.getByRole('combobox', { name: 'Query' });
      // As it stands, and as a phrase: the first is a mistake or a word, the second is sent and finds nothing.
      for (const typed of [text, JSON.stringify(text.slice(0, 900))]) {
        await query.fill(typed);
        wrong.push(...(await looked(page, `typed at ${path}`)));
        await query.press('Enter');
        await page.evaluate(settled);
        wrong.push(...(await looked(page, `sent at ${path}`)));
      }
    }
    expect(wrong).toEqual([]);
  });

  const parameters = [
    'q',
    'search',
    'peek',
    'id',
    'view',
    'env',
    'from',
    'to',
    'compare',
    'tz',
    'sort',
  ].concat([
    ...[
      'group',
      'type',
      'tag',
      'status',
      'bundle',
      'in',
      'runs',
      'server',
      'event',
      'version',
      'composition',
    ],
    ...['run_id', 'agent_id', 'session_id'],
  ]);
  const addressOf = (path: string, text: string): string =>
    `${path.replaceAll(/\$\w+/g, encodeURIComponent(text.slice(0, 255)))}?${new URLSearchParams(
      parameters.map((name) => [name, text.slice(0, 120)]),
    )}`;
  const paths = [...pages, ...adminPages, ...ownPages, ...thingPages].map(({ path }) => path);
  const addresses = rowsOfCommit(paths, 2);
  it.each(addresses.rows.map((path, at) => [path, at] as const))(
    'in every part of the address %s',
    async (path, at) => {
      const wrong: string[] = [];
      for (const text of textsAt(at)) {
        await open(addressOf(path, text));
        wrong.push(...(await looked(page, path)));
      }
      expect(wrong).toEqual([]);
    },
  );
});

/** Labels of fields that take a text, in the source of the console. */
function labelsInSource(): string[] {
  const folder = new URL('../../src/dashboard', import.meta.url).pathname;
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((one) =>
    /\.tsx?$/.test(one),
  );
  return files.flatMap((file) => {
    const source = readFileSync(`${folder}/${file}`, 'utf8');
    const tags = [...source.matchAll(/<(?:Field|Json|Editor)\b(?:[^<>]|=>|<[^>]*>)*?label="([^"]+)"/g)];
    const records = [...source.matchAll(/\{[^{}]*\bname: '[^{}]*?label: '([^']+)'[^{}]*\}/g)].filter(
      ([text]) => !/options|type: 'number'/.test(text),
    );
    return [...tags, ...records].map(([, label = '']) => label);
  });
}

it('no field is without a row', () => {
  const typed = new Set(Object.values(inputsOf(ids)).flatMap(({ labels }) => labels));
  // The first start of a hub and documents to read; choices; numbers.
  const others = new Set(
    ['Setup token', 'Deployment YAML', 'Bundle', 'Default mode', 'Document', 'Delivery status'].concat([
      ...['Expires after days', 'Expires in (days)'],
    ]),
  );
  const labels = new Set(labelsInSource());
  expect(labels.size).toBeGreaterThan(30);
  expect([...labels].filter((label) => !typed.has(label) && !others.has(label))).toEqual([]);
});
